"""Faults of login and logout."""

from msgspec.structs import replace

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.iggy.apache import login, replies, requests
from wireproof_reference_impl.iggy.apache.login import USER_NAME
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.refusals import Denied, Evicted, Unanswered
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_reference_impl.iggy.faulty.apache.ways import (
    boundary,
    condition,
    evicting,
    extra,
    instead,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original
from wireproof_spec.iggy.apache import evictions, operations, statuses
from wireproof_spec.iggy.apache.envelope import Envelope, LoginBody, TokenLoginBody, pack_version
from wireproof_spec.iggy.apache.header import EvictionHeader

_SESSION_AT = 4 + 4
_VERSION_AT = _SESSION_AT + 8
_SHORT = 100
_FIRST = 3
"""Up to here sessions are those by which the kit finds out what the server is."""
_NEXT = pack_version(0, 12, 0)


@missing("login.reply", instead(login, "logged_in"))
def login_reply_without_text(original: Original, node: Node, session: int) -> bytes:
    """The version text in the reply to a login is empty."""
    body: bytes = original(node, session)
    return body[: _VERSION_AT + 4] + b"\0"


@condition("login.version", instead(login, "logged_in"))
def version_bit_set_after_the_first(original: Original, node: Node, session: int) -> bytes:
    """The highest bit of the version is set in every reply to a login but the first few."""
    body: bytes = original(node, session)
    at = _VERSION_AT + 3
    return body if session <= _FIRST else body[:at] + bytes([body[at] | 0x80]) + body[at + 1 :]


@condition("login.session", instead(requests, "read"))
def own_session_denied_for_list(original: Original, node: Node, call: Call) -> object:
    """A request for all streams is denied if it has the session of its login."""
    header = call.request.header
    if header.code == operations.GET_STREAMS and call.session and header.session == call.session:
        raise _deny(statuses.UNAUTHENTICATED)
    return original(node, call)


@missing("login.gate login.gate-first", instead(login, "check_version"))
def any_version_accepted(original: Original, envelope: Envelope, version: int) -> None:
    """A login with any protocol version is accepted."""


@boundary("login.gate", instead(login, "check_version"))
def next_minor_accepted(original: Original, envelope: Envelope, version: int) -> None:
    """A login with the next minor version is accepted."""
    original(envelope, envelope.version if version == _NEXT else version)


@condition("login.gate", instead(login, "check_version"))
def older_versions_accepted(original: Original, envelope: Envelope, version: int) -> None:
    """A login with a version below the minimum is accepted."""
    original(envelope, max(version, envelope.version))


@boundary("login.gate-patch", instead(login, "check_version"))
def other_patch_refused(original: Original, envelope: Envelope, version: int) -> None:
    """A login with another patch of the server's version is refused."""
    original(envelope, version if version == envelope.version else _NEXT)


def _window(header: EvictionHeader, highest: int, lowest: int) -> EvictionHeader:
    if header.reason != evictions.INCOMPATIBLE_PROTOCOL:
        return header
    return replace(header, server_protocol_version=highest, server_protocol_version_min=lowest)


@missing("login.gate-window", evicting)
def window_missing(header: EvictionHeader) -> EvictionHeader:
    """An eviction for an incompatible version has no window."""
    return _window(header, 0, 0)


@boundary("login.gate-window", evicting)
def window_too_wide(header: EvictionHeader) -> EvictionHeader:
    """The highest version in the window is one that is not accepted."""
    return _window(header, _NEXT, header.server_protocol_version_min)


@extra("login.window-zero", evicting)
def window_in_every_eviction(header: EvictionHeader) -> EvictionHeader:
    """An eviction has the window of versions, whatever its reason is."""
    version = pack_version(0, 11, 0)
    return replace(header, server_protocol_version=version, server_protocol_version_min=version)


def _deny(code: int) -> Exception:
    return Denied(code)


@wrong_value("login.malformed", instead(login, "read_version"))
def malformed_login_denied(original: Original, body: bytes) -> object:
    """A login without a version in front is answered with status 3 instead of an eviction."""
    try:
        return original(body)
    except Evicted:
        raise _deny(statuses.INVALID_COMMAND) from None


@missing("login.malformed", instead(login, "read_version"))
def malformed_login_unanswered(original: Original, body: bytes) -> object:
    """A login without a version in front is not answered."""
    try:
        return original(body)
    except Evicted:
        raise Unanswered from None


@missing("login.credentials", instead(login, "check_credentials"))
def any_password_accepted(original: Original, found: LoginBody | TokenLoginBody) -> None:
    """A login with a wrong password is accepted."""


@condition("login.credentials", instead(login, "check_credentials"))
def unknown_user_accepted(original: Original, found: LoginBody | TokenLoginBody) -> None:
    """A login with an unknown user name is accepted."""
    if isinstance(found, TokenLoginBody) or found.username == USER_NAME:
        original(found)


@wrong_value("login.credentials", instead(login, "check_credentials"))
def wrong_password_denied(original: Original, found: LoginBody | TokenLoginBody) -> None:
    """A login with a wrong password is answered with status 42 instead of an eviction."""
    try:
        original(found)
    except Evicted:
        raise _deny(statuses.INVALID_CREDENTIALS) from None


@condition("login.gate-first", instead(login, "register"))
def credentials_before_version(original: Original, node: Node, call: Call) -> object:
    """The credentials of a login are checked before its version."""
    login.check_credentials(login.read_login(node.envelope, call.request.body))
    return original(node, call)


@wrong_value("login.legacy", instead(requests, "read"))
def legacy_login_denied(original: Original, node: Node, call: Call) -> object:
    """The login commands of earlier servers are answered with status 5."""
    if call.request.header.code in operations.LEGACY_LOGINS:
        raise _deny(statuses.FEATURE_UNAVAILABLE)
    return original(node, call)


@condition("login.legacy", instead(requests, "read"))
def legacy_token_login_denied(original: Original, node: Node, call: Call) -> object:
    """The login with a token of earlier servers is answered with status 40."""
    if call.request.header.code == operations.LOGIN_WITH_PERSONAL_ACCESS_TOKEN:
        raise _deny(statuses.UNAUTHENTICATED)
    return original(node, call)


@missing("login.ping-before", instead(requests, "read"))
def ping_needs_login(original: Original, node: Node, call: Call) -> object:
    """A ping before the login is denied."""
    if not call.session:
        raise _deny(statuses.UNAUTHENTICATED)
    return original(node, call)


@missing("login.others-before", instead(requests, "read"))
def reads_without_login(original: Original, node: Node, call: Call) -> object:
    """Reads are served before the login."""
    return original(node, replace(call, session=call.session or 1))


@condition("login.others-before", instead(requests, "read"))
def streams_listed_without_login(original: Original, node: Node, call: Call) -> object:
    """All streams are listed before the login."""
    is_list = call.request.header.code == operations.GET_STREAMS
    return original(node, replace(call, session=call.session or int(is_list)))


@boundary("login.names", instead(login, "read_login"))
def long_sdk_name_refused(original: Original, envelope: Envelope, body: bytes) -> object:
    """A login is refused if the name of its SDK has more than 100 bytes."""
    login_body = original(envelope, body)
    if len(login_body.sdk_name) > _SHORT:
        raise Evicted(evictions.MALFORMED_LOGIN)
    return login_body


@boundary("login.names", instead(login, "read_login"))
def short_sdk_version_refused(original: Original, envelope: Envelope, body: bytes) -> object:
    """A login is refused if the version of its SDK has one byte."""
    login_body = original(envelope, body)
    if len(login_body.sdk_version) == 1:
        raise Evicted(evictions.MALFORMED_LOGIN)
    return login_body


@missing("login.context", instead(login, "read_login"))
def context_refused(original: Original, envelope: Envelope, body: bytes) -> object:
    """A login with a context is refused."""
    login_body = original(envelope, body)
    if login_body.context:
        raise Evicted(evictions.MALFORMED_LOGIN)
    return login_body


@missing("login.logout", instead(login, "logout"))
def logout_unanswered(original: Original, node: Node, call: Call) -> object:
    """A logout is not answered."""
    original(node, call)
    raise Unanswered


@wrong_value("login.logout", instead(login, "logout"))
def logout_denied(original: Original, node: Node, call: Call) -> object:
    """A logout is denied."""
    raise _deny(statuses.FEATURE_UNAVAILABLE)


@missing("login.logout-ends", instead(login, "logout"))
def logout_without_effect(original: Original, node: Node, call: Call) -> object:
    """Commands are served behind a logout."""
    return replies.of_login(node, call, b"")


FAULTS = list_faults(__name__)
