import json
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, urlsplit

import pytest
from scripted_peer import Peer, Script, ScriptedPeer, saying

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.lookup import servers as lookup_module
from wireproof_kit.nsq.lookup.servers import LookupClient, is_same
from wireproof_kit.nsq.observe.observations import observe_http
from wireproof_kit.nsq.topics.sources import ReachableServices, TopicMaker
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.http import HttpClient
from wireproof_kit.wire.transcript import Transcript

HERE = ("127.0.0.1", 4150)
Handler = Callable[[str, Mapping[str, str]], tuple[int, object]]


def node(port: int) -> dict[str, object]:
    return {"broadcast_address": "127.0.0.1", "tcp_port": port, "http_port": port + 1}


def found(*ports: int, **meta: object) -> tuple[int, object]:
    nodes = {str(number): node(port) for number, port in enumerate(ports)}
    return 200, {"channels": [], "partitions": nodes, "producers": [], "meta": meta}


def serving(handler: Handler, seen: list[str] | None = None) -> Script:
    def script(peer: Peer) -> None:
        head = peer.until(b"\r\n\r\n").decode()
        if not head:
            return
        target = urlsplit(head.split(" ")[1])
        if seen is not None:
            seen.append(head.split(" HTTP")[0])
        status, value = handler(target.path, dict(parse_qsl(target.query)))
        body = b"" if value is None else json.dumps(value).encode()
        peer.say(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    return script


def client(*peers: ScriptedPeer) -> LookupClient:
    return LookupClient(
        [HttpClient(peer.address, transcript=Transcript(), seconds=5.0) for peer in peers]
    )


def test_the_partition_led_by_the_target_itself_is_preferred() -> None:
    with ScriptedPeer(serving(lambda path, query: found(4160, 4150))) as peer:
        leader, *_ = client(peer).wait_for("t", near=HERE, partitions=2)

    assert (leader.partition, leader.address) == (1, HERE)
    assert leader.http_address == ("127.0.0.1", 4151)


def test_without_one_there_the_first_is_taken_once_all_have_appeared() -> None:
    answers = [found(), found(4160), found(4160, 4170)]
    with ScriptedPeer(serving(lambda path, query: answers.pop(0))) as peer:
        leader, *_ = client(peer).wait_for("t", near=HERE, partitions=2)

    assert (leader.partition, leader.address) == (0, ("127.0.0.1", 4160))
    assert answers == []


def test_a_topic_that_never_appears_is_given_up() -> None:
    with (
        ScriptedPeer(serving(lambda path, query: (404, {"message": "Key not found"}))) as peer,
        pytest.raises(ArrangementFailed, match="did not appear"),
    ):
        client(peer).wait_for("t", near=HERE, partitions=1, seconds=0.1)


def test_a_topic_that_did_not_appear_in_time_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def handler(path: str, query: Mapping[str, str]) -> tuple[int, object]:
        return (200, None) if path.startswith("/topic/") else (404, {"message": "Key not found"})

    monkeypatch.setattr(LookupClient, "wait_for", never)
    with ScriptedPeer(serving(handler, seen)) as peer:
        maker = TopicMaker(
            ReachableServices(HERE, connect=unreachable, http=None, lookup=client(peer)),
            run_token="r",
        )
        with pytest.raises(ArrangementFailed):
            maker.make("fresh_ext_topic", "wp_r_1")

    assert seen[-1] == "POST /topic/delete?topic=wp_r_1&partition=%2A%2A"


def test_a_server_that_makes_two_partitions_at_most_is_asked_for_two() -> None:
    def handler(path: str, query: Mapping[str, str]) -> tuple[int, object]:
        if path.startswith("/topic/"):
            return (400 if int(query["partition_num"]) > 2 else 200), None
        return found(4150, 4160)

    with ScriptedPeer(serving(handler)) as peer:
        around = ReachableServices(HERE, connect=unreachable, http=None, lookup=client(peer))
        topic = TopicMaker(around, run_token="r").make("wide_topic", "wp_r_1")

    assert [each.partition for each in topic.places] == [0, 1]
    assert [topic.at_rank(rank).partition for rank in range(3)] == [0, 1, 1]


def never(*_: object, **__: object) -> None:
    raise ArrangementFailed("did not appear")


def unreachable(transcript: Transcript) -> Connection:
    raise ArrangementFailed("nobody is there")


def test_waiting_ends_at_once_when_the_run_is_given_up() -> None:
    with ScriptedPeer(serving(lambda path, query: found())) as peer:
        lookup = client(peer)
        lookup.given_up.set()
        with pytest.raises(ArrangementFailed):
            lookup.wait_for("t", near=HERE, partitions=1, seconds=60)


def test_a_server_that_wants_a_channel_first_is_asked_for_reading() -> None:
    def handler(path: str, query: Mapping[str, str]) -> tuple[int, object]:
        if query["access"] == "w":
            return 404, {"message": "Topic has no channel, should init at least one"}
        return found(4150)

    with ScriptedPeer(serving(handler)) as peer:
        info = client(peer).lookup("t")

    assert info is not None
    assert info.leaders[0].address == HERE


def test_creation_goes_to_the_leader_under_the_path_that_exists() -> None:
    def follower(path: str, query: Mapping[str, str]) -> tuple[int, object]:
        return 400, {"message": "E_FAILED_ON_NOT_LEADER"}

    def leader(path: str, query: Mapping[str, str]) -> tuple[int, object]:
        return (200, None) if path == "/topic/creat" else (404, {"message": "NOT_FOUND"})

    seen: list[str] = []
    with ScriptedPeer(serving(follower)) as one, ScriptedPeer(serving(leader, seen)) as two:
        answer = client(one, two).create_topic("t", partitions=2, extend=True, ordered=True)

    assert answer.status == 200
    query = "topic=t&partition_num=2&replicator=1&extend=true&orderedmulti=true"
    assert seen == [f"POST /topic/create?{query}", f"POST /topic/creat?{query}"]


def test_deletion_and_update_name_what_they_change() -> None:
    seen: list[str] = []
    with ScriptedPeer(serving(lambda path, query: (200, None), seen)) as peer:
        client(peer).delete("t")
        client(peer).update_meta("t", upgradeext="true")

    assert seen == [
        "POST /topic/delete?topic=t&partition=%2A%2A",
        "POST /topic/meta/update?topic=t&upgradeext=true",
    ]


def test_an_upgrade_is_announced_by_the_meta() -> None:
    answers = [found(4150, extend_support=False), found(4150, extend_support=True)]
    with ScriptedPeer(serving(lambda path, query: answers.pop(0))) as peer:
        assert client(peer).wait_for_extend("t")
    assert answers == []


def test_nodes_are_counted() -> None:
    with ScriptedPeer(serving(lambda path, query: (200, {"producers": [{}, {}]}))) as peer:
        assert client(peer).node_count() == 2
    with ScriptedPeer(lambda peer: None) as peer:
        assert client(peer).node_count() == 1
        assert client(peer).listed_nodes() is None


HOSTILE = {
    "null-lists": (200, {"partitions": None, "meta": None}),
    "list": (200, []),
    "text": (200, "partitions"),
    "partition-word": (200, {"partitions": {"zero": node(1)}}),
    "node-without-port": (200, {"partitions": {"0": {"broadcast_address": "x"}}}),
    "node-is-text": (200, {"partitions": {"0": "x"}}),
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_an_answer_of_another_shape_leads_nowhere(answer: tuple[int, object]) -> None:
    with ScriptedPeer(serving(lambda path, query: answer)) as peer:
        assert client(peer).lookup("t") is None


def test_a_server_that_is_silent_leads_nowhere() -> None:
    with ScriptedPeer(saying()) as peer:
        server = HttpClient(peer.address, transcript=Transcript(), seconds=0.1)
        answer = server.request("GET", "/lookup")

    assert observe_http(answer).value == "http:silence"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("127.0.0.1", 1), ("localhost", 1), True),
        (("127.0.0.1", 1), ("127.0.0.1", 2), False),
        (("10.0.0.1", 1), ("10.0.0.1", 1), True),
        (("10.0.0.1", 1), ("10.0.0.2", 1), False),
    ],
)
def test_all_names_of_the_loopback_are_one(
    one: tuple[str, int], other: tuple[str, int], expected: bool
) -> None:
    assert is_same(one, other) is expected


