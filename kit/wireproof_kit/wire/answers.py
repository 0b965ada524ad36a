"""The results, in any protocol, of waiting for an answer that does not arrive.

The ``step`` of every answer is the index of the transcript's step that recorded it.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from wireproof_spec.wire_error import WireError


@dataclass(frozen=True, slots=True)
class Closed:
    """The target closed the connection: ``how`` is ``end`` or ``reset``."""

    kind: ClassVar[str] = "closed"
    how: str
    step: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing complete arrived within patience; ``partial`` counts unfinished bytes."""

    kind: ClassVar[str] = "silent"
    seconds: float
    partial: int = 0
    step: int | None = field(default=None, compare=False)

    def describe(self, request: str) -> str:
        """Return what the target did with a request: nothing, or a frame that it did not end."""
        if self.partial:
            return f"answers {request} with {self.partial:,} bytes that do not complete a frame"
        return f"leaves {request} without an answer"


@dataclass(frozen=True, slots=True)
class Nonsense:
    """The received bytes are not a valid answer; the connection is unusable."""

    kind: ClassVar[str] = "nonsense"
    fault: WireError
    step: int | None = field(default=None, compare=False)
