"""A delivered message, read as its subscription says: with header, with a place in the queue."""

import json

from msgspec import Struct

from wireproof_spec.decoding import decode
from wireproof_spec.nsq import names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE
from wireproof_spec.nsq.message import Extend, message_schema
from wireproof_spec.strict_json import is_object
from wireproof_spec.wire_error import WireError

_ID_AT = 10
"""Timestamp and attempts stand before the id."""


class Message(Struct, frozen=True):
    """A delivered message as the handler of a consumer gets it.

    `header` are the names and values of its JSON header that are the publisher's own, `tag` is
    the one it was dispatched by. The place in the queue is there if the subscription is in order.
    """

    id: bytes
    internal_id: int
    trace_id: int
    timestamp_ns: int
    attempts: int
    body: bytes
    header: dict[str, object] | None = None
    tag: str = ""
    disk_queue_offset: int | None = None
    disk_queue_data_size: int | None = None


class BadMessage(Exception):
    """Raised for a message that cannot be decoded; `id` is empty if not even the id can."""

    def __init__(self, text: str, id: bytes) -> None:
        super().__init__(text)
        self.id = id


def read_message(data: bytes, *, extend: bool, ordered: bool) -> Message:
    """Decode a message from the data of a message frame.

    `extend`: the connection announced extend_support. `ordered`: it subscribed in order.

    Raises:
        BadMessage: the data is too short, or its header is no JSON object.
    """
    id = data[_ID_AT:][:MESSAGE_ID_SIZE]
    try:
        read = decode(message_schema(extend=extend, ordered=ordered), data)
    except WireError as error:
        raise BadMessage(str(error), id if len(id) == MESSAGE_ID_SIZE else b"") from None
    header, tag = _read_extend(read.extend, id)
    return Message(
        id=id,
        internal_id=read.internal_id,
        trace_id=read.trace_id,
        timestamp_ns=read.timestamp_ns,
        attempts=read.attempts,
        body=read.body,
        header=header,
        tag=tag,
        disk_queue_offset=read.disk_queue_offset,
        disk_queue_data_size=read.disk_queue_data_size,
    )


def _read_extend(extend: Extend | None, id: bytes) -> tuple[dict[str, object] | None, str]:
    """Return the publisher's names and values, and the tag.

    Raises:
        BadMessage: version 4 does not hold a JSON object.
    """
    if extend is None or not extend.data:
        return None, ""
    if extend.version == names.EXT_VERSION_TAG:
        return None, extend.data.decode("utf-8", "replace")
    if extend.version != names.EXT_VERSION_JSON:
        return None, ""  # of a later version; its length tells where the body begins
    try:
        value: object = json.loads(extend.data)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"the header is no JSON: {error}", id) from None
    if not is_object(value):
        raise BadMessage("the header is no JSON object", id)
    own = {k: v for k, v in value.items() if not k.startswith(names.INTERNAL_PREFIX)}
    tag = value.get(names.CLIENT_DISPATCH_TAG)
    return own, tag if isinstance(tag, str) else ""
