"""The ledger of generation apache: what arrives is judged in whichever case it arrives.

Topics belong to one case each, and servers use their numbers again: so everything is matched
within one run of a case. A connection is read as long as its bytes are whole requests.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.iggy.apache import rules
from wireproof_kit.iggy.apache.rules import LAW, Content
from wireproof_kit.ledger.entries import BOUND, Entry, Fate, Place
from wireproof_kit.ledger.outcomes import Finding, Outcomes, count_broken
from wireproof_kit.wire.transcript import Step
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import BATCH, Batch, MessageFrame, check_batch
from wireproof_spec.iggy.apache.bodies.messages import (
    POLL_MESSAGES,
    SEND_BYTES,
    PollMessages,
    SendMetadata,
)
from wireproof_spec.iggy.apache.bodies.resources import TOPIC_DETAILS
from wireproof_spec.iggy.apache.bodies.results import RESULT
from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.frames import (
    Eviction,
    Frame,
    FrameReader,
    NeedMore,
    Reply,
    decode_answer,
    decode_request,
)
from wireproof_spec.iggy.apache.header import HEADER_SIZE, RequestHeader
from wireproof_spec.iggy.apache.polled import Polled, decode_polled
from wireproof_spec.iggy.apache.statuses import OK
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.kinds import FIRST, LAST, NEXT, PARTITION_ID, TIMESTAMP
from wireproof_spec.wire_error import WireError

_STRATEGY_WAYS: Final = {
    TIMESTAMP: "by-timestamp",
    FIRST: "by-first",
    LAST: "by-last",
    NEXT: "by-next",
}
_ANY_SIZE: Final = 1 << 32

Sent = Entry[Content]
Seen = tuple[int | str, int, int]
"""A topic, a partition of it, and an offset."""


@dataclass(slots=True)
class _Asked:
    header: RequestHeader
    poll: PollMessages | None = None
    sent: Sequence[Sent] = ()


@dataclass(slots=True)
class _Connection:
    reader: FrameReader = field(default_factory=lambda: FrameReader(_ANY_SIZE))
    asked: dict[int, _Asked] = field(default_factory=dict[int, _Asked])
    is_lost: bool = False


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
        self._connections: dict[str, _Connection] = {}
        self._topics: dict[str, int] = {}
        self._sent: dict[int | str, list[Sent]] = {}
        self._seen: dict[Seen, MessageFrame] = {}
        self._has_odd_deltas = False
        self._are_all_known = True
        """Whether every message that the server was given is known here."""
        self._at = Place(case, Step(0, "", "note"))

    def see(self, step: Step) -> None:
        """Read a step."""
        self._at = Place(self._case, step)
        connection = self._connections.setdefault(step.connection, _Connection())
        if step.kind == "send" and not connection.is_lost:
            self._send(connection, step.data)
        elif step.kind == "receive":
            self._receive(connection, step)
        elif step.kind == "request":
            self._are_all_known = False

    def _send(self, connection: _Connection, data: bytes) -> None:
        connection.reader.feed(data)
        try:
            while not isinstance(frame := connection.reader.next_frame(), NeedMore):
                request = decode_request(frame)
                connection.asked[request.header.request] = self._ask(request.header, frame.body)
        except WireError:
            connection.is_lost = True
            self._are_all_known = False

    def _ask(self, header: RequestHeader, body: bytes) -> _Asked:
        try:
            if header.operation == operations.SEND_MESSAGES:
                asked = decode(SEND_BYTES, body)
                return _Asked(header, sent=self._take(asked.metadata, asked.batch))
            is_poll = (header.operation, header.code) == (
                operations.NON_REPLICATED,
                operations.POLL_MESSAGES,
            )
            return _Asked(header, decode(POLL_MESSAGES, body) if is_poll else None)
        except WireError:
            self._are_all_known = False
            return _Asked(header)

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
        number = int.from_bytes(how.value, "little") if how.kind == PARTITION_ID else None
        topic, together = self._topic(metadata.topic), len(batch.frames)
        is_free = bool(flaw) or is_odd or metadata.messages_count != together
        entries = [
            Entry(
                Content(frame, batch.header.origin_timestamp, number, together, flaw),
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

    def _receive(self, connection: _Connection, step: Step) -> None:
        if step.note or len(step.data) < HEADER_SIZE:
            return
        try:
            answer = decode_answer(Frame(step.data[:HEADER_SIZE], step.data[HEADER_SIZE:]))
        except WireError:
            return
        if isinstance(answer, Eviction):
            self._add(rules.judge_eviction(answer), ())
            return
        asked = connection.asked.get(answer.header.request)
        if asked is None:
            return
        self._add(rules.judge_reply(asked.header, answer, self._envelope), ())
        for entry in asked.sent:
            is_done = answer.header.status == OK
            entry.settle(Fate.ACCEPTED if is_done else Fate.REFUSED, self._at)
        if answer.header.status == OK:
            self._follow(asked, answer)

    def _follow(self, asked: _Asked, reply: Reply) -> None:
        if asked.header.operation == operations.CREATE_TOPIC:
            self._note_topic(reply.body)
        if asked.poll is None:
            return
        try:
            polled = decode_polled(self._envelope, reply.body)
        except WireError as error:
            value = "layout:undecodable"
            self._add([Finding(f"{LAW}message.layout", value, str(error))], ())
            return
        self._judge_poll(asked.poll, polled)

    def _note_topic(self, body: bytes) -> None:
        try:
            topic = decode(TOPIC_DETAILS, decode(RESULT, body).payload).topic
        except WireError:
            return
        self._topics[topic.name] = topic.id

    def _judge_poll(self, poll: PollMessages, polled: Polled) -> None:
        way = frozenset(_way_of(poll))
        self._add(rules.judge_head(poll, polled), way)
        if polled.batches:
            self._add([Finding(f"{LAW}message.layout")], way)
        if not self._has_odd_deltas:
            self._add(rules.judge_order(polled.batches), way)
        self._add(rules.judge_times(polled.batches), way)
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
        place = topic, partition, batch.header.base_offset + frame.offset_delta
        if place in self._seen and not self._has_odd_deltas:
            way |= {"again"}
            self._add([rules.judge_same(self._seen[place], frame)], way)
        self._seen[place] = frame
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
