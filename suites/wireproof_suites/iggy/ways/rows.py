"""The rows of the covering array: what each sends, and how it polls."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wireproof_kit.covering_array import Row, read_rows
from wireproof_kit.iggy.observe.observations import observe_unread
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.connection import Connection
from wireproof_kit.iggy.wire.http import JsonPolled
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation
from wireproof_spec.iggy.bodies.partitioning import Partitioning, make_balanced, messages_key
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import (
    CONSUMER_KIND,
    FIRST,
    GROUP_KIND,
    LAST,
    NEXT,
    OFFSET,
    STRATEGIES,
    TIMESTAMP,
)
from wireproof_suites.iggy.steps.consumer_groups import join_group, make_group
from wireproof_suites.iggy.steps.header_kinds import EVERY_KIND
from wireproof_suites.iggy.steps.json_messages import observe_unread_json
from wireproof_suites.iggy.steps.message_contents import THREE_HEADERS, make_payload, message

ROWS = read_rows(Path(__file__).parent)
CONSUMER = 7
"""The number of the consumer, and that of its group."""

_PARTITIONS = {"only-partition": 1, "last-partition": 3}
_PARTITIONINGS: Mapping[str, Partitioning | None] = {
    "partition-id": None,
    "balanced": make_balanced(),
    "key": messages_key(b"key"),
}
_HEADERS: Mapping[str, tuple[Header, ...]] = {
    "headers": THREE_HEADERS,
    "no-headers": (),
    "every-kind": tuple(each for kind in EVERY_KIND.values() for each in (kind[0], kind[-1])),
}
_SIZES = {"small": 2, "large": 66_000}
_BATCHES = {"one": 1, "several": 3}
_BEFORE = {"opening": 1, "behind-many": 12}
_STRATEGIES = {
    "by-offset": OFFSET,
    "by-timestamp": TIMESTAMP,
    "by-first": FIRST,
    "by-last": LAST,
    "by-next": NEXT,
}
_LARGE_ID = 1 << 127


def list_needs(row: Row) -> tuple[str, ...]:
    """Return the capabilities that a row needs beyond sending and polling over TCP."""
    over_http = row["sent"] == "http" or row["consumer"] == "polled-http"
    is_of_group = row["consumer"] == "group"
    return ("http",) * over_http + ("groups",) * is_of_group


def make_topic(server: Server, row: Row) -> Topic:
    """Return a new topic of one partition, or of three with the last one as its own."""
    partitions = _PARTITIONS[row["partition"]]
    return replace(server.new_topic(partitions), partition=partitions)


def make_messages(row: Row) -> tuple[SentMessage, ...]:
    """Return the messages of one request; their payloads differ in the last byte but one."""
    body, headers = make_payload(_SIZES[row["payload"]]), _HEADERS[row["headers"]]
    return tuple(
        message(body + bytes([number, 0]), *headers, id=_LARGE_ID + number)
        for number in range(_BATCHES[row["batch"]])
    )


def list_partitions(topic: Topic, row: Row) -> Sequence[int]:
    """Return the partitions in which the messages may be stored."""
    is_named = _PARTITIONINGS[row["partitioning"]] is None
    return [topic.partition] if is_named else range(1, topic.partitions + 1)


def send(server: Server, topic: Topic, row: Row) -> Sequence[bytes]:
    """Send the messages of a row, then one to each partition; return all their payloads.

    Raises:
        AllowedRefused: the server refused a request.
    """
    server.over_http = row["sent"] == "http"
    sent = make_messages(row)
    server.send_allowed(topic, *sent, partitioning=_PARTITIONINGS[row["partitioning"]])
    sentinels = [
        (partition, message(b"sentinel %d" % partition))
        for partition in list_partitions(topic, row)
    ]
    for partition, sentinel in sentinels:
        server.send_allowed(replace(topic, partition=partition), sentinel)
    server.over_http = False
    return [each.payload for each in (*sent, *(sentinel for _, sentinel in sentinels))]


class RowConsumer:
    """Polls the partitions of a topic as a row says, and keeps the payloads that came.

    ``unread`` is what is seen of the first poll that cannot be read.
    """

    def __init__(self, server: Server, topic: Topic, row: Row) -> None:
        self.came: set[bytes] = set()
        self.unread: Observation | None = None
        self._server, self._topic, self._row = server, topic, row
        self._partitions = list_partitions(topic, row)
        self._times = dict.fromkeys(range(1, topic.partitions + 1), 0)
        self._connection: Connection | None = None
        if row["consumer"] == "group":
            make_group(server, topic, CONSUMER)

    def prepare(self) -> None:
        """Store messages in each partition; note the last timestamp where polls by time begin.

        No text says that a poll of an empty partition is answered with success, or that a poll by
        a time before the first message finds one.
        """
        count = _BEFORE[self._row["number"]]
        if count == self._topic.partitions == 1 and self._row["strategy"] != "by-timestamp":
            return
        for partition in range(1, self._topic.partitions + 1):
            opening = [message(b"opening %d %d" % (partition, each)) for each in range(count)]
            self._server.send_accepted(self._topic, *opening, partition=partition)
            polled = self._server.poll_until(self._topic, count, Polling(partition=partition))
            self._times[partition] = max((each.timestamp for each in polled.messages), default=0)

    def poll(self) -> None:
        """Poll once for each partition of a group's topic, or each in which messages may be."""
        is_of_group = self._row["consumer"] == "group"
        turns = range(1, self._topic.partitions + 1) if is_of_group else self._partitions
        for partition in turns:
            self.came |= {*self._poll(partition)}

    def look_over(self) -> None:
        """Poll each partition from its beginning, as a consumer on its own, over one transport.

        The ledger compares what these polls tell with what the polls of the row told.
        """
        for partition in self._partitions:
            polling = Polling(consumer=CONSUMER + 1, partition=partition, value=0)
            if self._row["consumer"] == "polled-http":
                self._request(polling)
            else:
                self._server.poll(self._topic, polling)

    def reconnect(self) -> None:
        """Close the connection; the next poll comes on a new one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def forget(self) -> None:
        """Forget what came."""
        self.came, self.unread = set(), None

    def _poll(self, partition: int) -> Iterator[bytes]:
        is_of_group = self._row["consumer"] == "group"
        polling = Polling(
            consumer=CONSUMER,
            kind=GROUP_KIND if is_of_group else CONSUMER_KIND,
            partition=partition,
            strategy=_STRATEGIES[self._row["strategy"]],
            value=self._value(partition),
            auto_commit=int(self._row["commit"] == "commit"),
        )
        if self._row["consumer"] == "polled-http":
            yield from self._get(polling)
            return
        polled = self._server.poll(self._topic, polling, on=self._connect())
        self.unread = self.unread or observe_unread(polled)
        yield from (each.payload for each in polled.messages)

    def _get(self, polling: Polling) -> Iterator[bytes]:
        polled = self._request(polling)
        self.unread = self.unread or observe_unread_json(polled)
        for each in polled.objects:
            payload = each.get("payload")
            if isinstance(payload, str):
                yield base64.b64decode(payload)

    def _request(self, polling: Polling) -> JsonPolled:
        return self._server.get(
            self._topic,
            id=polling.consumer,
            consumer_id=polling.consumer,
            partition_id=polling.partition,
            kind=STRATEGIES[polling.strategy],
            value=polling.value,
            count=polling.count,
            auto_commit="true" if polling.auto_commit else "false",
        )

    def _value(self, partition: int) -> int:
        """Return the value of a poll; a group's poll may be of any partition."""
        if self._row["strategy"] != "by-timestamp":
            return 0
        if self._row["consumer"] == "group":
            # Each partition has an older message, and the row's own messages are newer.
            return max(self._times.values())
        return self._times[partition]

    def _connect(self) -> Connection:
        if self._connection is None:
            is_of_group = self._row["consumer"] == "group"
            self._connection = (
                join_group(self._server, self._topic, CONSUMER)
                if is_of_group
                else self._server.connect()
            )
        return self._connection
