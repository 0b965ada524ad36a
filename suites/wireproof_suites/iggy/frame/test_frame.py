"""Frames: whole, in pieces, many at once, too short, too long, of no command."""

import struct
from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Answer, Closed, Done, ErrorStatus
from wireproof_kit.iggy.wire.login import Credentials, log_in
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH
from wireproof_kit.wire.outgoing import join_pieces
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.streams import CreateStream
from wireproof_suites.iggy.steps.poll_results import observe_beginning, send_and_check
from wireproof_suites.iggy.steps.requests import refused_polls

PING_SIZE = 8
BRIEFLY = 0.1
UNKNOWN_COMMANDS = [2, 999, 4294967295]
BY = ("number", "name")
HUGE = {"half": 0x7FFFFFFF, "greatest": 0xFFFFFFFF}


@case("iggy/frame/ping", clause="iggy.frame.request")
def test_ping(server: Server) -> Observation:
    """The server answers PING with status OK."""
    with server.connect() as connection:
        return observe(connection.ask(requests.ping()), then=connection.goes_on())


@case("iggy/frame/split", clause="iggy.frame.request")
def test_split(server: Server) -> Observation:
    """The server accepts a request that arrives one byte at a time."""
    with server.connect() as connection:
        for piece in requests.ping().split(*range(1, PING_SIZE)):
            connection.send(piece)

        return observe(connection.receive(), then=connection.goes_on())


@case("iggy/frame/pipelined", clause="iggy.frame.pipelined")
def test_pipelined(server: Server) -> Observation:
    """Ten requests in one write are answered in the order of the requests."""
    asked = [requests.ping(), *refused_polls(server).values()]
    with server.connect() as connection:
        due = [_status(connection.ask(each)) for each in asked]
    if len(set(due)) < len(asked):
        raise ArrangementFailed(f"answers cannot be told apart: statuses {due}")
    order = [0, 1, 0, 2, 1, 0, 0, 2, 1, 2]
    with server.connect() as connection:
        connection.send(
            join_pieces([asked[which] for which in order], "ten requests in one write")
        )
        found = [_status(connection.receive()) for _ in order]
    if found == [due[which] for which in order]:
        return observed("answers:in-order")

    return observed("answers:other", overdue=None in found, note=str(found))


@case("iggy/frame/late", clause="iggy.frame.request")
@pytest.mark.parametrize("at", range(1, PING_SIZE))
def test_late(server: Server, at: int) -> Observation:
    """The server answers a frame once its delayed last bytes have arrived."""
    first, last = requests.ping().split(at)
    with server.connect() as connection:
        connection.send(first)
        state = server.others()
        if state != "others-open":
            return observed(state, overdue=state == "others-stuck")
        connection.send(last)

        return observe(connection.receive(), then=connection.goes_on())


@case("iggy/frame/error-body", clause="iggy.frame.response")
@pytest.mark.parametrize("which", ["no-count", "no-stream"])
def test_error_body(server: Server, which: str) -> Observation:
    """Each of two error responses in a row has a non-zero status and an empty body."""
    with server.connect() as connection:
        refused = refused_polls(server)[which]
        answer = connection.ask(refused)
        if isinstance(answer, ErrorStatus) and not answer.body:
            again = connection.ask(refused)
            answer = answer if isinstance(again, Closed) else again
    if not isinstance(answer, ErrorStatus):
        return observe(answer)

    return observed("error:with-body" if answer.body else "error:no-body")


@case("iggy/frame/length", clause="iggy.frame.length")
@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_length(server: Server, length: int) -> Observation:
    """A frame length too small for a command code does no harm to other connections."""
    return _short_frame(server, length)


@case("iggy/frame/length-refused", clause="iggy.frame.length-refused")
@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_length_refused(server: Server, length: int) -> Observation:
    """A frame length too small for a command code is refused."""
    return _short_frame(server, length)


