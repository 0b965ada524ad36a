"""Messages sent and polled in combined ways; what is in them is judged as in any case."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.covering_array import Row
from wireproof_kit.iggy.observe.observations import MISSING
from wireproof_kit.iggy.server import Server
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import ANSWER
from wireproof_kit.wire.waiting import until
from wireproof_suites.iggy.ways.rows import (
    ROWS,
    RowConsumer,
    list_needs,
    make_topic,
    send,
)

EVERY_SECONDS = 0.02


@case(
    "iggy/ways/polled",
    clause="iggy.poll.as-many",
    needs_of={id: list_needs(row) for id, row in ROWS.items()},
)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_polled(server: Server, row: Row) -> Observation:
    """All accepted messages are polled, in whichever ways they were sent and are polled."""
    topic = make_topic(server, row)
    consumer = RowConsumer(server, topic, row)
    consumer.prepare()
    due = {*send(server, topic, row)}
    seen = _poll(server, consumer, due)
    if row["poll"] != "first-poll" and seen.value == "delivered:all":
        if row["poll"] == "reconnected":
            consumer.reconnect()
        consumer.forget()
        seen = _poll(server, consumer, due)
    consumer.look_over()

    return seen


def _poll(server: Server, consumer: RowConsumer, due: set[bytes]) -> Observation:
    """Poll until all came or the patience ends; sentinels were sent last.

    No text says that a poll behind the last message is answered with success.
    """

    def look() -> bool | None:
        before = -1
        while before < len(consumer.came) and not due <= consumer.came:  # it may return only some
            before = len(consumer.came)
            consumer.poll()
        is_refused = consumer.unread is not None and not consumer.came
        return True if is_refused or due <= consumer.came else None

    until(look, seconds=server.client.seconds(ANSWER), every=EVERY_SECONDS)
    lacking = due - consumer.came
    if not lacking:
        return observed("delivered:all")
    if consumer.unread is not None:
        return consumer.unread
    note = f"{len(due) - len(lacking)} of {len(due)} came"
    if any(each.startswith(b"sentinel") for each in lacking):
        return observed(MISSING, overdue=True, note=note)
    return observed("delivered:fewer", note=note)
