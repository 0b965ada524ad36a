"""Cornered faults of OpenMessaging: wrong in the corner, right everywhere else."""

import pytest
from oms_bench import Bench, attributes

from wireproof_reference_impl.oms.presets import overrides
from wireproof_reference_impl.overrides import apply_overrides

SENT = {"traceId": "t"}


def keeps_trace_id(corner: str, *, partition: int, group: str, rejections: int) -> bool:
    """Return True if a message arrives with its traceId, though a fault drops it in a corner."""
    with apply_overrides(overrides([f"trace-id-dropped@{corner}"], [])):
        bench = Bench(partitions=2)
        bench.receive("first")
        bench.receive("second")
        bench.send({**SENT, "partition": partition})
        for _ in range(rejections):
            bench.reject(bench.receive(group)[0])
            bench.broker.advance(bench.now)
        return "traceId" in attributes(bench.receive(group)[0].document)


@pytest.mark.parametrize(
    ("corner", "partition", "group", "rejections"),
    [
        ("partition=first", 0, "first", 0),
        ("partition=last", 1, "first", 0),
        ("delivery=first", 0, "first", 0),
        ("delivery=again", 0, "first", 1),
        ("group=first", 0, "first", 0),
        ("group=second", 0, "second", 0),
    ],
)
def test_a_cornered_fault_is_wrong_there_only(
    corner: str, partition: int, group: str, rejections: int
) -> None:
    assert not keeps_trace_id(corner, partition=partition, group=group, rejections=rejections)
    dimension = corner.partition("=")[0]
    elsewhere = {
        "partition": {"partition": 1 - partition},
        "delivery": {"rejections": 1 - rejections},
        "group": {"group": {"first": "second", "second": "first"}[group]},
    }[dimension]
    place = {"partition": partition, "group": group, "rejections": rejections, **elsewhere}
    assert keeps_trace_id(
        corner,
        partition=int(place["partition"]),
        group=str(place["group"]),
        rejections=int(place["rejections"]),
    )