def test_a_wait_ends_soon_when_no_server_gives_a_usable_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup_module, "UNUSABLE_SECONDS", 0.1)
    with (
        ScriptedPeer(serving(lambda path, query: (200, {"partitions": {"x": 1}}))) as peer,
        pytest.raises(ArrangementFailed, match='expected a partition number, found "x"'),
    ):
        client(peer).wait_for("t", near=HERE, partitions=1, seconds=60)


def test_a_change_goes_to_whichever_server_grants_it() -> None:
    seen: list[str] = []

    def slave(path: str, query: Mapping[str, str]) -> tuple[int, object]:
        return 409, {"message": "ask somebody else"}

    with (
        ScriptedPeer(serving(slave)) as one,
        ScriptedPeer(serving(lambda path, query: (200, None), seen)) as two,
    ):
        assert client(one, two).delete("t").status == 200
    assert len(seen) == 1


def test_of_several_refusals_the_one_with_a_reason_is_kept() -> None:
    def saying_no(text: str) -> Script:
        return serving(lambda path, query: (400, {"message": text}))

    with (
        ScriptedPeer(saying_no("E_FAILED_ON_NOT_LEADER")) as one,
        ScriptedPeer(saying_no("already exist")) as two,
        ScriptedPeer(saying_no("Not nsqlookup leader")) as three,
    ):
        assert client(one, two, three).delete("t").code == "already exist"


