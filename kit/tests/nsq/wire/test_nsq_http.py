import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from scripted_peer import Peer, Script, ScriptedPeer, saying
from waits import LIMIT_S, Stopwatch

from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient, path_with_query
from wireproof_kit.wire.http import ConnectionPool
from wireproof_kit.wire.transcript import Transcript

LONG = 5.0


def ask(script: Script, *, seconds: float = LONG, method: str = "POST") -> HttpAnswer:
    with ScriptedPeer(script) as peer:
        client = HttpClient(peer.address, transcript=Transcript(), seconds=seconds)
        return client.request(method, "/pub", body=b"x")


def whole(body: bytes, *, status: str = "200 OK", head: bytes = b"") -> bytes:
    length = f"Content-Length: {len(body)}\r\n".encode()
    return f"HTTP/1.1 {status}\r\n".encode() + head + length + b"\r\n" + body


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_an_answer_is_read_whatever_pieces_it_comes_in(piece: int) -> None:
    data = whole(b'{"message":"E_X"}', status="400 Bad Request", head=b"X-Nsq: 1\r\n")
    answer = ask(saying(*(data[at : at + piece] for at in range(0, len(data), piece))))

    assert (answer.status, answer.code, answer.failure) == (400, "E_X", None)
    assert answer.header("x-NSQ") == "1"
    assert answer.header("absent") is None


BODIES = {
    "length": whole(b"OK"),
    "chunked": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nO\r\n1\r\nK\r\n0\r\n\r\n"
    ),
    "until-the-end": b"HTTP/1.0 200 OK\r\n\r\nOK",
    "after-continue": b"HTTP/1.1 100 Continue\r\n\r\n" + whole(b"OK"),
}


@pytest.mark.parametrize("data", BODIES.values(), ids=BODIES)
def test_every_way_to_end_a_body_is_known(data: bytes) -> None:
    answer = ask(lambda peer: peer.say(data))

    assert (answer.status, answer.body, answer.word) == (200, b"OK", "ok")
    assert answer.is_ok


def trickle(peer: Peer) -> None:
    peer.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        peer.say(b"x")


