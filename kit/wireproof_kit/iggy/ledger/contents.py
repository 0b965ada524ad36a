"""The messages in a request to send, over TCP or HTTP, as the rules of content need them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from wireproof_kit.ledger.entries import Digest
from wireproof_spec import strict_json
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import PARTITION_ID
from wireproof_spec.wire_error import WireError

HTTP, BATCH, OTHER_PARTITION = "http", "batch", "other-partition"
"""What the way of a message can have besides the usual: TCP, alone, partition 1."""
_PARTITION_SIZE: Final = 4


@dataclass(frozen=True, slots=True)
class Content:
    """A message that was sent; ``partition`` is None where its request names none.

    ``has_empty_headers``: it was posted with an object of headers that has none.
    """

    id: int
    headers: tuple[Header, ...]
    payload: Digest
    checksum: int
    partition: int | None
    has_empty_headers: bool = False


def read_contents(sending: SendMessages, body: bytes | None = None) -> Iterator[Content]:
    """Yield the messages of a request; ``body`` is the JSON of one over HTTP."""
    partition = _partition(sending.partitioning)
    empty = _have_empty_headers(body) if body is not None else [False] * len(sending.messages)
    for message, has_empty_headers in zip(sending.messages, empty, strict=True):
        yield Content(
            message.id,
            message.headers,
            Digest.of(message.payload),
            payload_checksum(message.payload),
            partition,
            has_empty_headers,
        )


def is_strict(body: bytes) -> bool:
    """Return True if a JSON text has nothing that parsers read differently, such as two names."""
    try:
        return not strict_json.read(body).faults
    except WireError:
        return False


def is_refusable(content: Content) -> bool:
    """Return True if a server may refuse polls of this message, or return what has no layout.

    Over HTTP empty payloads, header keys and header values may be accepted: no text names them.
    """
    return not content.payload.length or has_empty_header(content)


def has_empty_header(content: Content) -> bool:
    """Return True if a header has an empty key or value: the layout has 1 to 255 bytes."""
    return not all(header.key and header.value for header in content.headers)


def _partition(how: Partitioning) -> int | None:
    if how.kind != PARTITION_ID or len(how.value) != _PARTITION_SIZE:
        return None
    return int.from_bytes(how.value, "little")


def _have_empty_headers(body: bytes) -> list[bool]:
    value = strict_json.read(body).value
    messages = value["messages"] if isinstance(value, dict) else None
    if not isinstance(messages, list):
        return []
    return [isinstance(message, dict) and message.get("headers") == {} for message in messages]
