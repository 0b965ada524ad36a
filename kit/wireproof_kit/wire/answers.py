"""What can come of waiting for an answer, in any protocol, where no answer comes."""

from dataclasses import dataclass
from typing import ClassVar

from wireproof_spec.wire_error import WireError


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
