"""What a client asks a server for, and what can come of it, whatever the transport."""

from typing import TypeAlias

from msgspec import Struct

from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.iggy.message import Message


class Poll(Struct, frozen=True):
    """A call of the Iggy client: poll messages by a strategy and its value, at most `count`."""

    strategy: int = OFFSET
    value: int = 0
    count: int = 10
    auto_commit: bool = False


class Send(Struct, frozen=True):
    """A call of the Iggy client: send messages to its topic."""

    messages: tuple[SentMessage, ...]
    partitioning: Partitioning


class StoreOffset(Struct, frozen=True):
    """A call of the Iggy client: store the offset up to which messages are processed."""

    offset: int


class Login(Struct, frozen=True):
    """A call of the Iggy client: log in with user name and password."""


class CreateStream(Struct, frozen=True):
    """A call of the Iggy client: create a stream; only for servers of generation apache."""

    name: str


class Created(Struct, frozen=True):
    """The answer to a request that creates a stream: the stream's number and name."""

    id: int
    name: str


Call: TypeAlias = Poll | Send | StoreOffset | Login | CreateStream
Answer: TypeAlias = tuple[Message, ...] | Created
"""The messages of a poll, or the stream that was created; nothing for any other call."""


def messages_of(answer: Answer) -> tuple[Message, ...]:
    """Return the messages in an answer."""
    return answer if isinstance(answer, tuple) else ()


class CallFailed(Exception):
    """Raised if a call to the server failed; ``str()`` says why, for the user."""


class Refused(CallFailed):
    """Raised if the server answered with an error; ``code`` is its number or its HTTP status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Unreadable(CallFailed):
    """Raised if an answer does not have its layout; the connection can still be used."""


class Lost(CallFailed):
    """Raised if the connection ended or is unreadable; the call may have been done or not."""


class Evicted(CallFailed):
    """Raised if the server ended the session, for reason ``code``; the next call logs in anew."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Damaged(CallFailed):
    """Raised if a message does not match its checksum, however often it is polled."""
