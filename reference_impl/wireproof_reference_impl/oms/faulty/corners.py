"""The corners of OpenMessaging: the circumstances in which a fault may be wrong alone.

The core passes a message, its delivery or its group to most functions. What it does not pass
stands in the context.
"""

from typing import ClassVar
from weakref import WeakKeyDictionary

from wireproof_reference_impl import corners
from wireproof_reference_impl.context import Context
from wireproof_reference_impl.corners import Corners, where
from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import documents
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.destination import Destination
from wireproof_reference_impl.oms.core.group import Delivery, Group
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.overrides import Original, Override, around

_RANKS = WeakKeyDictionary[Group, int]()
"""How many groups of its destination were there before each group."""


class Circumstances(Context):
    """What the broker is busy with; each property is None where nothing is known."""

    kinds: ClassVar = {Message: "message", Delivery: "delivery", Group: "group"}
    message: Message | None = None
    delivery: Delivery | None = None
    group: Group | None = None

    @property
    def partition(self) -> int | None:
        """Return the partition of the message, from 0."""
        return None if self.message is None else self.message.partition

    @property
    def is_prepared(self) -> bool | None:
        """Return whether the message was prepared, and not sent."""
        return None if self.message is None else self.message.transaction_id is not None

    @property
    def properties(self) -> int | None:
        """Return how many user properties the message has."""
        return None if self.message is None else len(self.message.sent.properties)

    @property
    def count(self) -> int | None:
        """Return how many times the message was given out, this time included."""
        return None if self.delivery is None else self.delivery.count

    @property
    def rank(self) -> int | None:
        """Return how many groups the destination had before that of the consumer."""
        return None if self.group is None else _RANKS.get(self.group)


Holds = corners.Holds[Circumstances]


def _note_rank(original: Original, destination: Destination, name: str) -> object:
    group = original(destination, name)
    if isinstance(group, Group):
        _RANKS.setdefault(group, destination.group_count - 1)
    return group


CONTEXT = Circumstances()
NOTES: tuple[Override, ...] = (
    CONTEXT.entering(Broker, "_give"),
    CONTEXT.entering(documents, "delivered_document"),
    CONTEXT.entering(Group, "take"),
    around(Destination, "group", _note_rank),
)
"""The overrides that keep the context."""

CORNERS: dict[str, Holds] = {
    "partition=first": where(lambda now: now.partition, lambda number: number == 0),
    "partition=last": where(lambda now: now.partition, lambda number: number > 0),
    "verb=sent": where(lambda now: now.is_prepared, lambda is_prepared: not is_prepared),
    "verb=prepared": where(lambda now: now.is_prepared, bool),
    "properties=none": where(lambda now: now.properties, lambda count: count == 0),
    "properties=some": where(lambda now: now.properties, lambda count: count > 0),
    "delivery=first": where(lambda now: now.count, lambda count: count == 1),
    "delivery=again": where(lambda now: now.count, lambda count: count > 1),
    "group=first": where(lambda now: now.rank, lambda rank: rank == 0),
    "group=second": where(lambda now: now.rank, lambda rank: rank > 0),
}
"""When a corner is entered, by `dimension=value`; None where the circumstances do not tell."""

RESTRICTED = Corners(
    CORNERS, CONTEXT, behaviour=Behaviour(), notes=NOTES, is_note=lambda override: False
)
