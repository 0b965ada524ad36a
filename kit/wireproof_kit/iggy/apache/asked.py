"""What a request asks for, as far as the ledger follows it, and which requests are unanswered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from wireproof_kit.iggy.apache.partitions import Before
from wireproof_kit.iggy.apache.rules import Content
from wireproof_kit.ledger.entries import Entry
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.bodies.messages import (
    DELETE_CONSUMER_OFFSET,
    GET_CONSUMER_OFFSET,
    POLL_MESSAGES,
    SEND_BYTES,
    STORE_CONSUMER_OFFSET,
    DeleteConsumerOffset,
    GetConsumerOffset,
    PollMessages,
    SendBytes,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.frames import FrameReader
from wireproof_spec.iggy.apache.header import RequestHeader

Sent = Entry[Content]
OfConsumer: TypeAlias = (
    PollMessages | GetConsumerOffset | StoreConsumerOffset | DeleteConsumerOffset
)
_ANY_SIZE: Final = 1 << 32


@dataclass(slots=True)
class Asked:
    """A request; ``body`` is that of one for a consumer, ``sent`` are the messages of a send."""

    header: RequestHeader
    body: OfConsumer | None = None
    sent: Sequence[Sent] = ()
    before: Before | None = None
    """What was known of the consumer's partition, in a topic that the case made."""


@dataclass(slots=True)
class Connection:
    """What was sent on one connection, until bytes came that are no requests."""

    reader: FrameReader = field(default_factory=lambda: FrameReader(_ANY_SIZE))
    asked: dict[int, Asked] = field(default_factory=dict[int, Asked])
    clients: set[int] = field(default_factory=set[int])
    is_lost: bool = False


def decode_asked(header: RequestHeader, body: bytes) -> SendBytes | OfConsumer | None:
    """Return the body of a send or of a request for a consumer; None for any other request.

    Raises:
        WireError: the body cannot be decoded.
    """
    if header.operation == operations.SEND_MESSAGES:
        return decode(SEND_BYTES, body)
    if header.operation == operations.STORE_CONSUMER_OFFSET:
        return decode(STORE_CONSUMER_OFFSET, body)
    if header.operation == operations.DELETE_CONSUMER_OFFSET:
        return decode(DELETE_CONSUMER_OFFSET, body)
    if header.operation != operations.NON_REPLICATED:
        return None
    if header.code == operations.GET_CONSUMER_OFFSET:
        return decode(GET_CONSUMER_OFFSET, body)
    return decode(POLL_MESSAGES, body) if header.code == operations.POLL_MESSAGES else None
