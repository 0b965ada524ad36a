"""Batches sent and polled in combined ways; what is in them is judged as in any case."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.covering_array import Row
from wireproof_kit.iggy.apache.observe import MISSING
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import ANSWER
from wireproof_kit.wire.waiting import until
from wireproof_suites.iggy.apache.ways.rows import ROWS, RowConsumer, make_topic, send

EVERY_SECONDS = 0.02


@case("iggy/apache/ways/polled", clause="iggy.apache.send.accept")
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_polled(apache: ApacheServer, row: Row) -> Observation:
    """All accepted messages are polled, in whichever ways they were sent and are polled."""
    topic = make_topic(apache, row)
    consumer = RowConsumer(apache, topic, row)
    consumer.prepare()
    due = send(apache, topic, row)
    if len(due) == 2 * topic.partitions:
        return observed("refused")
    if row["poll"] != "first-poll":
        # What another consumer has polled is known to be there.
        consumer.look_over()
    seen = _poll(apache, consumer, due)
    if row["poll"] != "first-poll" and row["strategy"] != "by-next":
        if row["poll"] == "reconnected":
            consumer.reconnect()
            apache.client.close()
            apache.reconnect()
        consumer.forget()
        seen = seen if seen.value != "delivered:all" else _poll(apache, consumer, due)
    consumer.look_over()
    return seen


def _poll(apache: ApacheServer, consumer: RowConsumer, due: set[int]) -> Observation:
    """Poll until all came or the patience ends."""

    def look() -> bool | None:
        consumer.poll()
        return True if consumer.unread is not None or due <= consumer.came else None

    until(look, seconds=apache.patience.seconds(ANSWER), every=EVERY_SECONDS)
    lacking = len(due - consumer.came)
    if not lacking:
        return observed("delivered:all")
    if consumer.unread is not None:
        return consumer.unread
    return observed(MISSING, overdue=True, note=f"{len(due) - lacking} of {len(due)} came")
