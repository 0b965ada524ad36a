"""The conversations that are held open beside the traffic of a campaign."""

from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.send import pump
from wireproof_kit.fuzz.send.conversation import Conversation

MOST_HELD: Final = 16
"""The most cases whose connections are held open at once."""


@dataclass(slots=True)
class HeldOpen:
    """The running cases that stay open while others are sent, each with its generated case."""

    _open: list[tuple[Conversation, Case]] = field(default_factory=list[tuple[Conversation, Case]])

    @property
    def is_full(self) -> bool:
        """Return True if no further case may be held open."""
        return len(self._open) >= MOST_HELD

    @property
    def cases(self) -> list[Case]:
        """The cases whose connections are held open."""
        return [case for _, case in self._open]

    def add(self, conversation: Conversation, case: Case) -> None:
        """Hold a running case open; `case` is the generated one."""
        self._open.append((conversation, case))

    def take_ended(self) -> list[Conversation]:
        """Remove and return the running cases that are over by now."""
        pump.glance([conversation for conversation, _ in self._open])
        ended = [each for each in self._open if each[0].over]
        self._open = [each for each in self._open if not each[0].over]
        return [conversation for conversation, _ in ended]

    def close(self) -> None:
        """Close the connections of all cases that are held open."""
        for conversation, _ in self._open:
            conversation.close()
        self._open.clear()
