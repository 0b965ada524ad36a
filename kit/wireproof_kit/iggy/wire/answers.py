"""The five things that can come of waiting for the answer to a request."""

from dataclasses import dataclass
from typing import ClassVar

from wireproof_kit.wire.answers import Closed, Nonsense, Silent

__all__ = ["Answer", "Closed", "Done", "Nonsense", "Refused", "Silent"]


@dataclass(frozen=True, slots=True)
class Done:
    """Status 0, and a body."""

    kind: ClassVar[str] = "done"
    body: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """Another status; ``body`` is empty from real servers."""

    kind: ClassVar[str] = "refused"
    status: int
    body: bytes


Answer = Done | Refused | Closed | Silent | Nonsense
