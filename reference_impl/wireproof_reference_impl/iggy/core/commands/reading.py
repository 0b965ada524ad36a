"""Fields that several commands share."""

from wireproof_reference_impl.iggy.wire.checks import empty_payload
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.header import read_headers
from wireproof_reference_impl.iggy.wire.identifier import read_identifier
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_reference_impl.iggy.wire.requests import Partitioning, TopicPath
from wireproof_reference_impl.iggy.wire.status import invalid_command
from wireproof_spec.iggy.kinds import (
    BALANCED,
    CONSUMER_KIND,
    GROUP_KIND,
    MESSAGES_KEY,
    NEXT,
    OFFSET,
)


def place(fields: Fields) -> TopicPath:
    """Read the identifiers of a stream and a topic from a payload."""
    return TopicPath(read_identifier(fields), read_identifier(fields))


def consumer_kind(fields: Fields) -> int:
    """Read the kind of a consumer, one byte, from a payload.

    Raises:
        Refusal: the kind is unknown.
    """
    kind = fields.u8()
    if kind not in (CONSUMER_KIND, GROUP_KIND):
        raise invalid_command()
    return kind


def read_partitioning(fields: Fields) -> Partitioning:
    """Read a partitioning from a payload: kind u8, length u8 and value.

    Raises:
        Refusal: an unknown kind.
    """
    kind = fields.u8()
    if not BALANCED <= kind <= MESSAGES_KEY:
        raise invalid_command()
    return Partitioning(kind, fields.take(fields.u8()))


def strategy(fields: Fields) -> int:
    """Read the kind of a polling strategy, one byte, from a payload.

    Raises:
        Refusal: the kind is unknown.
    """
    kind = fields.u8()
    if not OFFSET <= kind <= NEXT:
        raise invalid_command()
    return kind


def messages(fields: Fields) -> list[Sent]:
    """Read messages from a payload until nothing is left.

    Raises:
        Refusal: a message is incomplete, has a bad header, or no payload.
    """
    found: list[Sent] = []
    while fields.left:
        found.append(message(fields))
    return found


def message(fields: Fields) -> Sent:
    """Read a message: id u128, headers length u32, headers, payload length u32, payload.

    Raises:
        Refusal: the message is incomplete, has a bad header, or no payload.
    """
    number = fields.u128()
    block = fields.take(fields.u32())
    headers = read_headers(block) if block else None
    length = fields.u32()
    if not length:
        raise empty_payload()
    return Sent(number, headers, fields.take(length))


def text(data: bytes) -> str:
    """Return a name as text.

    Raises:
        Refusal: the name is no UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise invalid_command() from None
