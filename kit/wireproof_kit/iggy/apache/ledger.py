"""The ledger of generation apache: what arrives is judged in whichever case it arrives.

Topics belong to one case each, and servers use their numbers again: so everything is matched
within one run of a case. A connection is read as long as its bytes are whole requests.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from wireproof_kit.iggy.apache import rules
from wireproof_kit.iggy.apache.asked import Asked, Connection, Sent, decode_asked
from wireproof_kit.iggy.apache.http_reading import POLLED, HttpReader
from wireproof_kit.iggy.apache.json_messages import from_frame, judge_sent
from wireproof_kit.iggy.apache.known import Known, way_of
from wireproof_kit.iggy.apache.partitions import NONE, Before, commit, find_gaps, judge_told
from wireproof_kit.iggy.apache.rules import LAW, Content
from wireproof_kit.ledger.entries import Entry, Fate
from wireproof_kit.ledger.outcomes import Finding, Outcomes
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
from wireproof_spec.iggy.kinds import (
    MESSAGES_KEY,
    PARTITION_ID,
)
from wireproof_spec.step_notes import DAMAGED
from wireproof_spec.wire_error import WireError

_DELETING: Final = (operations.DELETE_STREAM, operations.DELETE_TOPIC)


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
        self._envelope = envelope
        self._known = Known(case, outcomes)
        self._http = HttpReader(self._known)
        self._connections: dict[str, Connection] = {}
        self._is_damaged = False

    def see(self, step: Step) -> None:
        """Read a step."""
        self._known.see(step)
        if self._is_damaged:
            return
        connection = self._connections.setdefault(step.connection, Connection())
        if step.kind == "send" and not connection.is_lost:
            self._send(connection, step.data)
        elif step.kind == "receive":
            self._receive(connection, step)
        elif step.kind == "request":
            self._http.request(step)
        elif step.kind == "response":
            self._http.response(step)
        elif step.kind == "note":
            self._is_damaged = step.note == DAMAGED

    def _send(self, connection: Connection, data: bytes) -> None:
        connection.reader.feed(data)
        try:
            while not isinstance(frame := connection.reader.next_frame(), NeedMore):
                request = decode_request(frame)
                connection.asked[request.header.request] = self._ask(request.header, frame.body)
                connection.clients.add(request.header.client)
        except WireError:
            connection.is_lost = True
            self._known.are_all_known = False

    def _ask(self, header: RequestHeader, body: bytes) -> Asked:
        if header.operation in _DELETING:
            self._known.forget_topics()
        try:
            asked = decode_asked(header, body)
        except WireError:
            self._known.are_all_known = False
            return Asked(header)
        if isinstance(asked, SendBytes):
            return Asked(header, sent=self._take(asked.metadata, asked.batch))
        return Asked(header, asked, before=self._known.before(asked) if asked else None)

    def _take(self, metadata: SendMetadata, data: bytes) -> Sequence[Sent]:
        try:
            batch = decode(BATCH, data)
        except WireError:
            self._known.are_all_known = False
            return ()
        flaw = _flaw_of(batch)
        deltas = [frame.offset_delta for frame in batch.frames]
        is_odd = deltas != [*range(len(deltas))]
        self._known.has_odd_deltas = self._known.has_odd_deltas or is_odd
        how = metadata.partitioning
        key = how.value if how.kind == MESSAGES_KEY else b""
        number = int.from_bytes(how.value, "little") if how.kind == PARTITION_ID else None
        topic, together = self._known.topic(metadata.topic), len(batch.frames)
        is_free = bool(flaw) or is_odd or metadata.messages_count != together
        entries = [
            Entry(
                Content(frame, batch.header.origin_timestamp, number, together, flaw, key),
                topic,
                self._known.at,
                frozenset({"batch"}) if together > 1 else frozenset(),
                Fate.FREE if is_free else Fate.AWAITED,
            )
            for frame in batch.frames
        ]
        self._known.keep(topic, entries)
        return entries

    def _receive(self, connection: Connection, step: Step) -> None:
        if step.note or len(step.data) < HEADER_SIZE:
            return
        try:
            answer = decode_answer(Frame(step.data[:HEADER_SIZE], step.data[HEADER_SIZE:]))
        except WireError:
            return
        if not connection.is_lost:
            self._known.add(
                rules.judge_addressee(connection.asked, connection.clients, answer), ()
            )
        if isinstance(answer, Eviction):
            self._known.add(rules.judge_eviction(answer))
            return
        asked = connection.asked.get(answer.header.request)
        if asked is None:
            return
        self._known.add(rules.judge_reply(asked.header, answer, self._envelope))
        self._follow(asked, answer)

    def _follow(self, asked: Asked, reply: Reply) -> None:
        is_done = reply.header.status == OK
        for entry in asked.sent:
            entry.settle(Fate.ACCEPTED if is_done else Fate.REFUSED, self._known.at)
        if isinstance(asked.body, StoreConsumerOffset | DeleteConsumerOffset):
            self._follow_change(asked.body, asked.before, reply)
        elif is_done:
            self._follow_done(asked, reply)

    def _follow_done(self, asked: Asked, reply: Reply) -> None:
        if asked.header.operation == operations.CREATE_TOPIC:
            self._note_topic(reply.body)
        if asked.sent:
            self._note_confirmed(asked.sent, reply.body)
        if isinstance(asked.body, GetConsumerOffset):
            self._judge_told(asked.body, asked.before, reply.body)
        if not isinstance(asked.body, PollMessages):
            return
        try:
            polled = decode_polled(self._envelope, reply.body)
        except WireError as error:
            value = "layout:undecodable"
            self._known.add([Finding(f"{LAW}message.layout", value, str(error))])
            return
        self._judge_poll(asked.body, polled, asked.before)

    def _note_confirmed(self, sent: Sequence[Sent], body: bytes) -> None:
        try:
            found = decode(CONFIRMATIONS, body).confirmations
        except WireError:
            return
        for each in found:
            partition = self._known.partition(sent[0].destination, each.partition_id)
            partition.confirm(each.base_offset, [entry.content.frame for entry in sent])

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
            self._known.add([Finding(f"{LAW}offset.store-get", "offset:other", str(error))])
            return
        number = asked.partition.partition_id
        way = ("other-partition",) if number else ()
        self._known.add(judge_told(number, before, told), way)

    def _note_topic(self, body: bytes) -> None:
        try:
            topic = decode(TOPIC_DETAILS, decode(RESULT, body).payload).topic
        except WireError:
            return
        self._known.add_topic(topic.name, topic.id)

    def _judge_poll(self, poll: PollMessages, polled: Polled, before: Before | None) -> None:
        way = frozenset(way_of(poll))
        self._known.add(rules.judge_head(poll, polled), way)
        if polled.batches:
            self._known.add([Finding(f"{LAW}message.layout")], way)
        if not self._known.has_odd_deltas:
            self._known.add(rules.judge_order(polled.batches), way)
        self._known.add(rules.judge_times(polled.batches), way)
        number = _partition_of(poll, polled)
        partition = self._known.partition(self._known.topic(poll.topic), number)
        if before is not None:
            if not self._known.has_odd_deltas:
                self._known.add(partition.judge_poll(poll, before, polled), way)
                gaps = find_gaps(poll, before, polled.offsets)
                partition.gaps += [(gap, way, self._known.at) for gap in gaps]
            commit(poll, before, polled.offsets)
        for batch in polled.batches:
            is_slice = bool(batch.frames) and batch.frames[0].offset_delta > 0
            of_batch = way | {"slice"} if is_slice else way
            self._known.add(rules.judge_batch(poll, batch), of_batch)
            for frame in batch.frames:
                self._judge_frame(poll, number, batch, frame, of_batch)

    def _judge_frame(
        self,
        poll: PollMessages,
        partition: int,
        batch: Batch,
        frame: MessageFrame,
        way: frozenset[str],
    ) -> None:
        topic = self._known.topic(poll.topic)
        known = self._known.partition(topic, partition)
        offset, time_us = (
            batch.header.base_offset + frame.offset_delta,
            batch.header.base_timestamp,
        )
        if offset in known.seen and not self._known.has_odd_deltas:
            way |= {"again"}
            self._known.add([rules.judge_same(known.seen[offset], frame)], way)
            self._known.add([rules.judge_kept_time(known.times[offset], time_us)], way)
        elif not self._known.has_odd_deltas:
            for gap, its_way, place in known.gaps:
                self._known.add(gap.judge(offset, time_us), its_way, (place, self._known.at))
            self._known.add(self._known.judge_once(topic, known, offset, frame), way)
        origin_us = batch.header.origin_timestamp
        known.note(offset, frame, time_us, origin_us)
        if offset in known.shown and not self._known.has_odd_deltas:
            self._known.add(known.judge_shown(known.shown[offset]), way | {POLLED})
        sent = frame.id, frame.payload
        self._known.add(self._known.judge_place(topic, partition, *sent), way)
        entries = self._known.find(topic, partition, *sent)
        flawed = [entry for entry in entries if entry.content.flaw]
        if flawed and len(flawed) == len(entries):
            self._judge_flawed(frame, flawed[0], way)

        def judge(content: Content) -> Iterator[Finding]:
            if content.origin_us is not None:
                return rules.judge_message(frame, origin_us, content)
            found = from_frame(frame, offset, time_us, origin_us)
            return judge_sent(found, content.frame, None)

        self._known.judge_best(entries, judge, way)

    def _judge_flawed(self, frame: MessageFrame, entry: Sent, way: frozenset[str]) -> None:
        """Judge that a message was polled whose batch was not to be stored."""
        if frame == entry.content.frame:
            finding = Finding(entry.content.flaw, "unwanted")
            self._known.add([finding], way, entry.evidence(self._known.at))


def _partition_of(poll: PollMessages, polled: Polled) -> int:
    """Return the partition of a poll: without one in the request, the one that was answered."""
    return poll.partition.partition_id if poll.partition.flag else polled.head.partition_id


def _flaw_of(batch: Batch) -> str:
    """Return the clause by which a batch must not be stored; nothing for a right one."""
    try:
        check_batch(batch)
    except WireError as error:
        return error.clause
    return ""
