"""The five possible results of waiting for a response."""

from dataclasses import dataclass, field
from typing import ClassVar

from wireproof_kit.wire.answers import Closed, Nonsense, Silent

__all__ = ["Answer", "Closed", "Done", "ErrorStatus", "Nonsense", "Silent"]


@dataclass(frozen=True, slots=True)
class Done:
    """A successful response, with status 0, and its body."""

    kind: ClassVar[str] = "done"
    body: bytes
    step: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ErrorStatus:
    """A response with an error status; real servers send an empty ``body`` with it."""

    kind: ClassVar[str] = "refused"
    status: int
    body: bytes
    step: int | None = field(default=None, compare=False)


Answer = Done | ErrorStatus | Closed | Silent | Nonsense
