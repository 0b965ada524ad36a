"""What is delivered, in every partition, by every path, to every client, at every delivery."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_suites.nsq.steps.attempts import attempts_of
from wireproof_suites.nsq.steps.corners import (
    CORNERS,
    HTTP_NEEDED,
    TRACE_NEEDED,
    Corner,
    as_published,
    receive,
)
from wireproof_suites.nsq.steps.deliveries import ext_version, timestamp_unit

IN_CORNERS = pytest.mark.parametrize("corner", CORNERS.values(), ids=CORNERS)
NEEDS = ("partition",)
NEEDS_UPGRADE = ("partition", "upgrade")


@case(
    "nsq/consume/layout-in-corner",
    clause="ext.consume.layout",
    waiting=True,
    needs=NEEDS,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_layout(broker: Broker, wide_ext_topic: Topic, corner: Corner) -> Observation:
    """A message has the layout of ext messages in every partition and at every delivery."""
    received = receive(broker, wide_ext_topic, corner)
    for delivery in received.deliveries:
        seen = timestamp_unit(delivery)
        if seen.value != "timestamp:nanoseconds":
            return seen
    return as_published(received)


@case(
    "nsq/consume/layout-upgraded",
    clause="ext.consume.layout",
    waiting=True,
    needs=NEEDS_UPGRADE,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_layout_on_an_upgraded_topic(
    broker: Broker, wide_upgraded_topic: Topic, corner: Corner
) -> Observation:
    """A message of an upgraded topic has the layout of ext messages."""
    return as_published(receive(broker, wide_upgraded_topic, corner))


@case(
    "nsq/consume/header-in-corner",
    clause="ext.consume.header-intact",
    waiting=True,
    needs=NEEDS,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_header(broker: Broker, wide_ext_topic: Topic, corner: Corner) -> Observation:
    """The header of a message is unaltered in every partition and at every delivery."""
    return as_published(receive(broker, wide_ext_topic, corner))


@case(
    "nsq/consume/header-upgraded",
    clause="ext.consume.header-intact",
    waiting=True,
    needs=NEEDS_UPGRADE,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_header_on_an_upgraded_topic(
    broker: Broker, wide_upgraded_topic: Topic, corner: Corner
) -> Observation:
    """The header of a message of an upgraded topic is unaltered."""
    return as_published(receive(broker, wide_upgraded_topic, corner))


@case(
    "nsq/consume/body-in-corner",
    clause="ext.consume.body-intact",
    waiting=True,
    needs=NEEDS,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_body(broker: Broker, wide_ext_topic: Topic, corner: Corner) -> Observation:
    """The body of a message is unaltered in every partition and at every delivery."""
    return as_published(receive(broker, wide_ext_topic, corner))


@case(
    "nsq/consume/body-upgraded",
    clause="ext.consume.body-intact",
    waiting=True,
    needs=NEEDS_UPGRADE,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_body_on_an_upgraded_topic(
    broker: Broker, wide_upgraded_topic: Topic, corner: Corner
) -> Observation:
    """The body of a message of an upgraded topic is unaltered."""
    return as_published(receive(broker, wide_upgraded_topic, corner))


@case(
    "nsq/consume/plain-in-corner",
    clause="ext.consume.plain-topic",
    waiting=True,
    needs=NEEDS,
    needs_of=TRACE_NEEDED,
)
@IN_CORNERS
def test_plain_topic(broker: Broker, wide_topic: Topic, corner: Corner) -> Observation:
    """A plain topic's message has the layout without ext part, in every partition and delivery."""
    received = receive(broker, wide_topic, corner)
    high = next((each for each in map(attempts_of, received.deliveries) if _is_high(each)), None)
    return high or as_published(received)


@case(
    "nsq/consume/attempts-in-corner",
    clause="ext.consume.attempts",
    waiting=True,
    needs=NEEDS,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_attempts(broker: Broker, wide_ext_topic: Topic, corner: Corner) -> Observation:
    """In every partition, the attempts of a message equal the number of its deliveries."""
    return _attempts(broker, wide_ext_topic, corner)


@case(
    "nsq/consume/attempts-upgraded",
    clause="ext.consume.attempts",
    waiting=True,
    needs=NEEDS_UPGRADE,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_attempts_on_an_upgraded_topic(
    broker: Broker, wide_upgraded_topic: Topic, corner: Corner
) -> Observation:
    """On an upgraded topic, the attempts of a message equal the number of its deliveries."""
    return _attempts(broker, wide_upgraded_topic, corner)


@case(
    "nsq/consume/version-in-corner",
    clause="ext.consume.version",
    waiting=True,
    needs=NEEDS,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_version(broker: Broker, wide_ext_topic: Topic, corner: Corner) -> Observation:
    """A message with a header has a version other than zero in every partition."""
    return _version(broker, wide_ext_topic, corner)


@case(
    "nsq/consume/version-upgraded",
    clause="ext.consume.version",
    waiting=True,
    needs=NEEDS_UPGRADE,
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_version_on_an_upgraded_topic(
    broker: Broker, wide_upgraded_topic: Topic, corner: Corner
) -> Observation:
    """A message with a header on an upgraded topic has a version other than zero."""
    return _version(broker, wide_upgraded_topic, corner)


def _attempts(broker: Broker, topic: Topic, corner: Corner) -> Observation:
    """Name the attempts of the deliveries: ``counted`` where they are 1, then 2.

    Those of a client that left may count or not.
    """
    received = receive(broker, topic, corner)
    counts = [attempts_of(delivery) for delivery in received.deliveries]
    due: list[tuple[str, ...]] = [("attempts:1",), ("attempts:2",)]
    if corner.delivery == "next-client":
        due[1] = ("attempts:1", "attempts:2")
    for count, expected in zip(counts, due, strict=False):
        if count.value not in expected:
            return count
    return observed("counted")


def _version(broker: Broker, topic: Topic, corner: Corner) -> Observation:
    versions = [ext_version(each) for each in receive(broker, topic, corner).deliveries]
    return next((each for each in versions if each.value != "version:4"), versions[0])


def _is_high(seen: Observation) -> bool:
    return seen.value == "attempts:high-bits"
