"""The possible results of waiting for an answer of an Apache Iggy server."""

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from wireproof_kit.wire.answers import Closed, Nonsense, Silent
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache.bodies.results import RESULT, Result
from wireproof_spec.iggy.apache.frames import Eviction, Reply
from wireproof_spec.iggy.apache.header import EvictionHeader, ReplyHeader
from wireproof_spec.iggy.apache.statuses import OK
from wireproof_spec.wire_error import WireError

__all__ = ["Answer", "Closed", "Evicted", "Nonsense", "Replied", "Silent", "Unanswered"]


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply, whatever its status; ``raw`` are its bytes."""

    kind: ClassVar[str] = "replied"
    reply: Reply
    raw: bytes
    step: int | None = field(default=None, compare=False)

    @property
    def header(self) -> ReplyHeader:
        """Return the header of the reply."""
        return self.reply.header

    @property
    def body(self) -> bytes:
        """Return what stands behind the header."""
        return self.reply.body

    @property
    def is_accepted(self) -> bool:
        """Return True if the status is 0."""
        return self.header.status == OK


@dataclass(frozen=True, slots=True)
class Evicted:
    """An eviction; ``raw`` are its bytes."""

    kind: ClassVar[str] = "evicted"
    eviction: Eviction
    raw: bytes
    step: int | None = field(default=None, compare=False)

    @property
    def header(self) -> EvictionHeader:
        """Return the header of the eviction."""
        return self.eviction.header


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request that was left without an answer: a later one on its connection was answered."""

    kind: ClassVar[str] = "unanswered"
    step: int | None = field(default=None, compare=False)


Answer: TypeAlias = Replied | Evicted | Unanswered | Closed | Silent | Nonsense


def read_result(answer: Answer) -> Result | None:
    """Return the result section of an accepted reply with the payload behind; None without one."""
    if not isinstance(answer, Replied) or not answer.is_accepted:
        return None
    try:
        return decode(RESULT, answer.body)
    except WireError:
        return None


def read_payload(answer: Answer) -> bytes | None:
    """Return what stands behind the result section of a reply that says "done"; else None."""
    result = read_result(answer)
    return None if result is None or result.rejections else result.payload
