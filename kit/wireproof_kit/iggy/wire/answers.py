"""The five possible results of waiting for a response."""

from dataclasses import dataclass
from typing import ClassVar

from wireproof_kit.wire.answers import Closed, Nonsense, Silent

__all__ = ["Answer", "Closed", "Done", "ErrorStatus", "Nonsense", "Silent"]


@dataclass(frozen=True, slots=True)
class Done:
    """A response with status 0, and its body."""

    kind: ClassVar[str] = "done"
    body: bytes


@dataclass(frozen=True, slots=True)
class ErrorStatus:
    """A response with another status; ``body`` is empty from real servers."""

    kind: ClassVar[str] = "refused"
    status: int
    body: bytes


Answer = Done | ErrorStatus | Closed | Silent | Nonsense
