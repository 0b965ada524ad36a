"""IDENTIFY: the client's description of itself, and the answer."""

from collections.abc import Sequence
from functools import lru_cache

from wireproof_reference_impl.nsq.core.commands import sized
from wireproof_reference_impl.nsq.core.connection import Connection, Reading
from wireproof_reference_impl.nsq.core.states import Event
from wireproof_reference_impl.nsq.wire import identify_json
from wireproof_reference_impl.nsq.wire.identify_json import BadIdentify, IdentifyFields
from wireproof_reference_impl.nsq.wire.identity import Identity
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec.nsq import limits
from wireproof_spec.nsq.error_codes import E_BAD_BODY, E_IDENTIFY_FAILED
from wireproof_spec.nsq.names import DESIRED_TAG, EXTEND_SUPPORT, OK

_SHORT_BYTES = 1024


def identify(connection: Connection, words: Sequence[bytes]) -> Reading:
    """Run IDENTIFY: apply its fields and answer with OK or, if requested, with JSON."""
    connection.move(Event.IDENTIFY)
    body = yield from read_body(connection)
    fields, identity = _said(body) if len(body) <= _SHORT_BYTES else _read(body)
    if identity.feature_negotiation and fields.flag("deflate") and fields.flag("snappy"):
        text = "cannot enable both deflate and snappy compression"
        raise Refusal(E_IDENTIFY_FAILED, text)
    access = connection.node.access
    asked = identity.feature_negotiation and fields.flag("tls_v1")
    security = access.security if asked and not connection.is_secure else None
    connection.identify(identity)
    output = connection.node.behaviour.output
    if identity.feature_negotiation or output.always_json:
        said = answer(identity, output.version, tls=security is not None, auth=access.asks)
        connection.respond(output.identify_json(said))
    else:
        connection.respond(OK)
    if security is not None:
        connection.secure(security())


def read_body(connection: Connection) -> sized.Bytes:
    """Read the body of IDENTIFY: its size, then its JSON."""
    size = yield from sized.number(otherwise=lambda: _refuse("failed to read body size"))
    limit = connection.node.limits.body
    sized.check_size(
        size,
        limit=limit,
        invalid=lambda: _refuse(f"invalid body size {size}"),
        too_big=lambda: _refuse(f"body too big {size} > {limit}"),
    )
    return (yield from sized.exactly(size, otherwise=lambda: _refuse("failed to read body")))


def read_identity(fields: IdentifyFields) -> Identity:
    """Return the identity from the fields of IDENTIFY.

    Raises:
        Refusal: a value is out of range; checked in the order of the real broker.
    """
    return Identity(
        heartbeat_ms=_heartbeat(fields.number("heartbeat_interval")),
        output_buffer_size=_buffer_size(fields.number("output_buffer_size")),
        output_buffer_timeout_ms=_buffer_timeout(fields.number("output_buffer_timeout")),
        sample_rate=_sample_rate(fields.number("sample_rate")),
        message_timeout_ms=_message_timeout(fields.number("msg_timeout")),
        desired_tag=_desired_tag(fields.text(DESIRED_TAG)),
        extend_support=fields.flag(EXTEND_SUPPORT),
        feature_negotiation=fields.flag("feature_negotiation"),
        user_agent=fields.text("user_agent"),
        client_id=fields.text("client_id") or fields.text("short_id"),
        hostname=fields.text("hostname") or fields.text("long_id"),
        ext_filter=fields.ext_filter(),
    )


def answer(identity: Identity, version: str, *, tls: bool, auth: bool) -> dict[str, object]:
    """Return the fields of the JSON answer to IDENTIFY, in the order of the real broker.

    Compression is not available: whether requested or not, the answer is false.
    """
    fields: dict[str, object] = {
        "max_rdy_count": limits.MAX_RDY_COUNT,
        "version": version,
        "max_msg_timeout": limits.MAX_MSG_TIMEOUT_MS,
        "msg_timeout": identity.message_timeout_ms,
        "tls_v1": tls,
        "deflate": False,
        "deflate_level": 0,
        "max_deflate_level": limits.MAX_DEFLATE_LEVEL,
        "snappy": False,
        "sample_rate": identity.sample_rate,
        "auth_required": auth,
        "output_buffer_size": identity.output_buffer_size,
        "output_buffer_timeout": identity.output_buffer_timeout_ms,
    }
    if identity.desired_tag:
        fields[DESIRED_TAG] = identity.desired_tag
    return fields


def _read(body: bytes) -> tuple[IdentifyFields, Identity]:
    try:
        fields = identify_json.read(body)
    except BadIdentify as error:
        raise _refuse("failed to decode JSON body") from error
    return fields, read_identity(fields)


_said = lru_cache(maxsize=64)(_read)
"""Most clients say of themselves what others have said before."""


def _refuse(text: str) -> Refusal:
    return Refusal(E_BAD_BODY, f"IDENTIFY {text}")


def _heartbeat(value: int) -> int | None:
    if value == 0:
        return limits.HEARTBEAT_INTERVAL_MS
    if value == -1:
        return None
    if not limits.MIN_HEARTBEAT_INTERVAL_MS <= value <= limits.MAX_HEARTBEAT_INTERVAL_MS:
        raise _refuse(f"heartbeat interval ({value}) is invalid")
    return value


def _buffer_size(value: int) -> int:
    if value == 0:
        return limits.OUTPUT_BUFFER_SIZE
    if value == -1:
        return 1
    if value < limits.MIN_OUTPUT_BUFFER_SIZE:
        raise _refuse(f"output buffer size ({value}) is invalid")
    return min(value, limits.MAX_OUTPUT_BUFFER_SIZE)


def _buffer_timeout(value: int) -> int:
    if value == 0:
        return limits.OUTPUT_BUFFER_TIMEOUT_MS
    if value == -1:
        return 0
    if not 1 <= value <= limits.MAX_OUTPUT_BUFFER_TIMEOUT_MS:
        raise _refuse(f"output buffer timeout ({value}) is invalid")
    return max(value, limits.LEAST_OUTPUT_BUFFER_TIMEOUT_MS)


def _sample_rate(value: int) -> int:
    if not 0 <= value <= limits.MAX_SAMPLE_RATE:
        raise _refuse(f"sample rate ({value}) is invalid")
    return value


def _message_timeout(value: int) -> int:
    if value == 0:
        return limits.MSG_TIMEOUT_MS
    if not limits.MIN_MSG_TIMEOUT_MS <= value <= limits.MAX_MSG_TIMEOUT_MS:
        raise _refuse(f"msg timeout ({value}) is invalid")
    return value


def _desired_tag(value: str) -> str:
    length = len(value.encode("utf-8", "surrogatepass"))
    if length > limits.MAX_DESIRED_TAG_SIZE:
        raise _refuse(f"invalid tag len {length}, exceed limit {limits.MAX_DESIRED_TAG_SIZE}")
    return value
