"""What a user asks of the client, as generators: they yield calls, and are sent the answers."""

from collections.abc import Generator
from typing import TypeAlias, TypeVar, cast

from wireproof_reference_impl.iggy.client.core.apache.messages import Received
from wireproof_reference_impl.iggy.client.core.calls import (
    Answer,
    Call,
    Created,
    CreateStream,
    Damaged,
    Lost,
    Poll,
    Send,
    StoreOffset,
    messages_of,
)
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.iggy.message import Message

T = TypeVar("T")
Operation: TypeAlias = Generator[Call, Answer, T]

MOST_ATTEMPTS = 3
"""How often a message is polled that does not match its checksum, and a lost poll is repeated."""


def poll(wanted: Poll) -> Operation[tuple[Message, ...]]:
    """Poll messages and return them; each matches its checksum.

    Raises:
        CallFailed: the server refuses, the answer cannot be read, or a message stays damaged.
    """
    messages = yield from poll_again(wanted)
    received: list[Message] = []
    for message in messages:
        received.append((yield from verify(message)))  # noqa: PERF401 - no comprehension yields
    return tuple(received)


def verify(message: Message) -> Operation[Message]:
    """Return a message that matches its checksum: if it does not, poll it again.

    Raises:
        Damaged: it does not match after the last attempt.
    """
    attempts = 1
    while not matches(message):
        if not may_ask_again(attempts):
            raise Damaged(f"message {message.offset} does not match its checksum")
        attempts += 1
        for other in (yield from poll_again(repeated_poll(message))):
            if other.offset == message.offset:
                message = other
    return message


def matches(message: Message) -> bool:
    """Return True if the checksum of a message is that of its payload.

    In generation apache it is one of all that the message has, and its batch has one too.
    """
    if isinstance(message, Received):
        return message.is_sound
    return message.checksum == payload_checksum(message.payload)


def may_ask_again(attempts: int) -> bool:
    """Return True if a message that was polled so many times may be polled once more."""
    return attempts < MOST_ATTEMPTS


def repeated_poll(message: Message) -> Poll:
    """Return the call that polls one message again, and no other."""
    return Poll(OFFSET, message.offset, 1)


def poll_again(wanted: Poll) -> Operation[tuple[Message, ...]]:
    """Poll, and once more if the connection is lost and the poll commits no offset."""
    try:
        return messages_of((yield wanted))
    except Lost:
        if not may_repeat(wanted):
            raise
        return messages_of((yield wanted))


def may_repeat(wanted: Poll) -> bool:
    """Return True if a poll may be repeated without knowing whether the first was answered."""
    return not wanted.auto_commit


def send(wanted: Send) -> Operation[None]:
    """Send messages, only once: a server that has lost the connection may have stored them.

    Raises:
        CallFailed: the server refuses, or did not answer.
    """
    yield wanted


def create_stream(name: str) -> Operation[Created]:
    """Create a stream and return it.

    Raises:
        CallFailed: the server refuses, or did not answer.
    """
    return cast(Created, (yield CreateStream(name)))


def store_offset(offset: int) -> Operation[None]:
    """Store the offset of a processed message on the server.

    Raises:
        CallFailed: the server refuses, or did not answer.
    """
    yield StoreOffset(offset)
