"""Messages polled over HTTP in combined ways; what is in them is judged as in any case."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from wireproof_kit.case import case
from wireproof_kit.covering_array import Row, read_rows
from wireproof_kit.iggy.apache.batches import message
from wireproof_kit.iggy.apache.observe import MISSING, observe
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.wire.http import is_success
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import ANSWER
from wireproof_kit.wire.waiting import until
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.kinds import NEXT, OFFSET, TIMESTAMP
from wireproof_suites.iggy.apache import json_steps, steps
from wireproof_suites.iggy.apache.ways.rows import (
    ALL,
    CONSUMERS,
    FEW,
    HEADERS,
    NAMED_KINDS,
    ONLOOKER,
    PARTITIONINGS,
    STRATEGIES,
    make_topic,
)

ROWS = read_rows(Path(__file__).parent)
LARGE = 66_000
IDS: Mapping[str, int | None] = {"short-id": None, "long-id": 1 << 127, "no-id": 0}
USUAL = {"headers": "headers", "payload": "small", "id": "short-id"}


@case("iggy/apache/json/ways", clause="iggy.apache.json.poll")
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_ways(apache: ApacheServer, row: Row) -> Observation:
    """All messages are polled over HTTP, in whichever ways they were sent and are polled."""
    topic = make_topic(apache, row)
    for number in range(topic.partitions):
        steps.store(apache, topic, [1], partition=number)
    due = topic.partitions + _send(apache, topic, row)
    if row["poll"] == "tcp-first":
        look_over(apache, topic)
    # A new topic may not be served at once.
    json_steps.poll_until(apache, topic, 1)
    consumer = JsonConsumer(apache, topic, row)

    def look() -> bool | None:
        consumer.poll()
        return len(consumer.came) >= due or None

    until(look, seconds=apache.patience.seconds(ANSWER), every=0.05)
    look_over(apache, topic)
    # What TCP has shown by now was due.
    consumer.poll()
    if len(consumer.came) < due:
        return observed(MISSING, overdue=True, note=f"{len(consumer.came)} of {due} came")
    return observed("delivered:all")


def _send(apache: ApacheServer, topic: Topic, row: Row) -> int:
    """Send the messages of a row, as usual ones if they are refused; return how many."""
    frames = _frames(row)
    if not _is_accepted(apache, topic, row, frames):
        apache.reconnect()
        frames = _frames({**row, **USUAL})
        if not _is_accepted(apache, topic, row, frames):
            return 0
    return len(frames)


def _frames(row: Row) -> list[MessageFrame]:
    base = b"p" * LARGE if row["payload"] == "large" else b"payload\r\n "
    over_http = row["sent"] == "over-http"
    # JSON has no name for a kind that no page defines.
    is_nameless = over_http and row["headers"] == "every-kind"
    block = NAMED_KINDS if is_nameless else HEADERS[row["headers"]]
    number = IDS[row["id"]]
    return [
        message(
            base + bytes([each, 0]),
            block=block,
            id=number and number + each,
            delta_us=1_000_000 * each,
        )
        for each in range(1 + 3 * (row["batch"] == "several"))
    ]


def _is_accepted(apache: ApacheServer, topic: Topic, row: Row, frames: list[MessageFrame]) -> bool:
    how = PARTITIONINGS[row["partitioning"]] or partition_id(topic.partition)
    if row["sent"] == "over-http":
        by_name = row["place"] == "by-name"
        return is_success(json_steps.send(apache, topic, frames, how, by_name=by_name))
    return observe(apache.send(topic, *frames, partitioning=how)).value == "ok"


def look_over(apache: ApacheServer, topic: Topic) -> None:
    """Poll each partition over TCP from its beginning, as another consumer."""
    for number in range(topic.partitions):
        apache.poll_all(topic, Polling(partition=number, consumer=ONLOOKER))


class JsonConsumer:
    """Polls the partitions of a topic over HTTP as a row says, and keeps what came, by offset."""

    def __init__(self, apache: ApacheServer, topic: Topic, row: Row) -> None:
        self.came: set[tuple[int, int]] = set()
        self._apache, self._topic, self._row = apache, topic, row
        self._who = CONSUMERS[row["consumer"]]
        self._strategy = STRATEGIES[row["strategy"]]
        self._times = [
            max((each.header.base_timestamp for each in polled.batches), default=0)
            for polled in (
                apache.poll_all(topic, Polling(partition=number))
                for number in range(topic.partitions)
            )
        ]

    def poll(self) -> None:
        """Poll each partition by the strategy, and by offset to its end; read what is stored."""
        for number in range(self._topic.partitions):
            self._walk_next(number)
            if self._strategy != NEXT:
                for later_us in (0, 1):
                    self._poll(number, self._strategy, self._times[number] + later_us)
                    self._stored(number)
            value = 0
            while (offset := self._poll(number, OFFSET, value)) >= value:
                value = offset + 1
            self._stored(number)

    def _walk_next(self, number: int) -> None:
        last = -1
        while self._strategy == NEXT:
            offset = self._poll(number, NEXT, 0)
            if offset <= last:
                return
            last = offset
            if self._row["commit"] != "commit":
                where = self._who, number
                json_steps.store_offset(
                    self._apache, self._topic, last, *where, by_name=self._is_by_name
                )
            self._stored(number)

    def _stored(self, number: int) -> None:
        where = self._who, number
        json_steps.stored_offset(self._apache, self._topic, *where, by_name=self._is_by_name)

    @property
    def _is_by_name(self) -> bool:
        return self._row["place"] == "by-name"

    def _poll(self, number: int, strategy: int, value: int) -> int:
        """Poll a partition once; return the highest offset that came, or -1."""
        is_committing = self._row["commit"] == "commit"
        polling = Polling(
            strategy=strategy,
            value=value if strategy in (OFFSET, TIMESTAMP) else 0,
            count=FEW if self._row["count"] == "few" else ALL,
            # To look by offset what there is must not move on what comes next.
            auto_commit=int(is_committing and (strategy == NEXT or self._strategy != NEXT)),
            consumer=self._who,
            partition=number,
        )
        found = json_steps.poll(self._apache, self._topic, polling, by_name=self._is_by_name)
        offsets = [json_steps.offset_of(each) for each in found.objects]
        known = [each for each in offsets if each is not None]
        self.came |= {(number, each) for each in known}
        return max(known, default=-1)


@case("iggy/apache/json/offset", clause="iggy.apache.json.offset")
@pytest.mark.parametrize("consumer", CONSUMERS.values(), ids=CONSUMERS)
def test_offset(apache: ApacheServer, consumer: int | str) -> Observation:
    """A consumer has the same stored offset over HTTP and over TCP."""
    topic = apache.new_topic(2)
    for number in range(topic.partitions):
        steps.store(apache, topic, [3], partition=number)
        json_steps.poll_until(apache, topic, 1)
        offsets = apache.poll_all(topic, Polling(partition=number)).offsets
        if len(offsets) != 3:
            return observed(MISSING, overdue=True)
        json_steps.store_offset(apache, topic, offsets[0], consumer, number)
        seen = [_both(apache, topic, consumer, number)]
        polling = Polling(count=2, auto_commit=1, consumer=consumer, partition=number)
        polled = json_steps.poll(apache, topic, polling)
        came = [json_steps.offset_of(each) for each in polled.objects]
        seen.append(_both(apache, topic, consumer, number))
        apache.store_offset(topic, offsets[2], consumer=consumer, partition=number)
        seen.append(_both(apache, topic, consumer, number))
        dues = offsets[0], came[-1] if came else None, offsets[2]
        if seen != [(due, due) for due in dues]:
            note = f"partition {number}: {seen} in place of {dues}"
            return observed("offset:other", note=note)
    return observed("offset:same")


def _both(
    apache: ApacheServer, topic: Topic, consumer: int | str, number: int
) -> tuple[int | None, int | None]:
    told = apache.stored_offset(topic, consumer=consumer, partition=number)
    over_http = json_steps.stored_offset(apache, topic, consumer, number)
    return (None if told is None else told.stored_offset), over_http
