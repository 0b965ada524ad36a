"""The corners of OpenMessaging: the circumstances in which a fault may be wrong alone.

The core passes a message, its delivery or its group to most functions. What it does not pass is
found in the arguments of the calls around.
"""

from weakref import WeakKeyDictionary

from wireproof_reference_impl import corners
from wireproof_reference_impl.calls import Calls, keep_call
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


class Circumstances(Calls):
    """What is known about one call; each property is None where nothing is."""

    @property
    def partition(self) -> int | None:
        """Return the partition of the message, from 0."""
        message = self._first(Message)
        return None if message is None else message.partition

    @property
    def count(self) -> int | None:
        """Return how many times the message was given out, this time included."""
        delivery = self._first(Delivery)
        return None if delivery is None else delivery.count

    @property
    def rank(self) -> int | None:
        """Return how many groups the destination had before that of the consumer."""
        group = self._first(Group)
        return None if group is None else _RANKS.get(group)


Holds = corners.Holds[Circumstances]


def _note_rank(original: Original, destination: Destination, name: str) -> object:
    group = original(destination, name)
    if isinstance(group, Group):
        _RANKS.setdefault(group, destination.group_count - 1)
    return group


NOTES: tuple[Override, ...] = (
    around(Broker, "_give", keep_call),
    around(documents, "delivered_document", keep_call),
    around(Group, "take", keep_call),
    around(Destination, "group", _note_rank),
)
"""The overrides that keep notes of the calls in progress."""

CORNERS: dict[str, Holds] = {
    "partition=first": where(lambda now: now.partition, lambda number: number == 0),
    "partition=last": where(lambda now: now.partition, lambda number: number > 0),
    "delivery=first": where(lambda now: now.count, lambda count: count == 1),
    "delivery=again": where(lambda now: now.count, lambda count: count > 1),
    "group=first": where(lambda now: now.rank, lambda rank: rank == 0),
    "group=second": where(lambda now: now.rank, lambda rank: rank > 0),
}
"""When a corner is entered, by `dimension=value`; None where the circumstances do not tell."""

RESTRICTED = Corners(
    CORNERS, Circumstances, behaviour=Behaviour(), notes=NOTES, is_note=lambda override: False
)
