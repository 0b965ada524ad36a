"""The ledger of generation apache: what arrives is judged in whichever case it arrives.

Topics belong to one case each, and servers use their numbers again: so everything is matched
within one run of a case. A connection is read as long as its bytes are whole requests.
"""

import contextlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Final

from wireproof_kit.iggy.apache import rules
from wireproof_kit.iggy.apache.asked import Asked, Connection, OfConsumer, Sent, decode_asked
from wireproof_kit.iggy.apache.partitions import NONE, Before, Partition, find_gaps, judge_told
from wireproof_kit.iggy.apache.rules import LAW, Content
from wireproof_kit.ledger.entries import BOUND, Entry, Fate, Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes, count_broken
from wireproof_kit.wire.transcript import Step
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import BATCH, Batch, MessageFrame, check_batch
from wireproof_spec.iggy.apache.bodies.messages import (
    CONSUMER_OFFSET,
    DeleteConsumerOffset,
    GetConsumerOffset,
    PollMessages,
    SendBytes,
    SendMetadata,
    StoreConsumerOffset,
)
from wireproof_spec.iggy.apache.bodies.resources import TOPIC_DETAILS
from wireproof_spec.iggy.apache.bodies.results import CONFIRMATIONS, RESULT
from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.frames import (
    Eviction,
    Frame,
    NeedMore,
    Reply,
    decode_answer,
    decode_request,
)
from wireproof_spec.iggy.apache.header import HEADER_SIZE, RequestHeader
from wireproof_spec.iggy.apache.polled import Polled, decode_polled
from wireproof_spec.iggy.apache.statuses import OK
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.kinds import (
    AUTO_COMMIT,
    CONSUMER_KIND,
    FIRST,
    LAST,
    MESSAGES_KEY,
    NEXT,
    PARTITION_ID,
    TIMESTAMP,
)
from wireproof_spec.wire_error import WireError

_STRATEGY_WAYS: Final = {
    TIMESTAMP: "by-timestamp",
    FIRST: "by-first",
    LAST: "by-last",
    NEXT: "by-next",
}
_DELETING: Final = (operations.DELETE_STREAM, operations.DELETE_TOPIC)

_Key = tuple[Hashable, int]
"""A topic, and a partition of it."""


class ApacheLedger:
    """Judges what a server sent in the cases of one run, in the shapes of its protocol number."""

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self.outcomes = Outcomes()

    def read(self, case: str, steps: Iterable[Step], started_ms: float | None = None) -> None:
        """Read and judge the steps of a run of a case."""
        reader = _CaseReader(case, self._envelope, self.outcomes)
        for step in steps:
            reader.see(step)

    def conclude(self) -> Outcomes:
        """Return what all cases showed."""
        return self.outcomes


