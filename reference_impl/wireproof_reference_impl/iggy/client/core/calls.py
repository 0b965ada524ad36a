"""What a client asks a server for, and what can come of it, whatever the transport."""

from typing import TypeAlias

from msgspec import Struct

from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.kinds import OFFSET
from wireproof_spec.iggy.message import Message


class Poll(Struct, frozen=True):
    """Ask for messages."""

    strategy: int = OFFSET
    value: int = 0
    count: int = 10
    auto_commit: bool = False


class Send(Struct, frozen=True):
    """Send messages."""

    messages: tuple[SentMessage, ...]
    partitioning: Partitioning


class StoreOffset(Struct, frozen=True):
    """Store the offset up to which messages are processed."""

    offset: int


class Login(Struct, frozen=True):
    """Say who is there."""


Call: TypeAlias = Poll | Send | StoreOffset | Login
Answer: TypeAlias = tuple[Message, ...]
"""The messages of a poll; nothing for any other call."""


class CallFailed(Exception):
    """A call failed; ``str()`` says why, for the user."""


class Refused(CallFailed):
    """The server answered with an error; ``code`` is its number or its HTTP status."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Unreadable(CallFailed):
    """The answer is not of its shape; the connection goes on."""


class Lost(CallFailed):
    """The connection ended, or what comes on it cannot be read; nobody knows what was done."""


class Damaged(CallFailed):
    """A message does not match its checksum, however often it is polled."""
