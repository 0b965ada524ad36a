"""Attributes arrive unaltered wherever two circumstances of a message meet."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wireproof_kit.case import case
from wireproof_kit.covering_array import Row, read_rows
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes
from wireproof_kit.oms.adapter.system import System
from wireproof_spec.oms import names
from wireproof_suites.oms.message_way import MessageWay
from wireproof_suites.oms.steps import compare
from wireproof_suites.oms.test_properties import UNUSUAL, USUAL, VALUES

ROWS = read_rows(Path(__file__).parent)
ATTRIBUTES: Mapping[str, str] = {
    "correlation-id": names.CORRELATION_ID,
    "message-key": names.MESSAGE_KEY,
    "trace-id": names.TRACE_ID,
    "priority": names.PRIORITY,
    "expire-time": names.EXPIRE_TIME,
}
PROPERTIES: Mapping[str, Attributes] = {"usual": USUAL, "none": NOTHING, **UNUSUAL}
LARGE_BYTES = 70_000
PARTITIONS = 3


def _way(row: Row) -> MessageWay:
    return MessageWay(
        is_committed=row["verb"] == "committed",
        comes_again=row["delivery"] == "again",
        in_second_group=row["group"] == "second-group",
        partitions=PARTITIONS if row["partitions"] == "partitions" else None,
    )


NEEDS = {name: _way(row).needs for name, row in ROWS.items()}


def _body(system: System, value: str) -> bytes | None:
    if value == "empty-body":
        return b""
    return system.next_body().ljust(LARGE_BYTES, b"x") if value == "large-body" else None


@case("oms/ways/unchanged", clause="oms.round-trip.unchanged", needs_of=NEEDS, waiting=True)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_ways(system: System, row: Row) -> Observation:
    """The attributes of a message arrive unchanged wherever two circumstances meet."""
    attributes = {
        name: VALUES[name]
        for word, name in ATTRIBUTES.items()
        if row[word] == word and system.claims(name)
    }
    properties, body = PROPERTIES[row["properties"]], _body(system, row["body"])
    delivery = _way(row).deliver(system, attributes, properties, body)
    if not isinstance(delivery, Observation):
        return compare(delivery.attributes, attributes)
    if delivery.value == "refused" and (row["properties"] in UNUSUAL or body is not None):
        return observed("unsupported:refused", note=delivery.note)  # no text gives limits
    return delivery
