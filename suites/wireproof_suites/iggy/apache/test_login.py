"""The login: its reply, the gate of versions, what is refused, and what is served before it."""

import pytest
from msgspec.structs import replace

from wireproof_kit.case import case
from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.iggy.apache import login, requests
from wireproof_kit.iggy.apache.answers import Answer, Evicted, Replied
from wireproof_kit.iggy.apache.connection import Connection
from wireproof_kit.iggy.apache.observe import observe
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.wire.login import Credentials
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.envelope import pack_version, unpack_version
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.step_notes import LOGIN
from wireproof_suites.iggy.apache import steps

NAMES = {"1-byte": "w", "255-bytes": "w" * 255, "beyond-ascii": "schlüssel-键"}


@case("iggy/apache/login/reply", clause="iggy.apache.login.reply")
def test_reply(apache: ApacheServer) -> Observation:
    """The reply to a login has user id, session, protocol version and version text."""
    answer = _enter(apache)
    entered = login.read_entered(apache.access.envelope, answer)
    if entered is None:
        is_odd = isinstance(answer, Replied) and answer.is_accepted
        return observed("reply:other").on(answer) if is_odd else _observe(apache, answer)
    is_right = bool(entered.fields.session and entered.fields.server_version)
    return observed("reply:right" if is_right else "reply:empty").on(answer)


@case("iggy/apache/login/result-section", clause="iggy.apache.login.result-section")
def test_result_section(apache: ApacheServer) -> Observation:
    """The reply to a login begins with the user id, or with a result section before it."""
    answer = _enter(apache)
    entered = login.read_entered(apache.access.envelope, answer)
    seen = _observe(apache, answer)
    return seen if entered is None else observed(f"reply:{entered.place}").on(answer)


