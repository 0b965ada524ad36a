"""What a request must be, before anything is looked up."""

import re
from collections.abc import Iterable

from wireproof_reference_impl.iggy.core import status
from wireproof_reference_impl.iggy.core.message import Sent
from wireproof_reference_impl.iggy.core.requests import BALANCED, SendMessages
from wireproof_reference_impl.iggy.core.status import Refusal

MOST_NAME_BYTES = 255
MOST_PARTITIONS = 100_000
MOST_PAYLOAD_BYTES = 10 * 1024 * 1024
"""All payloads of a request together."""
MOST_HEADER_BYTES = 100 * 1024
"""All header values of a request together; keys do not count."""

_NAME = re.compile(r"[\w.\-\s]+")


def check_stream(number: int, name: str) -> None:
    """Make sure that a stream can be called so.

    Raises:
        Refusal: id 0, or a bad name.
    """
    if not number:
        raise Refusal(status.INVALID_STREAM_ID, "Invalid stream ID")
    if not _is_name(name):
        raise Refusal(status.INVALID_STREAM_NAME, "Invalid stream name")


def check_topic(number: int, name: str, partitions: int) -> None:
    """Make sure that a topic can be called so and have so many partitions.

    Raises:
        Refusal: id 0, a bad name, or too many partitions.
    """
    if not number:
        raise Refusal(status.INVALID_TOPIC_ID, "Invalid topic ID")
    if not _is_name(name):
        raise Refusal(status.INVALID_TOPIC_NAME, "Invalid topic name")
    if partitions > MOST_PARTITIONS:
        raise Refusal(status.TOO_MANY_PARTITIONS, "Too many partitions")


def check_partitions(count: int) -> None:
    """Make sure that so many partitions can come or go.

    Raises:
        Refusal: none, or too many.
    """
    if not 1 <= count <= MOST_PARTITIONS:
        raise Refusal(status.TOO_MANY_PARTITIONS, "Too many partitions")


def check_group(number: int) -> None:
    """Make sure that a consumer group can be called so.

    Raises:
        Refusal: id 0.
    """
    if not number:
        raise Refusal(status.INVALID_CONSUMER_GROUP_ID, "Invalid consumer group ID")


def check_client(number: int) -> None:
    """Make sure that a client can be called so.

    Raises:
        Refusal: id 0.
    """
    if not number:
        raise Refusal(status.INVALID_CLIENT_ID, "Invalid client ID")


def check_sent(request: SendMessages) -> None:
    """Make sure that messages can be taken, all or none.

    Raises:
        Refusal: no message, a bad key, too many bytes of header values or of payloads, or no
            byte of payload at all.
    """
    if not request.messages:
        raise Refusal(status.INVALID_MESSAGES_COUNT, "Invalid messages count")
    kind, value = request.partitioning
    if len(value) > 255 or (kind != BALANCED and not value):
        raise Refusal(status.INVALID_KEY_VALUE_LENGTH, "Invalid key value length")
    if _header_bytes(request.messages) > MOST_HEADER_BYTES:
        raise Refusal(status.TOO_BIG_HEADERS_PAYLOAD, "Too big headers payload")
    size = sum(len(each.payload) for each in request.messages)
    if size > MOST_PAYLOAD_BYTES:
        raise Refusal(status.TOO_BIG_MESSAGE_PAYLOAD, "Too big message payload")
    if not size:
        raise empty_payload()


def empty_payload() -> Refusal:
    """Return the refusal of a message without payload."""
    return Refusal(status.EMPTY_MESSAGE_PAYLOAD, "Empty message payload")


def stored_name(name: str) -> str:
    """Return a name as it is kept: lower case, blanks turned into dots."""
    return ".".join(name.lower().split())


def _header_bytes(messages: Iterable[Sent]) -> int:
    return sum(
        len(header.value)
        for message in messages
        if message.headers
        for header in message.headers.values()
    )


def _is_name(name: str) -> bool:
    return len(name.encode()) <= MOST_NAME_BYTES and _NAME.fullmatch(name) is not None
