"""What happens on the destinations of a system, in the order of the transcript."""

from dataclasses import dataclass

from wireproof_kit.ledger.entries import Place
from wireproof_kit.oms.adapter.messages import Attributes


@dataclass(frozen=True, slots=True)
class GroupEvent:
    """An event of a consumer group; ``order`` counts the steps of all cases."""

    destination: str
    group: str
    at: Place
    order: int


@dataclass(frozen=True, slots=True)
class Begun(GroupEvent):
    """The group received for the first time, whether or not there was a message."""


@dataclass(frozen=True, slots=True)
class Delivered(GroupEvent):
    """The system delivered a message to a receive that was requested at ``asked_us``."""

    asked_us: int
    receipt: str
    document: Attributes
    partition: int | None


@dataclass(frozen=True, slots=True)
class Settled(GroupEvent):
    """The system was told that a delivery was consumed, and succeeded."""

    delivered: Delivered


@dataclass(frozen=True, slots=True)
class Rejected(GroupEvent):
    """The system was told that the consumption of a delivery failed, and succeeded."""

    delivered: Delivered


@dataclass(frozen=True, slots=True)
class Unanswered(GroupEvent):
    """A receive has no answer: messages may have been delivered that nobody saw."""
