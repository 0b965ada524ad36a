"""The rows of the covering array of generation apache: what each sends, and how it polls."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from msgspec.structs import replace as change

from wireproof_kit.covering_array import Row, read_rows
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.batches import batch, field_bytes, message, now_us
from wireproof_kit.iggy.apache.connection import Connection
from wireproof_kit.iggy.apache.observe import Polled, observe, observe_unread, read_polled
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, MessageFrame, seal_batch, seal_frame
from wireproof_spec.iggy.bodies.partitioning import (
    Partitioning,
    make_balanced,
    messages_key,
    partition_id,
)
from wireproof_spec.iggy.header_kinds import BOOL, HEADER_KINDS, KIND_WIDTHS, STRING, UINT8
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, OFFSET, TIMESTAMP
from wireproof_suites.iggy.apache import steps

ROWS = read_rows(Path(__file__).parent)
CONSUMERS: Mapping[str, int | str] = {"numbered": 0x107, "named": "wp_consumer"}
ONLOOKER = 99
FEW, ALL = 2, 100

_PARTITIONS = {"only-partition": 1, "last-partition": 3}
PARTITIONINGS: Mapping[str, Partitioning | None] = {
    "partition-id": None,
    "balanced": make_balanced(),
    "key": messages_key(b"key of more than four bytes"),
}
_UNKNOWN_KIND = 200
_PAST_US = 978_307_200_123_456
_LARGE = 66_000
_HIGH_BIT = 1 << 127
STRATEGIES = {
    "by-offset": OFFSET,
    "by-timestamp": TIMESTAMP,
    "by-first": FIRST,
    "by-last": LAST,
    "by-next": NEXT,
}


def _text(value: bytes) -> bytes:
    return field_bytes(STRING, value)


def _every_kind(*more: int) -> bytes:
    """Return a header of each kind, and of more; the bytes of a value differ from one another."""
    fields: list[bytes] = []
    for kind in (*HEADER_KINDS, *more):
        value = bytes(range(0x71, 0x71 + KIND_WIDTHS.get(kind, 7)))
        value = b"\x00" if kind == BOOL else b"v" * 255 if kind == STRING else value
        fields.append(_text(b"Kind %d" % kind) + field_bytes(kind, value))
    return b"".join(reversed(fields))


NAMED_KINDS = _every_kind()
HEADERS = {
    "headers": _text(b"z") + _text(b" last ") + _text(b"Name") + field_bytes(UINT8, b"\x01"),
    "no-headers": b"",
    "every-kind": _every_kind(_UNKNOWN_KIND),
    "typed-keys": field_bytes(UINT8, b"\x07")
    + field_bytes(4, b"\xff")
    + _text(b"k")
    + _text(b"v"),
}
_PAYLOADS = {"small": b"payload\r\n ", "large": b"p" * _LARGE, "empty": b""}


def _in_last(spoil: Callable[[MessageFrame], MessageFrame]) -> Callable[[Batch], Batch]:
    return lambda each: seal_batch(Batch(each.header, (*each.frames[:-1], spoil(each.frames[-1]))))


_SPOILT: Sequence[Callable[[Batch], Batch]] = (
    _in_last(lambda each: change(each, checksum=each.checksum ^ 1)),
    lambda each: Batch(
        change(each.header, batch_checksum=each.header.batch_checksum ^ 1), each.frames
    ),
    lambda each: seal_batch(
        Batch(change(each.header, reserved=b"\x01" + bytes(203)), each.frames)
    ),
    _in_last(lambda each: seal_frame(change(each, reserved=1))),
)
"""What makes a right batch one that must not be stored."""


def make_topic(server: ApacheServer, row: Row) -> Topic:
    """Return a new topic of one partition, or of three with the last one as its own."""
    partitions = _PARTITIONS[row["partition"]]
    return replace(server.new_topic(partitions), partition=partitions - 1)


def make_batch(row: Row, mark: bytes = b"") -> Batch:
    """Return the batch of a row: ids of all bits, times of their own, payloads that differ."""
    several = row["batch"] == "several"
    base = _PAYLOADS[row["payload"]]
    frames: list[MessageFrame] = []
    for number in range(1 + 3 * several):
        made = message(
            base and mark + base + bytes([number, 0]),
            block=HEADERS[row["headers"]],
            delta_us=1_000_000 * number,
        )
        frames.append(change(made, id=made.id | _HIGH_BIT))
    return batch(*frames, origin_us=now_us() if row["time"] == "now" else _PAST_US)


def send(server: ApacheServer, topic: Topic, row: Row) -> set[int]:
    """Send the batches of a row, then two messages to each partition; return the ids that are due.

    In front of the right batch go some that must not be stored.

    What a server may refuse (empty payloads, keys that are no strings) is left out if it does.
    """
    where = topic.by_name if row["place"] == "by-name" else topic.by_number
    how = PARTITIONINGS[row["partitioning"]] or partition_id(topic.partition)
    for spoil in _SPOILT:
        spoilt = spoil(make_batch(row, b"spoilt "))
        _send_spoilt(server, requests.send_body(where, how, spoilt))
    right = make_batch(row)
    answer = server.ask(operations.SEND_MESSAGES, requests.send_body(where, how, right))
    if observe(answer).value != "ok" and (row["payload"], row["headers"]) != ("small", "headers"):
        server.reconnect()
        right = make_batch({**row, "payload": "small", "headers": "headers"})
        answer = server.ask(operations.SEND_MESSAGES, requests.send_body(where, how, right))
    due = {frame.id for frame in right.frames} if observe(answer).value == "ok" else set[int]()
    for number in range(topic.partitions):
        sentinels = message(b"sentinel"), message(b"last")
        server.send_accepted(topic, *sentinels, partition=number)
        due |= {sentinel.id for sentinel in sentinels}
    return due


def _send_spoilt(server: ApacheServer, body: Outgoing) -> None:
    client = server.client
    answer = client.ask_before(client.request(operations.SEND_MESSAGES, body))
    if answer.kind in ("closed", "evicted", "nonsense"):
        server.reconnect()


class RowConsumer:
    """Polls the partitions of a topic as a row says, and keeps the ids that came.

    ``unread`` is what is seen of the first poll that cannot be read.
    """

    def __init__(self, server: ApacheServer, topic: Topic, row: Row) -> None:
        self.came: set[int] = set()
        self.unread: Observation | None = None
        self._server, self._topic, self._row = server, topic, row
        self._who = CONSUMERS[row["consumer"]]
        self._strategy = STRATEGIES[row["strategy"]]
        self._times = dict.fromkeys(range(topic.partitions), 0)
        self._next = dict.fromkeys(range(topic.partitions), 0)
        self._connection: Connection | None = None

    def prepare(self) -> None:
        """Store messages in each partition, and note the time of the last batch of them."""
        sizes = (3, 1, 4) if self._row["number"] == "behind-many" else (1,)
        for number in self._times:
            steps.store(self._server, self._topic, sizes, partition=number)
            polled = self._server.poll_all(self._topic, Polling(partition=number))
            times = [each.header.base_timestamp for each in polled.batches]
            self._times[number] = max(times, default=0)

    def poll(self) -> None:
        """Poll each partition by the strategy, again behind what that stored, and to its end."""
        for number in range(self._topic.partitions):
            self._poll_by_strategy(number, 0)
            self._poll_by_strategy(number, 1)
            for polled in self._walk(number):
                self.came |= {frame.id for frame in polled.frames}
            # What can be polled by offset is known now: what is passed, or withheld, can be told.
            self._walk_next(number)
            self._server.stored_offset(self._topic, consumer=self._who, partition=number)

    def _poll_by_strategy(self, number: int, later_us: int) -> None:
        """Poll a partition once, or to its end, and ask what the consumer has stored then.

        A poll by time is from so much later than the time of a batch.
        """
        if self._strategy == NEXT:
            self._walk_next(number)
        else:
            self._poll(number, self._strategy, self._times[number] + later_us)
        self._server.stored_offset(self._topic, consumer=self._who, partition=number)

    def look_over(self) -> None:
        """Poll each partition from its beginning, as another consumer, all at once."""
        for number in range(self._topic.partitions):
            self._server.poll_all(self._topic, Polling(partition=number, consumer=ONLOOKER))

    def reconnect(self) -> None:
        """Close the connection; the next poll comes on a new one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def forget(self) -> None:
        """Forget what came."""
        self.came, self.unread = set(), None
        self._next = dict.fromkeys(self._next, 0)

    def _walk(self, number: int) -> Iterator[Polled]:
        """Poll a partition to its end, behind what came."""
        while True:
            polled = self._poll(number, OFFSET, self._next[number])
            yield polled
            offsets = polled.offsets
            if not offsets or offsets[-1] < self._next[number]:
                return
            self._next[number] = offsets[-1] + 1

    def _walk_next(self, number: int) -> None:
        """Poll a partition to its end behind the stored offset, if that is the strategy."""
        last = -1
        while self._strategy == NEXT:
            offsets = self._poll(number, NEXT, 0).offsets
            if not offsets or offsets[-1] <= last:
                return
            last = offsets[-1]
            if self._row["commit"] != "commit":
                self._server.store_offset(self._topic, last, consumer=self._who, partition=number)
            if self._row["poll"] == "reconnected":
                self.reconnect()

    def _poll(self, number: int, strategy: int, value: int) -> Polled:
        is_by_value = strategy in (OFFSET, TIMESTAMP)
        is_committing = self._row["commit"] == "commit"
        polling = Polling(
            strategy=strategy,
            value=value if is_by_value else 0,
            count=FEW if self._row["count"] == "few" else ALL,
            # To look by offset what there is must not move on what comes next.
            auto_commit=int(is_committing and (strategy == NEXT or self._strategy != NEXT)),
            consumer=self._who,
        )
        is_named = self._row["place"] == "by-name"
        where = self._topic.by_name if is_named else self._topic.by_number
        if self._connection is None:
            self._connection = self._server.connect()
        client = self._connection
        body = requests.poll_body(where, number, polling)
        answer = client.ask(client.read(operations.POLL_MESSAGES, body))
        polled = read_polled(answer, self._server.access.envelope)
        self.unread = self.unread or observe_unread(polled)
        return polled