def test_registered_nodes_are_named() -> None:
    with ScriptedPeer(serving(lambda path, query: (200, {"producers": [node(4150)]}))) as peer:
        (found,) = client(peer).nodes()
    assert (found.address, found.http_address) == (HERE, ("127.0.0.1", 4151))
    with ScriptedPeer(serving(lambda path, query: (200, {"producers": [{}]}))) as peer:
        assert client(peer).nodes() == ()


def test_what_one_wait_found_out_ends_the_next_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_module, "UNUSABLE_SECONDS", 0.2)
    with ScriptedPeer(serving(lambda path, query: (503, {"message": "starting"}))) as peer:
        lookup = client(peer)
        for waiting in (lookup, lookup.record_to(Transcript())):
            with pytest.raises(ArrangementFailed, match="answered 503, starting"):
                waiting.wait_for("t", near=HERE, partitions=1, seconds=60)


def test_a_wait_while_writing_is_disabled_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup_module, "UNUSABLE_SECONDS", 0.1)
    nobody = {"channels": ["c"], "partitions": None, "producers": None}
    with (
        ScriptedPeer(serving(lambda path, query: (200, nobody))) as peer,
        pytest.raises(ArrangementFailed, match="names nobody, writing is disabled"),
    ):
        client(peer).wait_for("t", near=HERE, partitions=1, seconds=60)


def test_hope_is_lost_by_waiting_in_vain_and_comes_back_with_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookup_module, "UNUSABLE_SECONDS", 0.1)
    answers: list[tuple[int, object]] = [(200, {"wrong": 1})]
    with ScriptedPeer(serving(lambda path, query: answers[-1])) as peer:
        lookup = client(peer)
        lookup.check_hope()
        with pytest.raises(ArrangementFailed):
            lookup.wait_for("t", near=HERE, partitions=1, seconds=60)
        with pytest.raises(ArrangementFailed, match="expected partitions and producers"):
            lookup.record_to(Transcript()).check_hope()

        answers.append(found(4150))
        lookup.wait_for("t", near=HERE, partitions=1)
        lookup.check_hope()
