"""The five things that can come of waiting for the answer to a request."""

from dataclasses import dataclass
from typing import ClassVar

from wireproof_spec.wire_error import WireError


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


@dataclass(frozen=True, slots=True)
class Closed:
    """The target ended the connection: ``how`` is ``end`` or ``reset``."""

    kind: ClassVar[str] = "closed"
    how: str


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing whole came within patience; ``partial`` counts bytes of an unfinished answer."""

    kind: ClassVar[str] = "silent"
    seconds: float
    partial: int = 0


@dataclass(frozen=True, slots=True)
class Nonsense:
    """What came is no answer; the connection cannot be read any further."""

    kind: ClassVar[str] = "nonsense"
    fault: WireError


Answer = Done | Refused | Closed | Silent | Nonsense
