"""Partitions: which one a message is delivered from, and which do not exist."""

from collections.abc import Mapping

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Attributes, Sent
from wireproof_kit.oms.adapter.system import Consumer, Destination, System
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import missing

NEEDS = ("partition", "partitions")
COUNT = 4
ODD_COUNT = 5
LOWEST = (2, 1, 4, 3)
"""Partitions that are there, whether they are numbered from 0 or from 1.

A system that takes partitions by turns does not meet them in this order.
"""
UNTOLD = "untold"
KEYS, OF_EACH = 5, 10
EDGES: Mapping[str, Attributes] = {"plain": {}, "with-key": {names.MESSAGE_KEY: "wp-key"}}


@case(
    "oms/partition/delivered-from",
    clause="oms.partition.delivered-from",
    needs=NEEDS,
    waiting=True,
)
@pytest.mark.parametrize("beside", EDGES.values(), ids=EDGES)
def test_delivered_from(system: System, beside: Attributes) -> Observation:
    """A message is delivered from the partition that its sender chose, whichever it is."""
    destination, consumer = system.warm_destination(partitions=COUNT)
    sent = {
        number: destination.send({names.PARTITION: number, **beside}) for number in range(COUNT)
    }
    if not sent[0].is_accepted:  # they are numbered from 1
        del sent[0]
        sent[COUNT] = destination.send({names.PARTITION: COUNT, **beside})
    refused = [number for number, each in sent.items() if not each.is_accepted]
    if refused:
        return observed("refused", note=f"partition {refused[0]} of {COUNT}")
    found = consumer.take(list(sent.values()))
    if any(each.key not in found for each in sent.values()):
        return missing()
    places = {number: found[each.key].place for number, each in sent.items()}
    if None in places.values():
        return observed(UNTOLD)
    wrong = {number: place for number, place in places.items() if number != place}
    if wrong.keys() == {0} and _has_last(destination, consumer, beside):
        return observed("chosen")
    note = "; ".join(f"{number} from {place}" for number, place in wrong.items())
    return observed("other" if wrong else "chosen", note=note)


def _has_last(destination: Destination, consumer: Consumer, beside: Attributes) -> bool:
    """Return True if partitions are numbered from 1: then 0 is unknown, and may be replaced."""
    last = destination.send({names.PARTITION: COUNT, **beside})
    found = consumer.take([last]) if last.is_accepted else {}
    return last.key in found and found[last.key].place == COUNT


@case("oms/partition/numbering", clause="oms.partition.numbering", needs=NEEDS, waiting=True)
def test_numbering(system: System) -> Observation:
    """Partitions are numbered from 0 or from 1."""
    destination = system.new_destination(partitions=COUNT)
    accepted = [
        number
        for number in range(COUNT + 1)
        if destination.send({names.PARTITION: number}).is_accepted
    ]
    shown = {tuple(range(COUNT)): "from-0", tuple(range(1, COUNT + 1)): "from-1"}
    return observed(shown.get(tuple(accepted), "other"), note=f"accepted: {accepted}")


UNKNOWN = {"minus-one": -1, "next": COUNT + 1, "far": COUNT + 95}


@case("oms/partition/unknown", clause="oms.partition.unknown", needs=NEEDS, waiting=True)
@pytest.mark.parametrize("number", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown(system: System, number: int) -> Observation:
    """A message for a partition that does not exist is refused, not stored in another."""
    return _observe_unknown(system, number)


@case("oms/partition/no-wrap", clause="oms.partition.no-wrap", needs=NEEDS, waiting=True)
@pytest.mark.parametrize("number", [2**8 + 1, 2**15 + 2, 40_000, 2**16 + 1, 70_000, 2**31 - 1])
def test_no_wrap(system: System, number: int) -> Observation:
    """A message for a large partition number is refused or goes there, not to another one."""
    return _observe_unknown(system, number)


@case("oms/partition/no-wrap/placed", clause="oms.partition.no-wrap", needs=NEEDS, waiting=True)
@pytest.mark.parametrize("bits", [8, 16])
def test_placed_by_lowest_bits(system: System, bits: int) -> Observation:
    """Messages for large partition numbers are not placed by the lowest bits of the numbers."""
    destination, consumer = system.warm_destination(partitions=ODD_COUNT)
    # Modulo the number of partitions, each of these numbers is another partition.
    sent = {number: destination.send({names.PARTITION: 2**bits + number}) for number in LOWEST}
    beyond = destination.send({names.PARTITION: ODD_COUNT + 1})
    accepted = [each for each in sent.values() if each.is_accepted]
    if not accepted:
        return observed("refused", note=sent[LOWEST[0]].why)
    found = consumer.take([*accepted, *([beyond] if beyond.is_accepted else [])])
    places = {number: found[each.key].place for number, each in sent.items() if each.key in found}
    note = "; ".join(f"{2**bits + number} from {place}" for number, place in places.items())
    is_placed = places == {number: number for number in LOWEST}
    # A system that made more partitions than it was asked for, such as the next power of two, may
    # reduce numbers by their count.
    has_more = beyond.key in found and found[beyond.key].place == ODD_COUNT + 1
    is_wrapped = is_placed and not has_more
    return observed("placed-by-lowest-bits" if is_wrapped else "not-wrapped", note=note)


def _observe_unknown(system: System, number: int) -> Observation:
    destination, consumer = system.warm_destination(partitions=COUNT)
    sent = destination.send({names.PARTITION: number})
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    delivery = consumer.take([sent]).get(sent.key)
    if delivery is None:
        return observed("not-delivered")
    told, place = delivery.attributes.get(names.PARTITION), delivery.place
    note = f"partition {number} was chosen; delivered from {place}, the message says {told}"
    # A server may tell from which of its partitions it delivers a message that it placed itself.
    if told is not None and told != number and told not in range(COUNT + 1):
        return observed("other-number", note=note)
    return observed("as-chosen" if place == number else "replaced", note=note)


@case(
    "oms/message-key/one-partition",
    clause="oms.message-key.one-partition",
    needs=("message-key", "partitions"),
    waiting=True,
)
def test_one_partition(system: System) -> Observation:
    """Messages of one messageKey are delivered from one partition."""
    destination, consumer = system.warm_destination(partitions=COUNT)
    keys: dict[str, int] = {}
    every: list[Sent] = []
    for number in range(KEYS * OF_EACH):
        sent = destination.send({names.MESSAGE_KEY: f"wp-key-{number % KEYS}"})
        keys[sent.key] = number % KEYS
        every.append(sent)
    found = consumer.take(every)
    if len(found.keys() & keys.keys()) < len(keys):
        return missing()
    places: dict[int, set[str]] = {}
    for key, number in keys.items():
        if found[key].place is None:
            return observed(UNTOLD)
        places.setdefault(number, set()).add(str(found[key].place))
    spread = [number for number, used in places.items() if len(used) > 1]
    return observed(
        "spread" if spread else "together", note=f"{len(spread)} of {KEYS} keys spread"
    )
