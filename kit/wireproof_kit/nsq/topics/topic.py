"""The topic that a case uses."""

import itertools
from dataclasses import dataclass, field, replace

Address = tuple[str, int]

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class LedPartition:
    """A partition, and the addresses of the node that leads it."""

    partition: int
    address: Address
    http_address: Address | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """One partition of a topic, and the addresses of the node that leads it.

    ``shared`` topics contain other cases' messages too. ``way`` says how the topic was created:
    given, lookupd, tcp or http. ``places`` are all partitions, as far as they are known.
    """

    name: str
    partition: int
    extend: bool
    ordered: bool
    shared: bool
    address: Address
    http_address: Address | None = None
    way: str = "given"
    channel_prefix: str = field(default="wp_channel", repr=False)
    places: tuple[LedPartition, ...] = ()

    @property
    def kind(self) -> str:
        """Return the kind of topic in the words of clauses, such as ``ext`` or ``plain``."""
        return ("ordered-" if self.ordered else "") + ("ext" if self.extend else "plain")

    def at(self, partition: int) -> "Topic":
        """Return the topic with another of its partitions and the address of that one's leader.

        Raises:
            KeyError: the topic has no such partition.
        """
        place = {each.partition: each for each in self.places}[partition]
        return replace(
            self,
            partition=partition,
            address=place.address,
            http_address=place.http_address,
        )

    def at_rank(self, rank: int) -> "Topic":
        """Return the same topic at its partition of a rank from 0, or at its last partition."""
        numbers = sorted(place.partition for place in self.places)
        return self.at(numbers[min(rank, len(numbers) - 1)])

    def channel(self) -> str:
        """Return a channel name of this topic that no case has used."""
        return f"{self.channel_prefix}_{next(_numbers)}"
