"""The six possible results of waiting on a connection."""

from dataclasses import dataclass, field
from typing import ClassVar

from wireproof_kit.wire.answers import Closed, Nonsense, Silent
from wireproof_spec.nsq.frame import error_code

__all__ = ["Answer", "Closed", "ErrorFrame", "Nonsense", "Pushed", "Response", "Silent", "refusal"]


@dataclass(frozen=True, slots=True)
class Response:
    """A response frame (type 0) other than a heartbeat."""

    kind: ClassVar[str] = "response"
    data: bytes
    step: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ErrorFrame:
    """An error frame (type 1): its error code and all its data."""

    kind: ClassVar[str] = "refusal"
    code: str
    data: bytes
    step: int | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """Return the description that follows the error code in the frame."""
        return self.data.decode("utf-8", "replace")[len(self.code) :].strip()


@dataclass(frozen=True, slots=True)
class Pushed:
    """A message frame (type 2)."""

    kind: ClassVar[str] = "pushed"
    data: bytes
    step: int | None = field(default=None, compare=False)


Answer = Response | ErrorFrame | Pushed | Closed | Silent | Nonsense


def refusal(data: bytes, step: int | None = None) -> ErrorFrame:
    """Decode the data of an error frame into its code and text."""
    return ErrorFrame(code=error_code(data), data=data, step=step)
