"""Frames and evictions: their headers, what no server serves, and frames that are none."""

import pytest
from msgspec.structs import replace

from wireproof_kit.case import case
from wireproof_kit.iggy.apache import login, requests, rules
from wireproof_kit.iggy.apache.answers import Answer, Evicted, Replied
from wireproof_kit.iggy.apache.observe import is_refused, observe
from wireproof_kit.iggy.apache.probes import (
    ask_unserved,
    echo_create,
    echo_read,
    echo_send,
    observe_echo,
)
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import ANSWER, machine_load
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.waiting import until
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_suites.iggy.apache import steps

ASKED: dict[str, steps.Ask] = {
    "ping": steps.ping,
    "get-topic": steps.get_topic,
    "get-nobody": steps.get_nobody,
    "create-stream": steps.create_stream,
    "send": steps.send,
    "poll-many": steps.poll_many,
    "refused": steps.unknown_code,
}
each_asked = pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
each_wrong_login = pytest.mark.parametrize("kind", steps.WRONG_LOGINS)
UNREADABLE = {
    operations.OPERATIONS[each].replace("_", "-"): each
    for each in (
        operations.DELETE_STREAM,
        operations.DELETE_TOPIC,
        operations.CREATE_CONSUMER_GROUP,
        operations.DELETE_CONSUMER_GROUP,
    )
}
SIZES = {"0": 0, "1": 1, "255": 255, "4294967295": 0xFFFFFFFF}


@case("iggy/apache/frame/header", clause="iggy.apache.frame.header")
@each_asked
def test_header(apache: ApacheServer, apache_topic: Topic, ask: steps.Ask) -> Observation:
    """Every answer has a header of 256 bytes."""
    answer = apache.client.ask(ask(apache, apache_topic, apache.client))
    is_whole = isinstance(answer, Replied | Evicted)
    return observed("header:whole").on(answer) if is_whole else observe(answer)


@case("iggy/apache/frame/size", clause="iggy.apache.frame.size")
@each_asked
def test_size(apache: ApacheServer, apache_topic: Topic, ask: steps.Ask) -> Observation:
    """The next answer begins where the size of an answer says that it ends."""
    client = apache.client
    first, second = ask(apache, apache_topic, client), client.ping()
    answers = client.ask(first), client.ask(second)
    if all(isinstance(each, Replied) for each in answers):
        return observed("size:right").on(*answers)
    is_odd = any(each.kind == "nonsense" for each in answers)
    return observed("size:wrong").on(*answers) if is_odd else observe(answers[1])


@case("iggy/apache/frame/command", clause="iggy.apache.frame.command")
@each_asked
def test_command(apache: ApacheServer, apache_topic: Topic, ask: steps.Ask) -> Observation:
    """The command byte of a reply is 8."""
    answer = apache.client.ask(ask(apache, apache_topic, apache.client))
    is_reply = isinstance(answer, Replied)
    return observed("command:reply").on(answer) if is_reply else observe(answer)


@case("iggy/apache/frame/command-of-eviction", clause="iggy.apache.frame.command")
def test_command_of_eviction(apache: ApacheServer) -> Observation:
    """The command byte of an eviction is 13."""
    answer = steps.wrong_login(apache, "password", apache.connect(enter=False))
    is_eviction = isinstance(answer, Evicted)
    return observed("command:eviction").on(answer) if is_eviction else observe(answer)


@case("iggy/apache/frame/zero", clause="iggy.apache.frame.zero")
@each_asked
def test_zero(apache: ApacheServer, apache_topic: Topic, ask: steps.Ask) -> Observation:
    """Reserved bytes of a reply are zero."""
    answer = apache.client.ask(ask(apache, apache_topic, apache.client))
    if not isinstance(answer, Replied):
        return observe(answer)
    is_set = rules.has_set_bytes(answer.header, apache.access.envelope)
    return observed("zero:not" if is_set else "zero:all").on(answer)


@case("iggy/apache/frame/echo", clause="iggy.apache.frame.echo")
@pytest.mark.parametrize("number", [1, 1000, 1 << 40], ids=["1", "1000", "2-to-40"])
@pytest.mark.parametrize("is_stamped", [False, True], ids=["no-checksum", "checksum"])
def test_echo(apache: ApacheServer, number: int, is_stamped: bool) -> Observation:
    """A reply has the number and the checksum of its request."""
    client = apache.client
    client.number = number - 1
    body = requests.create_stream_body(apache.new_name())
    checksum = xxh3_64(body.data) if is_stamped else 0
    header = replace(client.header(operations.CREATE_STREAM), request_checksum=checksum)
    client.send(requests.frame(header, body))
    answer = client.receive()
    if not isinstance(answer, Replied):
        return observe(answer)
    is_echo = (answer.header.request, answer.header.request_checksum) == (number, checksum)
    return observed("echo:request" if is_echo else "echo:other").on(answer)


