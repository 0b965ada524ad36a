"""The payload of a request to send messages: the topic, and messages to the end of the frame.

A message in a request has no offset, state, timestamp or checksum: the server adds them.
"""

from construct import this
from msgspec import Struct

from wireproof_spec.decoding import Schema
from wireproof_spec.grammar.layout import Bytes, Int32ul, Int128ul, Record, Shape, field
from wireproof_spec.grammar.lengths import Declared, Each
from wireproof_spec.iggy.bodies.identifier import IDENTIFIER, Identifier
from wireproof_spec.iggy.bodies.partitioning import PARTITIONING, Partitioning
from wireproof_spec.iggy.headers import Header, headers_field


class SentMessage(Struct, frozen=True, gc=False):
    """A message in a send request; for id 0 the server generates an id."""

    id: int
    headers: tuple[Header, ...]
    payload: bytes


class SendMessages(Struct, frozen=True, gc=False):
    """The payload of a request that sends one or more messages to one topic."""

    stream: Identifier
    topic: Identifier
    partitioning: Partitioning
    messages: tuple[SentMessage, ...]


def _message(least: int) -> Record:
    return Record(
        SentMessage,
        field("id", Int128ul),
        headers_field(),
        field("length", Declared(Int32ul, of="payload", bounds=(least, Int32ul.highest))),
        field("payload", Bytes(this.length)),
    )


def _request(messages: Shape) -> Record:
    return Record(
        SendMessages,
        field("stream", IDENTIFIER.shape),
        field("topic", IDENTIFIER.shape),
        field("partitioning", PARTITIONING.shape),
        field("messages", messages),
    )


SENT_MESSAGE = Schema("sent message", "iggy.send.layout", SentMessage, _message(least=1))
"""16-byte `id`, headers led by their 4-byte length, 4-byte `length` (not 0), `payload`."""

SEND_MESSAGES = Schema(
    "send_messages",
    "iggy.send.layout",
    SendMessages,
    _request(Each(SENT_MESSAGE.shape, fewest=1)),
)
"""`stream`, `topic`, `partitioning`, messages without a count; the same in both generations."""
ANY_MESSAGES = Schema(
    "send_messages, any", "iggy.send.layout", SendMessages, _request(Each(_message(least=0)))
)
"""The same with empty payloads, or without messages: servers refuse both, but no text forbids a
client to send them."""
