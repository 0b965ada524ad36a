"""A message as a JSON object: 64-bit ids as strings, the header parsed, the body in hex."""

from wireproof_spec.nsq.message import Message
from wireproof_spec.strict_json import JsonValue, read
from wireproof_spec.wire_error import WireError


def message_fields(message: Message) -> dict[str, JsonValue]:
    """Return the fields of a message as a JSON object."""
    extend = message.extend
    return {
        "timestamp_ns": str(message.timestamp_ns),
        "attempts": message.attempts,
        "internal_id": str(message.internal_id),
        "trace_id": str(message.trace_id),
        "ext_version": None if extend is None else extend.version,
        **header_fields(None if extend is None else extend.data),
        "body_hex": message.body.hex(),
    }


def header_fields(header: bytes | None, *, name: str = "ext") -> dict[str, JsonValue]:
    """Return a message's JSON header as parsed JSON (null when absent or invalid) and as bytes.

    The keys begin with ``name``. ``ext_faults`` is there only if the header is not strictly JSON.
    """
    if not header:
        return {name: None, f"{name}_hex": None if header is None else ""}
    faults: list[JsonValue]
    try:
        parsed = read(header)
        value = parsed.value
        faults = [f"{fault.kind} at {fault.pointer or 'the top'}" for fault in parsed.faults]
    except WireError as error:
        value = None
        faults = [_refusal(error)]
    fields: dict[str, JsonValue] = {name: value, f"{name}_hex": header.hex()}
    return {**fields, f"{name}_faults": faults} if faults else fields


def _refusal(error: WireError) -> str:
    return f"no JSON: expected {error.expected} at byte {error.offset}, found {error.found}"