@case("iggy/frame/abandoned", clause="iggy.frame.length")
@pytest.mark.parametrize("at", [1, 3, 4, 5, 8, 12, -1])
def test_abandoned(server: Server, at: int) -> Observation:
    """A client that disconnects in the middle of a frame affects no other connection."""
    frame = server.request(commands.CREATE_STREAM, CreateStream(1, "wp_abandoned"))
    with server.connect() as connection:
        connection.send(frame.cut(at))
    state = server.others()

    return observed(state, overdue=state == "others-stuck")


@case("iggy/frame/length-huge", clause="iggy.frame.length", hazard=True)
@pytest.mark.parametrize("length", HUGE.values(), ids=HUGE)
def test_huge_length(server: Server, length: int) -> Observation:
    """The server refuses an oversized frame or waits for it; other connections keep working.

    A server that waits sends no answer. A round trip on another connection is evidence enough.
    """
    frame = requests.raw(struct.pack("<I", length), f"length {length}, and no more of a frame")
    with server.connect() as connection:
        connection.send(frame)
        server.others()
        seen = observe(connection.receive_within(BRIEFLY))
    state = server.others()

    return replace(seen.then(state), overdue=state == "others-stuck")


@case("iggy/frame/identifier-kinds", clause="iggy.frame.identifier")
@pytest.mark.parametrize("topic_by", BY)
@pytest.mark.parametrize("stream_by", BY)
def test_identifier_kinds(
    server: Server, topic: Topic, stream_by: str, topic_by: str
) -> Observation:
    """A request may identify the stream and the topic by number or by name, each on its own."""
    sent = send_and_check(server, topic, 3)
    stream = topic.stream.id if stream_by == "number" else topic.by_name[0]
    name = topic.id if topic_by == "number" else topic.by_name[1]

    return observe_beginning(server.poll(topic, by=(stream, name)), sent)


@case("iggy/frame/unknown-command", clause="iggy.frame.command")
@pytest.mark.parametrize("code", UNKNOWN_COMMANDS)
@pytest.mark.parametrize("size", [0, 4], ids=["no-payload", "payload"])
def test_unknown_command(server: Server, code: int, size: int) -> Observation:
    """A request with an unknown command code is refused."""
    return server.refusal(requests.frame_request(code, requests.raw(bytes(size), "")))


@case("iggy/frame/trailing", clause="iggy.frame.trailing")
@pytest.mark.parametrize("size", [1, 20])
@pytest.mark.parametrize("what", ["ping", "poll"])
def test_trailing(server: Server, topic: Topic, what: str, size: int) -> Observation:
    """Extra bytes after a complete payload are refused or ignored."""
    right = requests.ping() if what == "ping" else server.poll_request(topic, Polling())

    return server.refusal(requests.lengthen(right, bytes(size)))


@case("iggy/frame/login", clause="iggy.frame.login")
def test_login(server: Server) -> Observation:
    """A login with the right user name and password is answered with status OK."""
    with server.connect(enter=False) as connection:
        answer = log_in(connection, server.access.login.credentials, PUSH)

        return observe(answer, then=connection.goes_on())


@case("iggy/frame/login-wrong", clause="iggy.frame.login")
@pytest.mark.parametrize("part", ["password", "name"])
def test_wrong_login(server: Server, part: str) -> Observation:
    """A login with a wrong user name or password is refused."""
    right = server.access.login.credentials
    wrong = {
        "password": Credentials(right.name, right.password + "x"),
        "name": Credentials("wp_nobody", right.password),
    }
    with server.connect(enter=False) as connection:
        answer = log_in(connection, wrong[part], PUSH)

    return observe(answer, then=server.others())


def _short_frame(server: Server, length: int) -> Observation:
    frame = struct.pack("<I", length) + bytes(length)
    return server.refusal(requests.raw(frame, f"a frame of length {length}"))


def _status(answer: Answer) -> int | None:
    if isinstance(answer, ErrorStatus):
        return answer.status
    return 0 if isinstance(answer, Done) else None
