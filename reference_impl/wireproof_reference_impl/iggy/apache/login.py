"""Login and logout: the gate for versions, credentials, and the session."""

from typing import TypeVar

from wireproof_reference_impl.iggy.apache import replies
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.refusals import Evicted
from wireproof_reference_impl.iggy.apache.session import Call, Registered
from wireproof_spec.decoding import Schema, decode, encode
from wireproof_spec.iggy.apache import evictions
from wireproof_spec.iggy.apache.envelope import Envelope, LoggedIn, LoginBody, TokenLoginBody
from wireproof_spec.iggy.apache.version_prefix import VERSION_PREFIX
from wireproof_spec.wire_error import WireError

Front = TypeVar("Front")

USER_ID = 0
USER_NAME = PASSWORD = "iggy"
SERVER_VERSION = "0.9.0-edge.5"
"""The version of the measured server, in text."""


def register(node: Node, call: Call) -> bytes:
    """Log a client in and return the reply; an earlier connection of the client is fenced.

    Raises:
        Evicted: the version, the body or the credentials are refused, in this order.
    """
    version = read_version(call.request.body)
    check_version(node.envelope, version)
    check_credentials(read_login(node.envelope, call.request.body))
    session = node.commit()
    node.registered[call.request.header.client] = Registered(session, call.connection)
    return replies.of_login(node, call, logged_in(node, session))


def read_version(body: bytes) -> int:
    """Return the protocol version of a login.

    Raises:
        Evicted: the body has no version, or no names of SDK and its version, in front.
    """
    try:
        return _decode_front(VERSION_PREFIX, body).protocol_version
    except WireError:
        raise Evicted(evictions.MALFORMED_LOGIN) from None


def check_version(envelope: Envelope, version: int) -> None:
    """Refuse a client whose protocol version is outside the window.

    Raises:
        Evicted: with the window.
    """
    if not envelope.accepts(version):
        window = envelope.version, envelope.version
        raise Evicted(evictions.INCOMPATIBLE_PROTOCOL, window=window)


def read_login(envelope: Envelope, body: bytes) -> LoginBody | TokenLoginBody:
    """Return a login with name and password or else with a token; bytes behind it are ignored.

    Raises:
        Evicted: the body has neither shape.
    """
    try:
        return _decode_front(envelope.login, body)
    except WireError:
        pass
    try:
        return _decode_front(envelope.token_login, body)
    except WireError:
        raise Evicted(evictions.MALFORMED_LOGIN) from None


def check_credentials(login: LoginBody | TokenLoginBody) -> None:
    """Refuse a wrong name or password, and every token: the server knows none.

    Raises:
        Evicted: the credentials are wrong.
    """
    if isinstance(login, TokenLoginBody):
        raise Evicted(evictions.INVALID_TOKEN)
    if (login.username, login.password) != (USER_NAME, PASSWORD):
        raise Evicted(evictions.INVALID_CREDENTIALS)


def logged_in(node: Node, session: int) -> bytes:
    """Return the body of the reply to a login: as in the measured server behind a result."""
    version = node.envelope.version
    payload = LoggedIn(USER_ID, session, version, SERVER_VERSION)
    return replies.result(encode(node.envelope.login_reply, payload))


def logout(node: Node, call: Call) -> bytes:
    """Log a client out and return the reply, which has no body."""
    node.commit()
    node.leave_groups(call.client)
    del node.registered[call.client]
    return replies.of_login(node, call, b"")


def _decode_front(schema: Schema[Front], body: bytes) -> Front:
    """Decode the front of some bytes; what follows is ignored."""
    try:
        return decode(schema, body)
    except WireError as error:
        if error.field != "end":
            raise
        return decode(schema, body[: error.offset])
