"""Checks of requests that need no look-up: names, ids, counts and sizes."""

from collections.abc import Iterable

from msgspec import Struct

from wireproof_reference_impl.iggy.wire import status
from wireproof_reference_impl.iggy.wire.message import Sent
from wireproof_reference_impl.iggy.wire.requests import SendMessages
from wireproof_reference_impl.iggy.wire.status import Refusal
from wireproof_spec.iggy.kinds import BALANCED
from wireproof_spec.iggy.limits import (
    MAX_HEADER_VALUES_SIZE,
    MAX_MESSAGES_KEY_SIZE,
    MAX_PARTITIONS,
    MAX_PAYLOADS_SIZE,
)
from wireproof_spec.iggy.names import is_valid_name


def check_stream(number: int, name: str) -> None:
    """Check the id and the name of a new stream.

    Raises:
        Refusal: id 0, or a bad name.
    """
    if not number:
        raise Refusal(status.INVALID_STREAM_ID, "Invalid stream ID")
    if not is_valid_name(name):
        raise Refusal(status.INVALID_STREAM_NAME, "Invalid stream name")


def check_topic(number: int, name: str, partitions: int) -> None:
    """Check the id, the name and the number of partitions of a new topic.

    Raises:
        Refusal: id 0, a bad name, or too many partitions.
    """
    if not number:
        raise Refusal(status.INVALID_TOPIC_ID, "Invalid topic ID")
    if not is_valid_name(name):
        raise Refusal(status.INVALID_TOPIC_NAME, "Invalid topic name")
    if partitions > MAX_PARTITIONS:
        raise Refusal(status.TOO_MANY_PARTITIONS, "Too many partitions")


def check_partitions(count: int) -> None:
    """Check how many partitions a request adds or deletes.

    Raises:
        Refusal: the number is 0 or too large.
    """
    if not 1 <= count <= MAX_PARTITIONS:
        raise Refusal(status.TOO_MANY_PARTITIONS, "Too many partitions")


def check_group(number: int) -> None:
    """Check the id of a consumer group.

    Raises:
        Refusal: id 0.
    """
    if not number:
        raise Refusal(status.INVALID_CONSUMER_GROUP_ID, "Invalid consumer group ID")


def check_client(number: int) -> None:
    """Check the id of a client.

    Raises:
        Refusal: id 0.
    """
    if not number:
        raise Refusal(status.INVALID_CLIENT_ID, "Invalid client ID")


class SendLimits(Struct, frozen=True):
    """The greatest total sizes in one request, in bytes: of payloads, and of header values."""

    payloads: int = MAX_PAYLOADS_SIZE
    header_values: int = MAX_HEADER_VALUES_SIZE


LIMITS = SendLimits()


def check_sent(request: SendMessages, limits: SendLimits = LIMITS) -> None:
    """Check a request that sends messages: all messages are accepted, or none.

    Raises:
        Refusal: no message, a bad key, too many bytes of header values or of payloads, or no
            byte of payload at all.
    """
    if not request.messages:
        raise Refusal(status.INVALID_MESSAGES_COUNT, "Invalid messages count")
    kind, value = request.partitioning
    if len(value) > MAX_MESSAGES_KEY_SIZE or (kind != BALANCED and not value):
        raise Refusal(status.INVALID_KEY_VALUE_LENGTH, "Invalid key value length")
    if _header_bytes(request.messages) > limits.header_values:
        raise Refusal(status.TOO_BIG_HEADERS_PAYLOAD, "Too big headers payload")
    size = sum(len(message.payload) for message in request.messages)
    if size > limits.payloads:
        raise Refusal(status.TOO_BIG_MESSAGE_PAYLOAD, "Too big message payload")
    if not size:
        raise empty_payload()


def empty_payload() -> Refusal:
    """Return the refusal of a message without payload."""
    return Refusal(status.EMPTY_MESSAGE_PAYLOAD, "Empty message payload")


def _header_bytes(messages: Iterable[Sent]) -> int:
    return sum(
        len(header.value)
        for message in messages
        if message.headers
        for header in message.headers.values()
    )