class _CaseReader:
    def __init__(self, case: str, envelope: Envelope, outcomes: Outcomes) -> None:
        self._case, self._envelope, self._outcomes = case, envelope, outcomes
        self._connections: dict[str, Connection] = {}
        self._topics: dict[str, int] = {}
        self._sent: dict[int | str, list[Sent]] = {}
        self._partitions: dict[_Key, Partition] = {}
        self._keys: dict[tuple[int | str, bytes], int] = {}
        self._mixed: set[int | str] = set()
        """Topics of which there may be two of one number: in two streams, or one after another."""
        self._has_odd_deltas = False
        self._are_all_known = True
        """Whether every message that the server was given is known here."""
        self._at = Place(case, Step(0, "", "note"))

    def see(self, step: Step) -> None:
        """Read a step."""
        self._at = Place(self._case, step)
        connection = self._connections.setdefault(step.connection, Connection())
        if step.kind == "send" and not connection.is_lost:
            self._send(connection, step.data)
        elif step.kind == "receive":
            self._receive(connection, step)
        elif step.kind == "request":
            self._are_all_known = False

    def _send(self, connection: Connection, data: bytes) -> None:
        connection.reader.feed(data)
        try:
            while not isinstance(frame := connection.reader.next_frame(), NeedMore):
                request = decode_request(frame)
                connection.asked[request.header.request] = self._ask(request.header, frame.body)
                connection.clients.add(request.header.client)
        except WireError:
            connection.is_lost = True
            self._are_all_known = False

    def _ask(self, header: RequestHeader, body: bytes) -> Asked:
        if header.operation in _DELETING:
            self._mixed.update(self._topics.values())
        try:
            asked = decode_asked(header, body)
        except WireError:
            self._are_all_known = False
            return Asked(header)
        if isinstance(asked, SendBytes):
            return Asked(header, sent=self._take(asked.metadata, asked.batch))
        return Asked(header, asked, before=self._before(asked) if asked else None)

    def _before(self, asked: OfConsumer) -> Before | None:
        """Return what is known of a consumer, if its topic was made in this case."""
        topic = self._topic(asked.topic)
        is_own = topic in self._topics.values() and topic not in self._mixed
        if not is_own or asked.consumer.kind != CONSUMER_KIND:
            return None
        changes = not isinstance(asked, GetConsumerOffset)
        if isinstance(asked, PollMessages):
            changes = asked.auto_commit == AUTO_COMMIT
        partition = self._partition(topic, asked.partition.partition_id)
        return partition.before(asked.consumer, changes=changes)

    def _partition(self, topic: Hashable, number: int) -> Partition:
        return self._partitions.setdefault((topic, number), Partition())

    def _take(self, metadata: SendMetadata, data: bytes) -> Sequence[Sent]:
        try:
            batch = decode(BATCH, data)
        except WireError:
            self._are_all_known = False
            return ()
        flaw = _flaw_of(batch)
        deltas = [frame.offset_delta for frame in batch.frames]
        is_odd = deltas != [*range(len(deltas))]
        self._has_odd_deltas = self._has_odd_deltas or is_odd
        how = metadata.partitioning
        key = how.value if how.kind == MESSAGES_KEY else b""
        number = int.from_bytes(how.value, "little") if how.kind == PARTITION_ID else None
        topic, together = self._topic(metadata.topic), len(batch.frames)
        is_free = bool(flaw) or is_odd or metadata.messages_count != together
        entries = [
            Entry(
                Content(frame, batch.header.origin_timestamp, number, together, flaw, key),
                topic,
                self._at,
                frozenset({"batch"}) if together > 1 else frozenset(),
                Fate.FREE if is_free else Fate.AWAITED,
            )
            for frame in batch.frames
        ]
        self._sent.setdefault(topic, []).extend(entries)
        return entries

    def _topic(self, topic: Identifier) -> int | str:
        if topic.name is None:
            return topic.number or 0
        return self._topics.get(topic.name, topic.name)

    def _receive(self, connection: Connection, step: Step) -> None:
        if step.note or len(step.data) < HEADER_SIZE:
            return
        try:
            answer = decode_answer(Frame(step.data[:HEADER_SIZE], step.data[HEADER_SIZE:]))
        except WireError:
            return
        if not connection.is_lost:
            self._add(rules.judge_addressee(connection.asked, connection.clients, answer), ())
        if isinstance(answer, Eviction):
            self._add(rules.judge_eviction(answer), ())
            return
        asked = connection.asked.get(answer.header.request)
        if asked is None:
            return
        self._add(rules.judge_reply(asked.header, answer, self._envelope), ())
        self._follow(asked, answer)

    def _follow(self, asked: Asked, reply: Reply) -> None:
        is_done = reply.header.status == OK
        for entry in asked.sent:
            entry.settle(Fate.ACCEPTED if is_done else Fate.REFUSED, self._at)
        if isinstance(asked.body, StoreConsumerOffset | DeleteConsumerOffset):
            self._follow_change(asked.body, asked.before, reply)
        elif is_done:
            self._follow_done(asked, reply)

    def _follow_done(self, asked: Asked, reply: Reply) -> None:
        if asked.header.operation == operations.CREATE_TOPIC:
            self._note_topic(reply.body)
        for topic in {entry.destination for entry in asked.sent}:
            self._note_confirmed(topic, len(asked.sent), reply.body)
        if isinstance(asked.body, GetConsumerOffset):
            self._judge_told(asked.body, asked.before, reply.body)
        if not isinstance(asked.body, PollMessages):
            return
        try:
            polled = decode_polled(self._envelope, reply.body)
        except WireError as error:
            value = "layout:undecodable"
            self._add([Finding(f"{LAW}message.layout", value, str(error))], ())
            return
        self._judge_poll(asked.body, polled, asked.before)

    def _note_confirmed(self, topic: Hashable, count: int, body: bytes) -> None:
        with contextlib.suppress(WireError):
            for each in decode(CONFIRMATIONS, body).confirmations:
                partition = self._partition(topic, each.partition_id)
                last = each.base_offset + count - 1
                partition.confirmed = max(partition.confirmed, last)

    def _follow_change(
        self,
        change: StoreConsumerOffset | DeleteConsumerOffset,
        before: Before | None,
        reply: Reply,
    ) -> None:
        """Follow what a request that stores or deletes an offset has come to."""
        if before is None:
            return
        may_be: frozenset[int] = before.may_be
        try:
            is_done = reply.header.status == OK and not decode(RESULT, reply.body).rejections
        except WireError:
            may_be, is_done = frozenset[int](), False
        due = change.offset if isinstance(change, StoreConsumerOffset) else NONE
        before.stored.settle(before, frozenset({due}) if is_done else may_be)

    def _judge_told(self, asked: GetConsumerOffset, before: Before | None, body: bytes) -> None:
        if before is None:
            return
        try:
            told = decode(CONSUMER_OFFSET, body) if body else None
        except WireError as error:
            self._add([Finding(f"{LAW}offset.store-get", "offset:other", str(error))], ())
            return
        number = asked.partition.partition_id
        way = ("other-partition",) if number else ()
        self._add(judge_told(number, before, told), way)

    def _note_topic(self, body: bytes) -> None:
        try:
            topic = decode(TOPIC_DETAILS, decode(RESULT, body).payload).topic
        except WireError:
            return
        if topic.id in self._topics.values():
            self._mixed.add(topic.id)
        self._topics[topic.name] = topic.id

    def _judge_poll(self, poll: PollMessages, polled: Polled, before: Before | None) -> None:
        way = frozenset(_way_of(poll))
        self._add(rules.judge_head(poll, polled), way)
        if polled.batches:
            self._add([Finding(f"{LAW}message.layout")], way)
        if not self._has_odd_deltas:
            self._add(rules.judge_order(polled.batches), way)
        self._add(rules.judge_times(polled.batches), way)
        partition = self._partition(self._topic(poll.topic), poll.partition.partition_id)
        if before is not None:
            if not self._has_odd_deltas:
                self._add(partition.judge_poll(poll, before, polled), way)
                gaps = find_gaps(poll, before, polled.offsets)
                partition.gaps += [(gap, way, self._at) for gap in gaps]
            partition.commit(poll, before, polled.offsets)
        for batch in polled.batches:
            is_slice = bool(batch.frames) and batch.frames[0].offset_delta > 0
            of_batch = way | {"slice"} if is_slice else way
            self._add(rules.judge_batch(poll, batch), of_batch)
            for frame in batch.frames:
                self._judge_frame(poll, batch, frame, of_batch)

    def _judge_frame(
        self, poll: PollMessages, batch: Batch, frame: MessageFrame, way: frozenset[str]
    ) -> None:
        topic, partition = self._topic(poll.topic), poll.partition.partition_id
        known = self._partition(topic, partition)
        offset, time_us = (
            batch.header.base_offset + frame.offset_delta,
            batch.header.base_timestamp,
        )
        if offset in known.seen and not self._has_odd_deltas:
            way |= {"again"}
            self._add([rules.judge_same(known.seen[offset], frame)], way)
            self._add([rules.judge_kept_time(known.times[offset], time_us)], way)
        elif not self._has_odd_deltas:
            for gap, its_way, place in known.gaps:
                self._add(gap.judge(offset, time_us), its_way, (place, self._at))
        known.note(offset, frame, time_us)
        self._judge_place(topic, partition, frame, way)
        entries = self._find(topic, partition, frame)
        if not entries:
            return
        flawed = [entry for entry in entries if entry.content.flaw]
        if flawed and len(flawed) == len(entries):
            self._judge_flawed(frame, flawed[0], way)
        if not all(entry.fate in (*BOUND, Fate.AWAITED) for entry in entries):
            return
        origin = batch.header.origin_timestamp
        judged = [
            (entry, [*rules.judge_message(frame, origin, entry.content)]) for entry in entries
        ]
        entry, findings = min(judged, key=lambda each: count_broken(each[1]))
        self._add(findings, way | entry.way, entry.evidence(self._at))

    def _judge_place(
        self, topic: int | str, partition: int, frame: MessageFrame, way: frozenset[str]
    ) -> None:
        """Judge the partition of a message: the one named, or that of others with its key."""
        if not frame.id or topic in self._mixed:
            return
        same = [
            entry.content
            for entry in self._sent.get(topic, ())
            if entry.content.frame.id == frame.id and entry.content.frame.payload == frame.payload
        ]
        if same:
            self._add(rules.judge_place(partition, same), way)
        key = same[0].key if len(same) == 1 else b""
        if key:
            due = self._keys.setdefault((topic, key), partition)
            self._add([rules.judge_key(due, partition)], way)

    def _judge_flawed(self, frame: MessageFrame, entry: Sent, way: frozenset[str]) -> None:
        """Judge that a message was polled whose batch was not to be stored."""
        if frame == entry.content.frame:
            finding = Finding(entry.content.flaw, "unwanted")
            self._add([finding], way, entry.evidence(self._at))

    def _find(self, topic: int | str, partition: int, frame: MessageFrame) -> Sequence[Sent]:
        """Return the messages that may explain a polled one: those of its id, or its payload."""
        near = [
            entry
            for entry in self._sent.get(topic, ())
            if entry.content.partition in (None, partition)
        ]
        same = [entry for entry in near if entry.content.frame.id == frame.id]
        if same or not self._are_all_known:
            return same
        return [entry for entry in near if entry.content.frame.payload == frame.payload]

    def _add(
        self, findings: Iterable[Finding], way: Iterable[str], evidence: Sequence[Place] = ()
    ) -> None:
        for finding in findings:
            self._outcomes.add(finding, way, evidence or (self._at,))


def _flaw_of(batch: Batch) -> str:
    """Return the clause by which a batch must not be stored; nothing for a right one."""
    try:
        check_batch(batch)
    except WireError as error:
        return error.clause
    return ""


def _way_of(poll: PollMessages) -> Iterator[str]:
    if poll.strategy in _STRATEGY_WAYS:
        yield _STRATEGY_WAYS[poll.strategy]
    if poll.auto_commit:
        yield "auto-commit"
    if poll.partition.partition_id:
        yield "other-partition"