@case("iggy/apache/frame/echo-fields", clause="iggy.apache.frame.echo-fields")
@pytest.mark.parametrize("kind", ["read", "create", "send", "refused"])
def test_echo_fields(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """A reply has the client id, the time and the operation of its request."""
    client = apache.client
    if kind == "create":
        asked = echo_create(client, apache.new_name())
    elif kind == "send":
        asked = echo_send(apache, client, apache_topic)
    else:
        asked = echo_read(client, operations.PING if kind == "read" else steps.UNKNOWN_CODE)
    return observe_echo(asked, client.ask(asked))


@case("iggy/apache/frame/operation-zero", clause="iggy.apache.frame.operation-zero")
def test_operation_zero(apache: ApacheServer) -> Observation:
    """A request with operation 0 is not served."""
    return _with_operation(apache, 0)


@case("iggy/apache/frame/operation-internal", clause="iggy.apache.frame.operation-internal")
@pytest.mark.parametrize("operation", [*range(64, 68), 69, 100, 127])
def test_operation_internal(apache: ApacheServer, operation: int) -> Observation:
    """A request with an operation of the server itself is not served."""
    return _with_operation(apache, operation)


@case("iggy/apache/frame/operation-internal-free", clause="iggy.apache.frame.operation-internal")
def test_operation_internal_free(apache: ApacheServer) -> Observation:
    """A request with an operation that is kept for the server, and free today, is not served."""
    seen = (_with_operation(apache, each) for each in range(69, 128))
    return next((each for each in seen if not is_refused(each)), observed("silence"))


# After operation 68, the server at commit cc269ef serves no login and no other change any more.
@case(
    "iggy/apache/frame/operation-internal-last",
    clause="iggy.apache.frame.operation-internal",
    hazard=True,
)
def test_operation_internal_last(apache: ApacheServer) -> Observation:
    """A request with the last operation of the server itself is not served."""
    return _with_operation(apache, 68)


@case("iggy/apache/frame/operation-unknown", clause="iggy.apache.frame.operation-unknown")
@pytest.mark.parametrize("operation", [4, 63, 150, 159, 163, 255])
def test_operation_unknown(apache: ApacheServer, operation: int) -> Observation:
    """A request with an unknown operation is answered with eviction 4, or not at all."""
    return _with_operation(apache, operation)


def _with_operation(apache: ApacheServer, operation: int) -> Observation:
    client = apache.connect()
    body = requests.create_stream_body(apache.new_name())
    return observe(ask_unserved(client, client.header(operation), body))


@case("iggy/apache/frame/unharmed", clause="iggy.apache.frame.unharmed")
@pytest.mark.parametrize("kind", [*SIZES, "command", "random", "no-client", "cut"])
def test_unharmed(apache: ApacheServer, kind: str) -> Observation:
    """An invalid frame leaves other connections unharmed."""
    with apache.connect() as client, apache.connect() as neighbour:
        right = client.ping()
        wrong = {
            "command": requests.overwritten(right, "command", 200),
            "random": Outgoing(bytes(range(256)) * 2, what="512 bytes that are no frame"),
            "no-client": requests.overwritten(right, "client", 0),
            "cut": right.cut(100),
        }
        client.send(wrong.get(kind) or requests.overwritten(right, "size", SIZES[kind]))
        others = apache.others()
        if others == "others-open":
            others = f"others-{neighbour.goes_on()}"
    return observed(others, overdue=others == "others-stuck")


# After one of these, the server at commit cc269ef serves no login and no other change, and
# it does not start again with its data: it committed the request, and cannot apply it.
@case("iggy/apache/frame/body-unreadable", clause="iggy.apache.frame.unharmed", hazard=True)
@pytest.mark.parametrize("operation", UNREADABLE.values(), ids=UNREADABLE)
def test_body_unreadable(apache: ApacheServer, operation: int) -> Observation:
    """A request whose body cannot be read leaves other clients served."""
    with apache.connect() as client:
        client.ask_before(client.request(operation))
    last: list[Answer] = []

    def look() -> bool | None:
        with apache.connect(enter=False) as other:
            last[:] = [login.log_in(other, apache.access.credentials, apache.access.envelope)]
        return login.read_entered(apache.access.envelope, last[0]) is not None or None

    is_in = until(look, seconds=apache.patience.seconds(ANSWER) * machine_load(), every=0.05)
    note = f"a login was answered {observe(last[0], framed=True).describe()}"
    return observed("others-open" if is_in else "others-refused", note=note).on(last[0])


@case("iggy/apache/frame/size-bad", clause="iggy.apache.frame.size-bad")
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_size_bad(apache: ApacheServer, size: int) -> Observation:
    """A frame with an impossible size ends the connection."""
    with apache.connect() as client:
        return observe(client.ask(requests.overwritten(client.ping(), "size", size)))


@case("iggy/apache/frame/command-foreign", clause="iggy.apache.frame.command-foreign")
@pytest.mark.parametrize("command", [1, 6, 8, 13])
def test_command_foreign(apache: ApacheServer, command: int) -> Observation:
    """A frame with a command that no client sends is dropped without an answer."""
    with apache.connect() as client:
        return observe(client.ask_before(requests.overwritten(client.ping(), "command", command)))


@case("iggy/apache/frame/header-fields", clause="iggy.apache.frame.header-fields")
@pytest.mark.parametrize("field", ["client", "session", "request"])
def test_header_fields(apache: ApacheServer, field: str) -> Observation:
    """A request without client id, session or number is dropped without an answer."""
    with apache.connect() as client:
        header = replace(client.header(operations.CREATE_STREAM), **{field: 0})
        body = requests.create_stream_body(apache.new_name())
        return observe(ask_unserved(client, header, body))


@case("iggy/apache/frame/split", clause="iggy.apache.frame.split")
@pytest.mark.parametrize(
    "cuts",
    [range(1, 256), [48, 52], [256], [60, 255, 257, 260]],
    ids=["each-byte-of-the-header", "at-the-size", "at-the-body", "in-both"],
)
def test_split(apache: ApacheServer, cuts: list[int]) -> Observation:
    """A request that comes in pieces is served."""
    client = apache.client
    body = requests.create_stream_body(apache.new_name())
    whole = client.request(operations.CREATE_STREAM, body)
    for piece in whole.split(*cuts):
        client.send(piece)
    return observe(client.receive_of(whole), framed=True)


@case("iggy/apache/frame/pipelined", clause="iggy.apache.frame.pipelined")
def test_pipelined(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """Reads that come in one piece are answered in their order."""
    client = apache.client
    asked = [steps.get_topic(apache, apache_topic, client) for _ in range(10)]
    whole = asked[0]
    for each in asked[1:]:
        whole = whole + each
    client.send(whole)
    answers = [client.receive() for _ in asked]
    numbers = [each.header.request for each in answers if isinstance(each, Replied)]
    is_right = numbers == [requests.number_of(each) for each in asked]
    return observed("answers:in-order" if is_right else "answers:other").on(*answers)


@case("iggy/apache/evict/shape", clause="iggy.apache.evict.shape")
@each_wrong_login
def test_eviction(apache: ApacheServer, kind: str) -> Observation:
    """An eviction has no body."""
    return _observe_eviction(apache, kind, "bare")


@case("iggy/apache/evict/reason", clause="iggy.apache.evict.reason")
@each_wrong_login
def test_eviction_reason(apache: ApacheServer, kind: str) -> Observation:
    """When the server evicts a client, the eviction frame has a reason that is not 0."""
    return _observe_eviction(apache, kind, "reason")


@case("iggy/apache/evict/client", clause="iggy.apache.evict.client")
@each_wrong_login
def test_eviction_client(apache: ApacheServer, kind: str) -> Observation:
    """An eviction has the client id of the request that it answers."""
    return _observe_eviction(apache, kind, "client")


def _observe_eviction(apache: ApacheServer, kind: str, what: str) -> Observation:
    connection = apache.connect(enter=False)
    answer = steps.wrong_login(apache, kind, connection)
    if not isinstance(answer, Evicted):
        return observe(answer)
    if what == "client":
        is_own = answer.header.client == connection.client
        return observed("client:own" if is_own else "client:other").on(answer)
    shape, reason, *_ = rules.judge_eviction(answer.eviction)
    if what == "bare":
        return observed(shape.value or "eviction:bare").on(answer)
    return observed(reason.value or "reason:given").on(answer)
