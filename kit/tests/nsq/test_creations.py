import threading
from collections.abc import Mapping

import pytest
from scripted_peer import ScriptedPeer
from test_nsq_lookup import client, serving
from waits import stays

from wireproof_kit.nsq.lookup import creations as creations_module
from wireproof_kit.nsq.lookup.creations import Creations

Query = Mapping[str, str | int]


def test_what_was_asked_for_is_asked_for_again_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Query] = []
    creations = Creations(asked.append)
    for name in ("t", "u"):
        creations.add(name, {"topic": name})
    creations.remind("t")
    assert asked == []

    monkeypatch.setattr(creations_module, "AGAIN_SECONDS", 0.0)
    for name in ("t", "somebody-else's"):
        creations.remind(name)
    creations.forget("t")
    creations.remind("t")

    assert asked == [{"topic": "t"}, {"topic": "u"}, {"topic": "u"}]


def test_of_many_who_wait_one_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creations_module, "AGAIN_SECONDS", 0.0)
    begun, end = threading.Event(), threading.Event()

    def ask(query: Query) -> None:
        asked.append(query)
        begun.set()
        end.wait()

    asked: list[Query] = []
    creations = Creations(ask)
    creations.add("t", {"topic": "t"})
    first = threading.Thread(target=creations.remind, args=("t",))
    first.start()
    begun.wait()
    creations.remind("t")
    forgetting = threading.Thread(target=creations.forget, args=("t",))
    forgetting.start()
    # Otherwise the topic would be made again after its deletion.
    stays(forgetting.is_alive, "thread that waits to forget")
    end.set()
    for thread in (first, forgetting):
        thread.join()
    creations.remind("t")

    assert asked == [{"topic": "t"}]


def test_nothing_asked_for_is_nothing_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creations_module, "AGAIN_SECONDS", 0.0)
    asked: list[Query] = []

    Creations(asked.append).remind("t")

    assert asked == []


def test_a_server_is_asked_again_until_a_topic_is_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(creations_module, "AGAIN_SECONDS", 0.0)
    created: list[str] = []

    def handler(path: str, query: Mapping[str, str]) -> tuple[int, object]:
        if path == "/topic/create":
            created.append(query["topic"])
            return 200, None
        partitions = {"t": ["0"]} if len(created) >= 3 else {}
        return 200, {"producers": [{"partitions": partitions}]}

    with ScriptedPeer(serving(handler)) as peer:
        lookup = client(peer)
        lookup.create_topic("t")
        assert lookup.wait_until_registered("t", partitions=1)

    assert created == ["t", "t", "t"]