def endless(peer: Peer) -> None:
    peer.say(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        peer.say(bytes(1 << 20))


def reset(peer: Peer) -> None:
    peer.until(b"\r\n\r\n")
    peer.reset()


FAILURES: dict[str, tuple[Script, str]] = {
    "silent": (saying(), "silence"),
    "half-an-answer": (saying(whole(b"OK")[:-1]), "silence"),
    "closed": (lambda peer: None, "closed"),
    "reset": (reset, "closed"),
    "cut": (lambda peer: peer.say(whole(b"OK")[:-1]), "nonsense"),
    "frames": (lambda peer: peer.say(b"\0\0\0\6\0\0\0\0OK\r\n\r\n"), "nonsense"),
    "endless": (endless, "nonsense"),
}


@pytest.mark.parametrize(("script", "failure"), FAILURES.values(), ids=FAILURES)
def test_an_answer_that_never_becomes_whole_is_named(script: Script, failure: str) -> None:
    seconds = 0.2 if failure == "silence" else LONG
    answer = ask(script, seconds=seconds)

    assert (answer.status, answer.failure) == (0, failure)
    assert not answer.is_ok


def test_a_trickle_ends_with_the_deadline() -> None:
    watch = Stopwatch()

    assert ask(trickle, seconds=0.2).failure in ("silence", None)
    assert watch.seconds() < LIMIT_S


def test_nobody_there_is_unreachable() -> None:
    with ScriptedPeer(saying()) as peer:
        address = peer.address
    client = HttpClient(address, transcript=Transcript(), seconds=LONG)

    assert client.request("GET", "/ping").failure == "unreachable"


def test_a_request_is_sent_as_told_and_recorded() -> None:
    seen: list[bytes] = []

    def script(peer: Peer) -> None:
        seen.append(peer.until(b"\r\n\r\n") + peer.exactly(1))
        peer.say(whole(b"OK"))

    transcript = Transcript()
    with ScriptedPeer(script) as peer:
        client = HttpClient(peer.address, transcript=transcript, seconds=LONG)
        client.request(
            "POST",
            "/pub_ext",
            query={"topic": "t", "ext": '{"a":"é &"}'},
            headers=[("X-NSQEXT-A", b"\xff"), ("Content-Length", "9")],
            body=b"x",
            v1=True,
        )
    request = seen[0]
    assert request.startswith(
        b"POST /pub_ext?topic=t&ext=%7B%22a%22%3A%22%C3%A9%20%26%22%7D HTTP/1.1\r\n"
    )
    assert b"X-NSQEXT-A: \xff\r\n" in request
    assert request.count(b"Content-Length") == 1
    assert b"Accept: application/vnd.nsq; version=1.0\r\n" in request
    steps = transcript.steps()
    assert [step.kind for step in steps] == ["request", "response"]
    assert steps[0].data == request


def test_a_query_given_as_text_is_left_as_it_is() -> None:
    assert path_with_query("/p", "ext={'k1':'v1'}") == "/p?ext={'k1':'v1'}"
    assert path_with_query("/p", {}) == "/p"


def test_raw_bytes_are_sent_as_they_are() -> None:
    with ScriptedPeer(lambda peer: peer.say(whole(peer.line()))) as peer:
        client = HttpClient(peer.address, transcript=Transcript(), seconds=LONG)

        assert client.send(b"nonsense\n").body == b"nonsense\n"


@pytest.mark.parametrize(
    ("body", "wrapped", "data"),
    [
        (b'{"status_code":200,"status_txt":"OK","data":{"a":1}}', True, {"a": 1}),
        (b'{"a":1}', False, {"a": 1}),
        (b"[]", False, []),
        (b"text", False, None),
    ],
)
def test_the_envelope_is_taken_off(body: bytes, wrapped: bool, data: object) -> None:
    answer = ask(lambda peer: peer.say(whole(body)))

    assert answer.is_wrapped is wrapped
    assert answer.data == data


@contextlib.contextmanager
def lined(
    script: Script, *, idle_seconds: float = LONG
) -> Iterator[tuple[HttpClient, list[Peer]]]:
    """A client with a line to a peer, and the connections that the peer has had."""
    peers: list[Peer] = []

    def noted(peer: Peer) -> None:
        peers.append(peer)
        script(peer)

    with ScriptedPeer(noted) as peer:
        line = ConnectionPool(peer.address, idle_seconds=idle_seconds)
        client = HttpClient(peer.address, transcript=Transcript(), seconds=LONG, line=line)
        yield client, peers
        client.close()


def answering(peer: Peer, *, times: int = 3, head: bytes = b"") -> None:
    for _ in range(times):
        if not peer.until(b"\r\n\r\n"):
            return
        peer.say(whole(b"OK", head=head))


def test_a_line_asks_again_on_the_connection_it_has() -> None:
    with lined(answering) as (client, peers):
        answers = [client.request("GET", "/ping") for _ in range(3)]

    assert [answer.word for answer in answers] == ["ok"] * 3
    assert len(peers) == 1


def test_a_line_that_the_target_ended_is_begun_anew() -> None:
    with lined(lambda peer: answering(peer, times=1)) as (client, peers):
        answers = [client.request("GET", "/ping") for _ in range(3)]

    assert [answer.word for answer in answers] == ["ok"] * 3
    assert len(peers) == 3


def test_a_connection_that_was_idle_for_long_is_not_trusted() -> None:
    with lined(answering, idle_seconds=0.0) as (client, peers):
        answers = [client.request("GET", "/ping") for _ in range(3)]

    assert [answer.word for answer in answers] == ["ok"] * 3
    assert len(peers) == 3


def test_a_line_goes_on_only_where_the_target_says_that_it_does() -> None:
    head = b"Connection: close\r\n"
    with lined(lambda peer: answering(peer, head=head)) as (client, peers):
        answers = [client.request("GET", "/ping") for _ in range(2)]

    assert [answer.word for answer in answers] == ["ok"] * 2
    assert len(peers) == 2


def test_an_answer_that_was_begun_is_not_asked_for_again() -> None:
    def script(peer: Peer) -> None:
        answering(peer, times=1)
        peer.until(b"\r\n\r\n")
        peer.say(b"HTTP/1.1 200 OK\r\n")

    with lined(script) as (client, peers):
        answers = [client.request("POST", "/topic/create") for _ in range(2)]

    assert [answer.failure for answer in answers] == [None, "nonsense"]
    assert len(peers) == 1


def test_several_threads_share_a_line() -> None:
    with lined(partial(answering, times=100)) as (client, peers), ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: client.request("GET", "/ping"), range(100)))

    assert [answer.word for answer in answers] == ["ok"] * 100
    assert len(peers) <= 8


def test_what_a_case_asks_uses_no_line() -> None:
    with lined(answering) as (client, peers):
        recording = client.record_to(Transcript())
        answers = [recording.request("GET", "/ping") for _ in range(2)]

    assert [answer.word for answer in answers] == ["ok"] * 2
    assert len(peers) == 2


def test_a_line_keeps_nothing_once_it_was_closed() -> None:
    with lined(answering) as (client, peers):
        client.close()
        answers = [client.request("GET", "/ping") for _ in range(2)]

    assert [answer.word for answer in answers] == ["ok"] * 2
    assert len(peers) == 2