@case("iggy/apache/login/session", clause="iggy.apache.login.session")
@pytest.mark.parametrize("kind", ["read", "create", "send"])
def test_session(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """Requests with the session of the login are served."""
    asks = {"read": steps.get_streams, "create": steps.create_stream, "send": steps.send}
    client = apache.connect()
    return observe(client.ask(asks[kind](apache, apache_topic, client)))


@case("iggy/apache/login/version", clause="iggy.apache.login.version")
def test_version(apache: ApacheServer) -> Observation:
    """The protocol version of the server is packed into 30 bits."""
    answer = _enter(apache)
    entered = login.read_entered(apache.access.envelope, answer)
    if entered is None:
        return _observe(apache, answer)
    version = entered.fields.server_protocol_version
    is_packed = 0 < version < 1 << 30 and any(unpack_version(version))
    return observed("version:packed" if is_packed else "version:other").on(answer)


@case("iggy/apache/login/gate", clause="iggy.apache.login.gate")
@pytest.mark.parametrize("kind", ["zero", "below", "next-minor", "next-major"])
def test_gate(apache: ApacheServer, kind: str) -> Observation:
    """A login with a version that the server does not accept is answered with eviction 14."""
    return _observe(apache, _enter(apache, version=_version(apache, kind)))


@case("iggy/apache/login/gate-first", clause="iggy.apache.login.gate-first")
@pytest.mark.parametrize("kind", ["zero", "below", "next-minor", "next-major"])
def test_gate_first(apache: ApacheServer, kind: str) -> Observation:
    """The version is looked at before the password."""
    return _observe(
        apache,
        _enter(apache, version=_version(apache, kind), credentials=_wrong(apache)),
    )


@case("iggy/apache/login/gate-patch", clause="iggy.apache.login.gate-patch")
@pytest.mark.parametrize("patch", [0, 1, 1023])
def test_gate_patch(apache: ApacheServer, patch: int) -> Observation:
    """A login whose version differs from the server's only in the patch number is accepted."""
    major, minor, _ = unpack_version(apache.access.entered.server_protocol_version)
    return _observe(apache, _enter(apache, version=pack_version(major, minor, patch)))


@case("iggy/apache/login/gate-window", clause="iggy.apache.login.gate-window")
def test_gate_window(apache: ApacheServer) -> Observation:
    """Eviction 14 has the lowest and the highest version that the server accepts."""
    answer = _enter(apache, version=_version(apache, "next-major"))
    window = login.window_of(answer)
    if window is None:
        return observe(answer)
    own = unpack_version(apache.access.entered.server_protocol_version)[:2]
    is_own = window[0] <= window[1] and unpack_version(window[1])[:2] == own
    ends = [_enter(apache, version=each) for each in window]
    is_right = is_own and all(login.read_entered(apache.access.envelope, each) for each in ends)
    note = " to ".join(map(login.name_version, window))
    return observed("window:right" if is_right else "window:wrong", note=note).on(answer)


@case("iggy/apache/login/window-zero", clause="iggy.apache.login.window-zero")
@pytest.mark.parametrize("kind", ["cut", "password"])
def test_window_zero(apache: ApacheServer, kind: str) -> Observation:
    """An eviction for another reason than the version has no window."""
    answer = steps.wrong_login(apache, kind, apache.connect(enter=False))
    if not isinstance(answer, Evicted):
        return observe(answer)
    header = answer.header
    is_set = header.server_protocol_version or header.server_protocol_version_min
    return observed("window:set" if is_set else "window:zero").on(answer)


@case("iggy/apache/login/malformed", clause="iggy.apache.login.malformed")
@pytest.mark.parametrize("kind", ["empty", "three-bytes", "cut-name", "empty-name"])
def test_malformed(apache: ApacheServer, kind: str) -> Observation:
    """A login without a version that can be read is answered with eviction 15."""
    right = login.login_body(apache.access.credentials, apache.access.envelope)
    name = len(login.SDK_NAME)
    bodies = {
        "empty": b"",
        "three-bytes": right[:3],
        "cut-name": right[:9],
        "empty-name": right[:4] + b"\x00" + right[5 + name :],
    }
    return _enter_with(apache, bodies[kind])


@case("iggy/apache/login/credentials", clause="iggy.apache.login.credentials")
@pytest.mark.parametrize("kind", ["wrong-password", "empty-password", "unknown-user"])
def test_credentials(apache: ApacheServer, kind: str) -> Observation:
    """A login with a wrong name or password is answered with eviction 9, 10 or 11."""
    name = apache.access.credentials.name
    wrong = {
        "wrong-password": _wrong(apache),
        "empty-password": Credentials(name, ""),
        "unknown-user": Credentials("wp_nobody", "wp"),
    }
    return _observe(apache, _enter(apache, credentials=wrong[kind]))


@case("iggy/apache/login/legacy", clause="iggy.apache.login.legacy")
@pytest.mark.parametrize("code", [38, 44])
def test_legacy(apache: ApacheServer, code: int) -> Observation:
    """A login command of earlier servers is answered with eviction 15."""
    connection = apache.connect(enter=False)
    body = b"\x02wp\x02wp" if code == operations.LOGIN_USER else b"\x08wp-token"
    return observe(connection.ask(connection.read(code, body)))


@case("iggy/apache/login/ping-before", clause="iggy.apache.login.ping-before")
def test_ping_before(apache: ApacheServer) -> Observation:
    """A ping is answered before the login."""
    connection = apache.connect(enter=False)
    return observe(connection.ask(connection.ping()))


BEFORE: dict[str, steps.Ask] = {
    "get-streams": steps.get_streams,
    "get-topic": steps.get_topic,
    "poll": steps.poll,
    "create-stream": steps.create_stream,
    "send": steps.send,
    "store-offset": steps.store_offset,
    "get-offset": steps.get_offset,
    "get-me": steps.get_me,
    "get-topics": steps.get_topics,
    "create-topic": steps.create_topic,
    "delete-topic": steps.delete_topic,
    "delete-offset": steps.delete_offset,
}


@case("iggy/apache/login/others-before", clause="iggy.apache.login.others-before")
@pytest.mark.parametrize("ask", BEFORE.values(), ids=BEFORE)
def test_others_before(apache: ApacheServer, apache_topic: Topic, ask: steps.Ask) -> Observation:
    """No other command than a ping is served before the login."""
    steps.store(apache, apache_topic, [1])
    connection = apache.connect(enter=False)
    connection.session = 1
    return observe(connection.ask_before(ask(apache, apache_topic, connection)))


@case("iggy/apache/login/others-behind-ping", clause="iggy.apache.login.others-before")
@pytest.mark.parametrize("ask", BEFORE.values(), ids=BEFORE)
def test_others_behind_ping(
    apache: ApacheServer, apache_topic: Topic, ask: steps.Ask
) -> Observation:
    """No other command is served before the login, nor for who has logged in elsewhere."""
    steps.store(apache, apache_topic, [1])
    connection = apache.connect(enter=False)
    connection.client = apache.client.client
    connection.ask(connection.ping())
    connection.session = 1
    return observe(connection.ask_before(ask(apache, apache_topic, connection)))


@case("iggy/apache/login/names", clause="iggy.apache.login.names")
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names(apache: ApacheServer, name: str) -> Observation:
    """The names of an SDK and of its version may have 1 to 255 bytes."""
    return _observe(apache, _enter(apache, sdk_name=name, sdk_version=name))


@case("iggy/apache/login/context", clause="iggy.apache.login.context")
@pytest.mark.parametrize("size", [1, 1000])
def test_context(apache: ApacheServer, size: int) -> Observation:
    """A context may stand behind the password."""
    return _observe(apache, _enter(apache, context="c" * size))


@case("iggy/apache/login/logout", clause="iggy.apache.login.logout")
def test_logout(apache: ApacheServer) -> Observation:
    """A logout is answered."""
    client = apache.connect()
    return observe(client.ask(client.request(operations.LOGOUT)))


@case("iggy/apache/login/logout-ends", clause="iggy.apache.login.logout-ends")
def test_logout_ends(apache: ApacheServer) -> Observation:
    """A read is refused behind a logout."""
    client = apache.connect()
    client.ask(client.request(operations.LOGOUT))
    return observe(client.ask_before(client.read(operations.GET_STREAMS)))


@case("iggy/apache/login/again", clause="iggy.apache.login.again")
def test_again(apache: ApacheServer) -> Observation:
    """A second login on a connection is left without an answer."""
    return _enter_oddly(apache, login.login_header(client := apache.connect()), client)


@case("iggy/apache/login/header", clause="iggy.apache.login.header")
@pytest.mark.parametrize(("field", "value"), [("client", 0), ("session", 1), ("request", 1)])
def test_header(apache: ApacheServer, field: str, value: int) -> Observation:
    """A login without client id, or with a session or a number, is left without an answer."""
    connection = apache.connect(enter=False)
    connection.number = 10
    header = replace(login.login_header(connection), **{field: value})
    return _enter_oddly(apache, header, connection)


@case("iggy/apache/login/trailing", clause="iggy.apache.login.trailing")
def test_trailing(apache: ApacheServer) -> Observation:
    """Bytes behind the body of a login are ignored."""
    right = login.login_body(apache.access.credentials, apache.access.envelope)
    return _enter_with(apache, right + b"more")


def _enter(
    apache: ApacheServer,
    *,
    credentials: Credentials | None = None,
    version: int | None = None,
    sdk_name: str = login.SDK_NAME,
    sdk_version: str = login.SDK_VERSION,
    context: str = "",
) -> Answer:
    """Log in on a new connection and return the answer."""
    access = apache.access
    body = login.login_body(
        credentials or access.credentials,
        access.envelope,
        version=version,
        sdk_name=sdk_name,
        sdk_version=sdk_version,
        context=context,
    )
    return _ask(apache, body)


def _ask(apache: ApacheServer, body: bytes) -> Answer:
    """Send any body of a login on a new connection and return the answer."""
    access = apache.access
    connection = apache.connect(enter=False)
    return login.ask_login(connection, access.envelope, body, access.credentials.name)


def _observe(apache: ApacheServer, answer: Answer) -> Observation:
    return login.observe_login(apache.access.envelope, answer)


def _enter_with(apache: ApacheServer, body: bytes) -> Observation:
    """Log in on a new connection with any body."""
    return _observe(apache, _ask(apache, body))


def _enter_oddly(
    apache: ApacheServer, header: RequestHeader, connection: Connection
) -> Observation:
    """Log in with any header, with a ping behind it."""
    access = apache.access
    outgoing = requests.frame(header, login.login_body(access.credentials, access.envelope))
    secret = f"{LOGIN}{access.credentials.name}"
    return observe(connection.ask_before(outgoing, secret=secret))


def _wrong(apache: ApacheServer) -> Credentials:
    return Credentials(apache.access.credentials.name, "wp wrong password")


def _version(apache: ApacheServer, kind: str) -> int:
    """Return a version that is not accepted.

    Raises:
        ArrangementFailed: the server does not tell which versions it accepts.
    """
    major, minor, _ = unpack_version(apache.access.entered.server_protocol_version)
    next_major = pack_version(major + 1, 0, 0)
    if kind == "next-major":
        return next_major
    if kind == "next-minor":
        return pack_version(major, minor + 1, 0)
    if kind == "zero":
        return 0
    window = login.window_of(_enter(apache, version=next_major))
    if not window or not window[0]:
        raise ArrangementFailed("the server does not tell which versions it accepts")
    return window[0] - 1
