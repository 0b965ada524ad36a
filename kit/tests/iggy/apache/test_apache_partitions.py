"""What consumers stored and what was polled before: where the next poll must begin."""

import pytest
from msgspec.structs import replace

from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.batches import batch, numbered
from wireproof_kit.iggy.apache.partitions import Partition, commit, find_gaps, judge_told
from wireproof_kit.iggy.apache.requests import Polling
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.batch import Batch
from wireproof_spec.iggy.apache.bodies.messages import (
    POLL_MESSAGES,
    ConsumerOffset,
    PollMessages,
)
from wireproof_spec.iggy.apache.envelope import PollHead
from wireproof_spec.iggy.apache.polled import Polled
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP

CONSUMER = 7
WHO = requests.consumer(CONSUMER)
FRAMES = batch(*numbered(4)).frames
TIME_US = 1_700_000_000_000_000
BASE = 100


def asked(strategy: int, value: int = 0, commit: int = 0) -> PollMessages:
    polling = Polling(strategy=strategy, value=value, auto_commit=commit, consumer=CONSUMER)
    where = numeric(0), numeric(3)
    return decode(POLL_MESSAGES, requests.poll_body(where, 0, polling).data)


def polled(*places: int, current: int = BASE + 3) -> Polled:
    found = batch(origin_us=TIME_US)
    header = replace(found.header, base_offset=BASE, base_timestamp=TIME_US)
    frames = tuple(FRAMES[place] for place in places)
    return Polled(PollHead(0, current, len(frames)), (Batch(header, frames),) if frames else ())


def known() -> Partition:
    partition = Partition()
    for number, frame in enumerate(FRAMES):
        partition.note(BASE + number, frame, TIME_US)
    return partition


def broken(partition: Partition, poll: PollMessages, found: Polled) -> set[str]:
    before = partition.before(WHO, changes=bool(poll.auto_commit))
    findings = [*partition.judge_poll(poll, before, found)]
    commit(poll, before, found.offsets)
    return {each.clause.removeprefix("iggy.apache.") for each in findings if not each.holds}


def told(partition: Partition, offset: int | None) -> set[str]:
    answer = None if offset is None else ConsumerOffset(0, BASE + 3, offset)
    findings = judge_told(0, partition.before(WHO), answer)
    return {each.clause.removeprefix("iggy.apache.") for each in findings if not each.holds}


@pytest.mark.parametrize(
    ("poll", "places", "clause"),
    [
        (asked(OFFSET, BASE + 1), (1, 2), ""),
        (asked(OFFSET, BASE + 1), (0, 1), "poll.offset"),
        (asked(OFFSET, BASE + 1), (2, 3), "poll.offset"),
        (asked(OFFSET, 0), (0,), ""),
        (asked(FIRST), (1,), "poll.first"),
        (asked(LAST), (2, 3), ""),
        (asked(LAST), (1, 2), "poll.last"),
        (asked(TIMESTAMP, TIME_US), (0,), ""),
        (asked(TIMESTAMP, TIME_US), (1,), "poll.timestamp"),
        (asked(TIMESTAMP, TIME_US + 1), (0,), "poll.timestamp"),
        (asked(NEXT), (0,), ""),
        (asked(NEXT), (1,), "poll.next"),
        (asked(FIRST), (0, 2), "poll.first"),
        (asked(OFFSET, BASE + 3), (), "poll.offset"),
        (asked(OFFSET, BASE + 4), (), ""),
        (asked(LAST), (), "poll.last"),
        (asked(TIMESTAMP, TIME_US), (), "poll.timestamp"),
        (asked(TIMESTAMP, TIME_US + 1), (), ""),
        (asked(NEXT), (), "poll.next"),
    ],
)
def test_a_poll_begins_or_ends_as_its_strategy_says(
    poll: PollMessages, places: tuple[int, ...], clause: str
) -> None:
    assert broken(known(), poll, polled(*places)) == ({clause} if clause else set())


@pytest.mark.parametrize(("confirmed", "is_due"), [(BASE + 3, True), (BASE, False)])
def test_what_a_poll_passed_was_due_if_it_was_confirmed_before(
    confirmed: int, is_due: bool
) -> None:
    partition = Partition(confirmed=confirmed)
    partition.note(BASE, FRAMES[0], TIME_US)
    before = partition.before(WHO)
    gaps = [*find_gaps(asked(FIRST), before, (BASE, BASE + 3))]
    broken_by = [each for gap in gaps for each in gap.judge(BASE + 1, TIME_US)]
    assert bool(broken_by) is is_due


def test_the_newest_offset_is_not_below_one_that_was_polled() -> None:
    assert broken(known(), asked(OFFSET), polled(0, current=BASE + 2)) == {"poll.current"}


def test_a_poll_that_commits_is_followed_by_the_next_message() -> None:
    partition = known()
    assert broken(partition, asked(FIRST, commit=1), polled(0, 1)) == set()
    assert told(partition, BASE + 1) == set()
    assert told(partition, BASE) == {"poll.commit"}
    assert told(partition, None) == {"poll.commit"}
    assert broken(partition, asked(NEXT), polled(1)) == {"poll.next"}
    assert broken(partition, asked(NEXT), polled(2)) == set()


def test_whether_a_poll_without_commit_stores_or_a_commit_goes_back_is_free() -> None:
    partition = known()
    broken(partition, asked(OFFSET), polled(0, 1, 2))
    assert told(partition, None) == set()
    assert told(partition, BASE + 2) == set()
    broken(partition, asked(FIRST, commit=1), polled(0))
    assert told(partition, BASE) == set()
    assert told(partition, BASE + 2) == set()
    assert told(partition, BASE + 1) == {"poll.commit"}


def test_what_is_under_way_together_is_not_compared() -> None:
    partition = known()
    before = partition.before(WHO, changes=True)
    beside = partition.before(WHO)
    before.stored.settle(before, frozenset({BASE}))
    assert not beside.may_be
    assert told(partition, BASE + 3) == {"offset.store-get"}


def test_a_message_that_came_after_the_poll_was_sent_need_not_come() -> None:
    partition = Partition()
    before = partition.before(WHO)
    partition.note(BASE, FRAMES[0], TIME_US)
    assert all(each.holds for each in partition.judge_poll(asked(FIRST), before, polled(1)))
