"""What is accepted is delivered wherever two circumstances meet."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from wireproof_kit.case import case
from wireproof_kit.covering_array import Row, read_rows
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.ways.message_way import receive_all

_ROWS = read_rows(Path(__file__).parent)


def _rows_of(topic: str) -> Mapping[str, Row]:
    """Return the rows of a kind of topic, by their ids without it."""
    return {
        name.removeprefix(f"{topic}+"): row for name, row in _ROWS.items() if row["topic"] == topic
    }


def _needs_of(rows: Mapping[str, Row]) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(_needs(row)) for name, row in rows.items()}


def _needs(row: Row) -> Iterator[str]:
    """Yield what a broker must be able to do for a row, beside the kind of topic."""
    if row["command"] == "batch":
        yield "batch"
    if row["command"] in ("http", "lines"):
        yield "http"
    if row["delivery"].startswith("touched"):
        yield "touch"
    if row["trace"] == "traced" and row["header"] == "no-header":
        yield "trace"


EXT = _rows_of("ext")
PLAIN = _rows_of("plain")
UPGRADED = _rows_of("upgraded")
ORDERED = _rows_of("ordered")
ORDERED_EXT = _rows_of("ordered-ext")


@case(
    "nsq/ways/ext",
    clause="smart.history.kept",
    waiting=True,
    needs=("ext",),
    needs_of=_needs_of(EXT),
)
@pytest.mark.parametrize("row", EXT.values(), ids=EXT)
def test_ext_topic(broker: Broker, fresh_wide_ext_topic: Topic, row: Row) -> Observation:
    """Messages of an ext topic are delivered in any two circumstances that meet."""
    return receive_all(broker, fresh_wide_ext_topic, row)


@case(
    "nsq/ways/plain",
    clause="smart.history.kept",
    waiting=True,
    needs=(),
    needs_of=_needs_of(PLAIN),
)
@pytest.mark.parametrize("row", PLAIN.values(), ids=PLAIN)
def test_plain_topic(broker: Broker, fresh_wide_topic: Topic, row: Row) -> Observation:
    """Messages of a plain topic are delivered in any two circumstances that meet."""
    return receive_all(broker, fresh_wide_topic, row)


@case(
    "nsq/ways/upgraded",
    clause="smart.history.kept",
    waiting=True,
    needs=("upgrade",),
    needs_of=_needs_of(UPGRADED),
)
@pytest.mark.parametrize("row", UPGRADED.values(), ids=UPGRADED)
def test_upgraded_topic(broker: Broker, fresh_wide_upgraded_topic: Topic, row: Row) -> Observation:
    """Messages of an upgraded topic are delivered in any two circumstances that meet."""
    return receive_all(broker, fresh_wide_upgraded_topic, row)


@case(
    "nsq/ways/ordered",
    clause="smart.history.kept",
    waiting=True,
    needs=("order",),
    needs_of=_needs_of(ORDERED),
)
@pytest.mark.parametrize("row", ORDERED.values(), ids=ORDERED)
def test_ordered_topic(broker: Broker, fresh_wide_ordered_topic: Topic, row: Row) -> Observation:
    """Ordered messages are delivered in any two circumstances that meet."""
    return receive_all(broker, fresh_wide_ordered_topic, row)


@case(
    "nsq/ways/ordered-ext",
    clause="smart.history.kept",
    waiting=True,
    needs=(
        "order",
        "ext",
    ),
    needs_of=_needs_of(ORDERED_EXT),
)
@pytest.mark.parametrize("row", ORDERED_EXT.values(), ids=ORDERED_EXT)
def test_ordered_ext_topic(
    broker: Broker, fresh_wide_ordered_ext_topic: Topic, row: Row
) -> Observation:
    """Ordered messages of an ext topic are delivered in any two circumstances that meet."""
    return receive_all(broker, fresh_wide_ordered_ext_topic, row)
