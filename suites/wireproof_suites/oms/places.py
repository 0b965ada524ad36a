"""Cases repeated for a second group of consumers, and for messages that are delivered again."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from wireproof_kit.oms.adapter.messages import Delivery
from wireproof_kit.oms.adapter.system import MOST_AT_ONCE, Consumer, Destination, System
from wireproof_kit.repeated_cases import (
    Experiment,
    elsewhere,
    keep_values,
    list_must_cases,
    name_repeated,
)
from wireproof_kit.runner.patience import REDELIVERY

PARTITIONS = 3
STEP = 3
"""Of the values of a parameter, one in so many is repeated."""


class SystemOfManyGroups(System):
    """A system whose destinations have another group before that of the case."""

    def __init__(self, system: System, *, returns: bool) -> None:
        super().__init__(system.exchange, system.patience, system.clock, system.naming)
        self._returns = returns

    def new_destination(self, *, partitions: int | None = None) -> Destination:
        """Create a destination; where messages come again, one of several partitions."""
        if self._returns and self.claims("partitions"):
            partitions = max(partitions or 1, PARTITIONS)
        name = super().new_destination(partitions=partitions).name
        return DestinationOfManyGroups(self, name, self._returns)


@dataclass(frozen=True, slots=True)
class DestinationOfManyGroups(Destination):
    """A destination with another group, whose messages ``returns`` says to reject once."""

    returns: bool

    def new_consumer(self, group: str) -> Consumer:
        """Return a consumer of a group that is not the destination's first."""
        Destination.new_consumer(self, f"{group}_first")
        begun = Destination.new_consumer(self, group)
        return ReturningConsumer(self.system, self.name, group) if self.returns else begun


@dataclass(frozen=True, slots=True)
class ReturningConsumer(Consumer):
    """A consumer that rejects each message once and uses the delivery after that."""

    rejected: set[str] = field(default_factory=set[str])

    def receive(self, *, within: float, most: int = MOST_AT_ONCE) -> Sequence[Delivery]:
        """Return messages that were delivered again, or that cannot be rejected."""
        deadline = time.monotonic() + within
        while True:
            left = max(0.0, deadline - time.monotonic())
            given = Consumer.receive(self, within=left, most=most)
            kept = [each for each in given if not self._is_rejected(each)]
            if len(kept) < len(given):
                deadline = time.monotonic() + self.system.patience.seconds(REDELIVERY)
            if kept or time.monotonic() >= deadline:
                return kept

    def _is_rejected(self, delivery: Delivery) -> bool:
        if delivery.key in self.rejected:
            return False
        self.rejected.add(delivery.key)
        return self.reject(delivery)


def repeat_in_second_group(*modules: ModuleType) -> Mapping[str, Experiment]:
    """Return the must cases of modules for the second group of a destination, by name."""
    return dict(_repeat(modules, "second-group", returns=False))


def repeat_when_returned(
    *modules: ModuleType, without: Collection[Experiment] = ()
) -> Mapping[str, Experiment]:
    """Return the must cases of modules by name, for messages that come again to a second group.

    They are spread over several partitions, where the system has any.
    """
    again = _repeat(modules, "second-group+again", returns=True, without=without)
    return dict(again)


def _repeat(
    modules: Sequence[ModuleType],
    place: str,
    *,
    returns: bool,
    without: Collection[Experiment] = (),
) -> Iterator[tuple[str, Experiment]]:
    def adapt(given: Mapping[str, object]) -> Mapping[str, object]:
        system = given["system"]
        assert isinstance(system, System)
        return {**given, "system": SystemOfManyGroups(system, returns=returns)}

    for module in modules:
        for function in list_must_cases("oms", module):
            if function in without:
                continue
            repeated = elsewhere(
                function,
                place=place,
                needs=("nack",) if returns else (),
                arguments={},
                adapt=adapt,
            )
            keep_values(repeated, 0, STEP)
            yield name_repeated(function), repeated
