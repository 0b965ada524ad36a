from collections.abc import Mapping

from scripted_peer import ScriptedPeer
from test_nsq_lookup import client, found, node, serving


def nodes(*, late: Mapping[str, object]) -> tuple[int, object]:
    return 200, {
        "producers": [
            {**node(4150), "partitions": {"t": ["0"], "other": ["0", "1"]}},
            {**node(4160), "partitions": late},
        ]
    }


def test_a_topic_is_waited_for_until_every_partition_is_registered() -> None:
    answers = [nodes(late={}), nodes(late={"u": ["1"]}), nodes(late={"t": ["1"]})]
    with ScriptedPeer(serving(lambda path, query: answers.pop(0))) as peer:
        assert client(peer).wait_until_registered("t", partitions=2)

    assert answers == []


def test_what_is_never_registered_is_not_waited_for_longer_than_said() -> None:
    late = {"t": ["one", 0, "9" * 5000, True]}
    with ScriptedPeer(serving(lambda path, query: nodes(late=late))) as peer:
        assert not client(peer).wait_until_registered("t", partitions=2, seconds=0.1)


def test_servers_that_do_not_say_who_registered_what_are_not_waited_for() -> None:
    answers = [(200, {"producers": [node(4150)]}), (404, {"message": "NOT_FOUND"}), found()]
    while answers:
        with ScriptedPeer(serving(lambda path, query: answers.pop())) as peer:
            assert client(peer).wait_until_registered("t", partitions=2, seconds=0.1)


def test_many_waits_ask_little() -> None:
    seen: list[str] = []
    with ScriptedPeer(serving(lambda path, query: nodes(late={"t": ["1"]}), seen)) as peer:
        lookup = client(peer)
        assert all(lookup.wait_until_registered("t", partitions=2) for _ in range(20))

    assert len(seen) < 20
