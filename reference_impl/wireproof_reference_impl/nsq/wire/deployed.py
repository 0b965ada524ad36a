"""Choices of the measured youzan nsqd that differ from the published text."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.wire import lenient_json
from wireproof_reference_impl.nsq.wire.header import Header, refuse_header, trace_number
from wireproof_reference_impl.nsq.wire.lenient_json import BadJson, Lenient
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.packed import MESSAGE_HEAD_BYTES
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec.nsq.error_codes import E_PUB_FAILED
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID

VERSION = "0.3.7-HA.1.13.0"
"""The version that was measured."""


def read_header(data: bytes) -> Header:
    """Return the needed fields of a header as deployed brokers read it: it may be any JSON.

    Raises:
        Refusal: invalid JSON, or a trace id that is no decimal number in a string; not fatal.
    """
    try:
        value = lenient_json.read(data)
    except BadJson as bad:
        raise refuse_header(f"fail to parse json header:{bad.why}") from bad
    if not isinstance(value, dict):
        return Header()
    trace_id = _trace_id(value[TRACE_ID]) if TRACE_ID in value else None
    tag = value.get(CLIENT_DISPATCH_TAG)
    return Header(trace_id, tag if isinstance(tag, str) else None)


def check_record(entries: Sequence[NewMessage], extend: bool, max_message_size: int) -> None:
    """Check the size of a record as deployed brokers do, which forget to count the ext part.

    Raises:
        Refusal: the record is larger than the largest message and its head; not fatal.
    """
    most = max_message_size + MESSAGE_HEAD_BYTES
    for entry in entries:
        size = MESSAGE_HEAD_BYTES + len(entry.body)
        if extend:
            size += 1 if entry.header is None else 3 + len(entry.header)
        if size > most:
            text = f"invalid message write size ({size}) maxMsgSize={most}"
            raise Refusal(E_PUB_FAILED, text, fatal=False)


def _trace_id(value: Lenient) -> int | None:
    return trace_number(value if isinstance(value, str) else None, empty=False)
