"""Cornered faults of OpenMessaging: wrong in the corner, right everywhere else."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest
from oms_bench import Bench, attributes

from wireproof_reference_impl.oms.presets import overrides
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_spec.strict_json import JsonValue

SENT: Mapping[str, JsonValue] = {"traceId": "t"}
TRANSACTION = "transaction"


class Place(NamedTuple):
    """What a message is, where it is stored, who receives it, how often it is rejected before."""

    partition: int = 0
    group: str = "first"
    rejections: int = 0
    is_prepared: bool = False
    has_properties: bool = False


def keeps_trace_id(corner: str, place: Place) -> bool:
    """Return True if a message arrives with its traceId, though a fault drops it in a corner."""
    with apply_overrides(overrides([f"trace-id-dropped@{corner}"], [])):
        bench = Bench(partitions=2)
        bench.receive("first")
        bench.receive("second")
        _send(bench, place)
        for _ in range(place.rejections):
            bench.reject(bench.receive(place.group)[0])
            bench.broker.advance(bench.now)
        return "traceId" in attributes(bench.receive(place.group)[0].document)


def _send(bench: Bench, place: Place) -> None:
    sent = {**SENT, "partition": place.partition}
    properties = {"name": "value"} if place.has_properties else {}
    if place.is_prepared:
        bench.prepare({**sent, "transactionId": TRANSACTION}, properties=properties)
        bench.broker.commit(TRANSACTION)
        bench.broker.advance(bench.now)
    else:
        bench.send(sent, properties=properties)


HOME = Place()


@pytest.mark.parametrize(
    ("corner", "inside", "outside"),
    [
        ("partition=first", HOME, Place(partition=1)),
        ("partition=last", Place(partition=1), HOME),
        ("verb=sent", HOME, Place(is_prepared=True)),
        ("verb=prepared", Place(is_prepared=True), HOME),
        ("properties=none", HOME, Place(has_properties=True)),
        ("properties=some", Place(has_properties=True), HOME),
        ("verb=prepared+group=second", Place(group="second", is_prepared=True), HOME),
        ("delivery=first", HOME, Place(rejections=1)),
        ("delivery=again", Place(rejections=1), HOME),
        ("group=first", HOME, Place(group="second")),
        ("group=second", Place(group="second"), HOME),
    ],
)
def test_a_cornered_fault_is_wrong_there_only(corner: str, inside: Place, outside: Place) -> None:
    assert not keeps_trace_id(corner, inside)
    assert keeps_trace_id(corner, outside)
