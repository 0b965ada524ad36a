"""Ordered consumption in every partition, by every path, at every delivery."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.corners import (
    HTTP_NEEDED,
    ORDERED_CORNERS,
    TRACE_NEEDED,
    Corner,
    as_published,
    receive,
)
from wireproof_suites.nsq.steps.ordered_delivery import ORDERED

IN_CORNERS = pytest.mark.parametrize("corner", ORDERED_CORNERS.values(), ids=ORDERED_CORNERS)


@case(
    "nsq/order/layout-in-corner",
    clause="smart.order.layout",
    waiting=True,
    needs=("partition",),
    needs_of=TRACE_NEEDED,
)
@IN_CORNERS
def test_layout(broker: Broker, wide_ordered_topic: Topic, corner: Corner) -> Observation:
    """An ordered message has offset and size before its body, in every partition."""
    return as_published(receive(broker, wide_ordered_topic, corner, command=ORDERED))


@case(
    "nsq/order/layout-ext-in-corner",
    clause="smart.order.layout",
    waiting=True,
    needs=("partition", "ext"),
    needs_of=HTTP_NEEDED,
)
@IN_CORNERS
def test_layout_with_header(
    broker: Broker, wide_ordered_ext_topic: Topic, corner: Corner
) -> Observation:
    """An ordered message with a header has offset and size before its body."""
    return as_published(receive(broker, wide_ordered_ext_topic, corner, command=ORDERED))
