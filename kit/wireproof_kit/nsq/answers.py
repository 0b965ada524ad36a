"""The six things that can come of waiting on a connection."""

from dataclasses import dataclass
from typing import ClassVar

from wireproof_spec.nsq.frame import error_code
from wireproof_spec.wire_error import WireError


@dataclass(frozen=True, slots=True)
class Response:
    """A response frame (type 0) that is no heartbeat."""

    kind: ClassVar[str] = "response"
    data: bytes


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error frame (type 1): its first word, and its whole data."""

    kind: ClassVar[str] = "refusal"
    code: str
    data: bytes

    @property
    def text(self) -> str:
        """Return the description behind the code."""
        return self.data.decode("utf-8", "replace")[len(self.code) :].strip()


@dataclass(frozen=True, slots=True)
class Pushed:
    """A message frame (type 2)."""

    kind: ClassVar[str] = "pushed"
    data: bytes


@dataclass(frozen=True, slots=True)
class Closed:
    """The target ended the connection: ``how`` is ``end`` or ``reset``."""

    kind: ClassVar[str] = "closed"
    how: str


@dataclass(frozen=True, slots=True)
class Silent:
    """Nothing whole came within patience; ``partial`` counts bytes of an unfinished frame."""

    kind: ClassVar[str] = "silent"
    seconds: float
    partial: int = 0


@dataclass(frozen=True, slots=True)
class Nonsense:
    """What came is not a frame; the connection cannot be read any further."""

    kind: ClassVar[str] = "nonsense"
    fault: WireError


Answer = Response | Refusal | Pushed | Closed | Silent | Nonsense


def refusal(data: bytes) -> Refusal:
    """Read an error frame's data."""
    return Refusal(code=error_code(data), data=data)
