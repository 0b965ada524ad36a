"""The pauses of a client before it comes again: a back-off makes each longer than the one before.

A client may double its pause for each connection that it lost, up to minutes. Patience is measured
with its first pauses, so a later one may exceed it.
"""

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

KEPT: Final = 3
"""How many pauses must have grown; the machine alone makes two of them longer too often."""
GROWTH: Final = 1.1


@dataclass(slots=True)
class Pauses:
    """The latest pauses, in seconds, and since when the present one lasts."""

    _latest: deque[float] = field(default_factory=lambda: deque[float](maxlen=KEPT))
    _since: float | None = None

    def begin(self, at: float) -> None:
        """Begin a pause unless one lasts already."""
        self._since = at if self._since is None else self._since

    def end(self, at: float) -> None:
        """End the pause that lasts, if any: the client has come again."""
        if self._since is not None:
            self._latest.append(at - self._since)
        self._since = None

    @property
    def are_growing(self) -> bool:
        """Whether a pause lasts, and each one before it was longer than its predecessor."""
        pauses = list(self._latest)
        grew = all(later > earlier * GROWTH for earlier, later in pairwise(pauses))
        return self._since is not None and len(pauses) == KEPT and grew
