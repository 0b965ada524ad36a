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
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.message_way import MessageWay
from wireproof_suites.oms.steps import ODD, compare
from wireproof_suites.oms.test_properties import UNUSUAL, USUAL, VALUES

ROWS = read_rows(Path(__file__).parent)
ATTRIBUTES: Mapping[str, str] = {
    "correlation-id": names.CORRELATION_ID,
    "message-key": names.MESSAGE_KEY,
    "trace-id": names.TRACE_ID,
    "priority": names.PRIORITY,
    "expire-time": names.EXPIRE_TIME,
}
"""The attributes that arrive as they were sent, by the word for their presence."""
LONG = "0123456789abcdef" * 256
TEXTS: Mapping[str, str] = {"odd-texts": ODD, "long-texts": LONG}
PROPERTIES: Mapping[str, Attributes] = {
    "usual": USUAL,
    "none": NOTHING,
    **UNUSUAL,
    "odd": {**USUAL, "wp-text": ODD},
}
LARGE_BYTES = 70_000
ODD_BYTES = bytes(range(256)) + b"\r\n\0\0"
PARTITIONS, CHOSEN = 3, 2
"""Partition 2 of 3 is there, whether they are numbered from 0 or from 1."""
OUTSIDE = 11
DELAY_MS = 400
HOUR_MS = 3_600_000
UNLIMITED = {
    "properties": {"usual", "none", "odd"},
    "texts": {"usual-texts", "odd-texts"},
    "body": {"short-body"},
    "sender": {"sets-its-own"},
    "delay": {"no-delay"},
}
"""The values that a system may not refuse, whatever else a message has."""


def _way(row: Row) -> MessageWay:
    return MessageWay(
        is_committed=row["verb"] == "committed",
        comes_again=row["delivery"] == "again",
        in_second_group=row["group"] == "second-group",
        partitions=None if row["partitions"] == "one-partition" else PARTITIONS,
        beside=row["beside"],
    )


NEEDS = {name: _way(row).needs for name, row in ROWS.items()}


def _body(system: System, value: str) -> bytes | None:
    if value == "empty-body":
        return b""
    if value == "odd-body":
        return system.next_body() + ODD_BYTES
    return system.next_body().ljust(LARGE_BYTES, b"x") if value == "large-body" else None


def _kept(row: Row) -> dict[str, JsonValue]:
    """Return the attributes of a row that arrive as they were sent."""
    kept = {name: VALUES[name] for word, name in ATTRIBUTES.items() if row[word] == word}
    text = TEXTS.get(row["texts"])
    return {name: text if text and isinstance(kept[name], str) else kept[name] for name in kept}


def _further(system: System, row: Row) -> dict[str, JsonValue]:
    """Return the other attributes of a row; what becomes of them the ledger judges."""
    further: dict[str, JsonValue] = {}
    if row["priority"] == "priority-outside":
        further[names.PRIORITY] = OUTSIDE
    if row["delay"] == "delay":
        further[names.DELAY_TIME] = DELAY_MS
    if row["partitions"] == "chosen-partition" and system.claims("partitions"):
        further[names.PARTITION] = CHOSEN
    if row["sender"] == "sets-all":
        past = int(system.clock.now_ms()) - HOUR_MS
        further |= {names.STORE_TIMESTAMP: past, names.STORE_HOST: "wp-sender.example:1"}
        further[names.DELIVERY_COUNT] = 7
    return further


def _header(system: System, row: Row) -> Attributes:
    header: dict[str, JsonValue] = {}
    if row["compression"] == "gzip" and system.claims("compression"):
        header[names.COMPRESSION] = "gzip"
    if row["sender"] == "sets-all":
        past = int(system.clock.now_ms()) - HOUR_MS
        header |= {names.MESSAGE_ID: "wp-sender-s-own-id", names.BORN_TIMESTAMP: past}
    return header or NOTHING


@case("oms/ways/unchanged", clause="oms.round-trip.unchanged", needs_of=NEEDS, waiting=True)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_ways(system: System, row: Row) -> Observation:
    """The attributes of a message arrive unchanged wherever two circumstances meet."""
    kept, further = (
        {name: value for name, value in each.items() if system.claims(name)}
        for each in (_kept(row), _further(system, row))
    )
    properties, body = PROPERTIES[row["properties"]], _body(system, row["body"])
    delivery = _way(row).deliver(
        system, {**kept, **further}, properties, body, header=_header(system, row)
    )
    if not isinstance(delivery, Observation):
        return compare(delivery.attributes, kept)
    if delivery.value == "refused" and any(
        row[name] not in values for name, values in UNLIMITED.items()
    ):
        return observed("unsupported:refused", note=delivery.note)
    return delivery
