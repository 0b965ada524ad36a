import threading
from collections import Counter

import pytest

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.topics import pool as topic_pool
from wireproof_kit.nsq.topics.pool import TopicPool
from wireproof_kit.nsq.topics.sources import KINDS
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.wire.waiting import until


class FakeMaker:
    """Makes topics at once, except kinds it cannot make."""

    def __init__(self, *, impossible: str = "") -> None:
        self.made: list[str] = []
        self.deleted: list[str] = []
        self.impossible = impossible
        self.kept = ""
        self._lock = threading.Lock()

    def name(self, number: int) -> str:
        return f"wp_{number}"

    def make(self, argument: str, name: str) -> Topic:
        if argument == self.impossible:
            raise ArrangementFailed("no way")
        with self._lock:
            self.made.append(argument)
        kind = KINDS[argument]
        way = "given" if argument == "plain_topic" else "tcp"
        return Topic(
            name, 0, kind.extend, kind.ordered, shared=kind.shared, address=("x", 1), way=way
        )

    def delete(self, topic: Topic) -> bool:
        with self._lock:
            self.deleted.append(topic.name)
        return topic.name != self.kept


def test_shared_topics_are_made_once_and_fresh_ones_each_time() -> None:
    maker = FakeMaker()
    pool = TopicPool(maker)
    pool.prepare(Counter(ext_topic=5, fresh_ext_topic=2, broker=7))
    pool.settle()

    assert Counter(maker.made) == Counter(ext_topic=1, fresh_ext_topic=2)
    assert pool.take("ext_topic") == pool.take("ext_topic")
    assert len({pool.take("fresh_ext_topic").name for _ in range(3)}) == 3
    assert Counter(maker.made)["fresh_ext_topic"] == 3
    pool.close()


def test_topics_are_made_again_for_a_restarted_target() -> None:
    maker = FakeMaker()
    pool = TopicPool(maker)
    pool.prepare(Counter(ext_topic=1, fresh_ext_topic=1))
    before = pool.take("ext_topic")

    pool.forget()

    assert pool.take("ext_topic") != before
    pool.take("fresh_ext_topic")
    assert Counter(maker.made)["ext_topic"] == 2
    pool.close()


def test_preparing_again_adds_only_what_is_missing() -> None:
    maker = FakeMaker()
    pool = TopicPool(maker)
    for _ in range(2):
        pool.prepare(Counter(fresh_plain_topic=2))
    pool.settle()

    assert maker.made == ["fresh_plain_topic"] * 2
    pool.close()


def test_a_kind_without_a_way_fails_where_it_is_taken() -> None:
    pool = TopicPool(FakeMaker(impossible="fresh_ordered_topic"))
    pool.prepare(Counter(fresh_ordered_topic=1))
    pool.settle()

    for _ in range(2):
        with pytest.raises(ArrangementFailed, match="no way"):
            pool.take("fresh_ordered_topic")
    pool.close()


def test_everything_made_is_deleted_but_not_what_the_user_named() -> None:
    maker = FakeMaker()
    pool = TopicPool(maker)
    pool.prepare(Counter(plain_topic=1, fresh_ext_topic=2))
    pool.settle()
    names = {pool.take("fresh_ext_topic").name for _ in range(2)}
    pool.close()

    assert set(maker.deleted) == names


def test_spares_are_kept_ahead_of_what_is_taken_where_a_topic_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topic_pool, "QUICK_SECONDS", 0.0)
    maker = FakeMaker()
    pool = TopicPool(maker)
    pool.prepare(Counter(fresh_ext_topic=1), spares=2)
    pool.settle()
    assert until(lambda: len(maker.made) == 3 or None, seconds=10)
    for _ in range(3):
        pool.take("fresh_ext_topic")

    assert until(lambda: len(maker.made) == 5 or None, seconds=10)
    pool.settle()
    pool.close()
    assert len(maker.deleted) == 5


def test_no_spares_are_made_where_a_topic_is_there_at_once() -> None:
    maker = FakeMaker()
    pool = TopicPool(maker)
    pool.prepare(Counter(fresh_ext_topic=1), spares=2)
    pool.settle()
    taken = {pool.take("fresh_ext_topic").name for _ in range(3)}
    pool.settle()
    pool.close()

    assert len(taken) == len(maker.made) == 3


def test_spares_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_pool, "QUICK_SECONDS", 0.0)
    maker = FakeMaker()
    late, asked = threading.Event(), threading.Event()

    def make(argument: str, name: str) -> Topic:
        if name != "wp_1":
            asked.set()
            late.wait()
        return Topic(name, 0, extend=True, ordered=False, shared=False, address=("x", 1))

    monkeypatch.setattr(maker, "make", make)
    pool = TopicPool(maker)
    pool.prepare(Counter(fresh_ext_topic=1), spares=2)
    pool.settle()
    asked.wait()

    assert pool.take("fresh_ext_topic").name == "wp_1"
    late.set()
    pool.close()


def test_a_topic_that_is_not_there_in_time_is_no_error_of_the_kit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topic_pool, "TAKE_SECONDS", 0.01)
    maker = FakeMaker()
    appeared = threading.Event()
    monkeypatch.setattr(maker, "make", lambda argument, name: appeared.wait())
    pool = TopicPool(maker)
    with pytest.raises(ArrangementFailed, match="did not appear"):
        pool.take("ext_topic")
    appeared.set()


def test_closing_names_the_topics_that_the_target_keeps() -> None:
    maker = FakeMaker()
    pool = TopicPool(maker)
    kept, gone = pool.take("fresh_ext_topic"), pool.take("fresh_ext_topic")
    pool.take("plain_topic")  # given by the user
    maker.kept = kept.name

    pool.close()
    assert pool.left == [kept.name]
    assert sorted(maker.deleted) == sorted([kept.name, gone.name])


def test_closing_names_a_topic_whose_deletion_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = TopicPool(maker := FakeMaker())
    topic = pool.take("fresh_ext_topic")

    def fail(_: Topic) -> bool:
        raise ArrangementFailed("the target is gone")

    monkeypatch.setattr(maker, "delete", fail)
    pool.close()
    assert pool.left == [topic.name]


def test_what_is_to_be_left_is_not_named() -> None:
    pool = TopicPool(FakeMaker())
    pool.take("fresh_ext_topic")
    pool.close(leave=True)
    assert pool.left == []
