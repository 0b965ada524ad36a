"""Reads the steps of a transcript into entries and into events of topics.

A connection is read as long as its bytes are whole, well-formed requests: behind others the
order of the responses is not certain.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.clients.http_requests import HttpRequest, HttpRequests, NotHttp
from wireproof_kit.iggy.clients import http_decoder
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.control import PATH as CONTROL_PATH
from wireproof_kit.iggy.forms import Forms
from wireproof_kit.iggy.ledger.contents import (
    BATCH,
    HTTP,
    OTHER_PARTITION,
    Content,
    has_empty_header,
    is_refusable,
    is_strict,
    read_contents,
)
from wireproof_kit.iggy.ledger.events import (
    Changed,
    OffsetStored,
    OffsetTold,
    PollAnswered,
    TopicEvent,
)
from wireproof_kit.iggy.ledger.topics import TopicLife, Topics
from wireproof_kit.iggy.observe.polled import Polled, read_polled
from wireproof_kit.iggy.topics import FIRST_PARTITION
from wireproof_kit.iggy.wire import generations
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.http import JsonPolled, is_success, json_polled
from wireproof_kit.ledger.entries import Entry, Fate, Place
from wireproof_kit.ledger.reading import RunReading
from wireproof_kit.wire.http import TransferResult, read_response
from wireproof_kit.wire.transcript import Step
from wireproof_spec.decoding import decode
from wireproof_spec.iggy.bodies.command_shapes import Payload, payload_schema
from wireproof_spec.iggy.bodies.consumer_offsets import GetConsumerOffset, StoreConsumerOffset
from wireproof_spec.iggy.bodies.identifier import Identifier, numeric
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.send_messages import SendMessages
from wireproof_spec.iggy.bodies.streams import CreateStream, StreamRequest
from wireproof_spec.iggy.bodies.topics import CreateTopic, PartitionsRequest, TopicRequest
from wireproof_spec.iggy.commands import DELETE_STREAM, DELETE_TOPIC, SEND_MESSAGES
from wireproof_spec.iggy.frame import NEED_MORE, RESPONSE_HEAD_SIZE, Request, RequestReader
from wireproof_spec.iggy.kinds import AUTO_COMMIT, CONSUMER_KIND
from wireproof_spec.iggy.statuses import OK
from wireproof_spec.step_notes import LOGIN
from wireproof_spec.wire_error import WireError

_ANY_SIZE: Final = (1 << 32) - 1
_STATUS_SIZE: Final = 4
_CHANGES: Final = {"create_stream", "create_topic", "delete_stream", "delete_topic"}
_NEEDED: Final = {"partition_id", "count"}
"""The parameters of a poll over HTTP without which no text says what it asks for."""


@dataclass(slots=True)
class _Request:
    """A request that waits for its response."""

    payload: Payload | None = None
    topic: TopicLife | None = None
    entries: Sequence[Entry[Content]] = ()


@dataclass(slots=True)
class _Connection:
    requests: RequestReader = field(default_factory=lambda: RequestReader(_ANY_SIZE))
    asked: deque[_Request] = field(default_factory=deque[_Request])
    is_lost: bool = False


@dataclass(slots=True)
class _Post:
    """An HTTP request, until its response comes."""

    request: HttpRequest
    asked: Asked | None
    entries: Sequence[Entry[Content]]


class Reading(RunReading[Content, TopicEvent]):
    """Reads the transcripts of the cases of one run."""

    def __init__(self, forms: Forms) -> None:
        super().__init__()
        self.forms = forms
        self.topics = Topics()

    def open_case(self, case: str) -> "_CaseReader":
        """Return what reads the steps of one run of a case."""
        return _CaseReader(case, self)


class _CaseReader:
    def __init__(self, case: str, run: Reading) -> None:
        self._case, self._run = case, run
        self._connections: dict[str, _Connection] = {}
        self._posts: dict[str, _Post] = {}
        self._is_closed = True
        self.entries: list[Entry[Content]] = []
        self.events: list[TopicEvent] = []
        self._at = Place(case, Step(0, "", "note"))
        self._order = 0

    def see(self, step: Step) -> None:
        self._at, self._order = Place(self._case, step), next(self._run.orders)
        connection = self._connections.setdefault(step.connection, _Connection())
        if step.kind == "request":
            self._request(step)
        elif step.kind == "response":
            self._response(step)
        elif step.kind == "close":
            self._give_up(connection)
        elif step.kind == "note" and step.note.startswith(LOGIN):
            connection.asked.append(_Request())
        elif step.kind == "send":
            self._send(connection, step)
        elif step.kind == "receive":
            self._receive(connection, step)

    def close(self) -> None:
        for entry in self.entries:
            entry.settle(Fate.POSSIBLE)

    def _give_up(self, connection: _Connection) -> None:
        """Read a connection no further; what waits for its response is only possible."""
        connection.is_lost = True
        for request in connection.asked:
            for entry in request.entries:
                entry.settle(Fate.POSSIBLE)
            self._forget_stored(request)
        connection.asked.clear()

    def _forget_stored(self, request: _Request) -> None:
        payload = request.payload
        if isinstance(payload, StoreConsumerOffset) or (
            isinstance(payload, PollMessages) and payload.auto_commit
        ):
            self._event(OffsetStored, request.topic, payload.partition_id, payload.consumer, None)

    def _send(self, connection: _Connection, step: Step) -> None:
        if connection.is_lost or any(part.wrong for part in step.parts):
            # What is wrong on purpose may be read by the target otherwise than it was meant.
            self._is_closed = False
            self._give_up(connection)
            return
        connection.requests.feed(step.data)
        try:
            while (request := connection.requests.next_request()) is not NEED_MORE:
                connection.asked.append(self._ask(request))
        except WireError:
            self._is_closed = False
            self._give_up(connection)

    def _ask(self, request: Request) -> _Request:
        forms = self._run.forms
        try:
            schema = payload_schema(request.code, forms.generation, forms.create)
            payload = decode(schema, request.payload)
        except (LookupError, WireError):
            self._is_closed = self._is_closed and request.code != SEND_MESSAGES
            return _Request()
        asked = _Request(payload, self._topic(payload))
        if isinstance(payload, SendMessages):
            asked.entries = self._take(payload, asked.topic)
        elif request.code in (DELETE_STREAM, DELETE_TOPIC) or isinstance(
            payload, PartitionsRequest
        ):
            assert isinstance(payload, StreamRequest | TopicRequest | PartitionsRequest)
            self._run.topics.delete(payload.stream, getattr(payload, "topic", None))
        return asked

    def _topic(self, payload: Payload) -> TopicLife | None:
        stream, topic = getattr(payload, "stream", None), getattr(payload, "topic", None)
        if not isinstance(stream, Identifier) or not isinstance(topic, Identifier):
            return None
        return self._run.topics.find(stream, topic)

    def _take(
        self, sending: SendMessages, topic: TopicLife | None, body: bytes | None = None
    ) -> Sequence[Entry[Content]]:
        """Return the entries of a request to send, and keep them."""
        if topic is None:
            self._is_closed = False
            return ()
        contents = list(read_contents(sending, body))
        self._is_closed = self._is_closed and not any(map(is_refusable, contents))
        entries = [
            Entry(content, topic, self._at, _way(content, contents, body), order=self._order)
            for content in contents
        ]
        for entry in entries:
            if has_empty_header(entry.content):
                entry.settle(Fate.FREE)
        self.entries += entries
        return entries

    def _receive(self, connection: _Connection, step: Step) -> None:
        if connection.is_lost:
            return
        if step.note or len(step.data) < RESPONSE_HEAD_SIZE or not connection.asked:
            self._give_up(connection)
            return
        asked = connection.asked.popleft()
        status = int.from_bytes(step.data[:_STATUS_SIZE], "little")
        for entry in asked.entries:
            fate = Fate.ACCEPTED if status == OK else Fate.REFUSED
            entry.settle(fate, self._at, self._order)
        if status == OK:
            self._follow(asked, Done(step.data[RESPONSE_HEAD_SIZE:], step.index))

    def _follow(self, asked: _Request, answer: Done) -> None:
        """Follow that a request was answered with success."""
        payload, topics = asked.payload, self._run.topics
        if isinstance(payload, CreateStream):
            topics.create_stream(payload)
        elif isinstance(payload, CreateTopic):
            topics.create(payload)
        elif isinstance(payload, PollMessages):
            self._polled(payload, asked.topic, read_polled(answer, self._run.forms.head))
        elif isinstance(payload, StoreConsumerOffset):
            where = payload.partition_id, payload.consumer
            # What a group stores may end with the group: it is not followed.
            offset = payload.offset if payload.consumer.kind == CONSUMER_KIND else None
            self._event(OffsetStored, asked.topic, *where, offset)
        elif isinstance(payload, GetConsumerOffset) and answer.body:
            self._told(payload, asked.topic, answer.body)

    def _told(self, payload: GetConsumerOffset, topic: TopicLife | None, body: bytes) -> None:
        try:
            offset = generations.stored_offset(body, self._run.forms.stored_offset)
        except WireError:
            return
        self._event(OffsetTold, topic, payload.partition_id, payload.consumer, offset)

    def _polled(
        self, poll: PollMessages, topic: TopicLife | None, result: Polled | JsonPolled
    ) -> None:
        partition = self._partition(poll, topic)
        is_closed = self._is_closed and topic is not None and self._run.topics.is_new(topic)
        self._event(PollAnswered, topic, partition, poll, result, is_closed)
        if not poll.auto_commit or poll.consumer.kind != CONSUMER_KIND:
            return
        if poll.auto_commit == AUTO_COMMIT and isinstance(result, Polled) and result.seen:
            last = result.messages[-1].offset
            self._event(OffsetStored, topic, partition, poll.consumer, last, True)
        else:
            # Another byte than 1 may commit, too; no text names the member of a poll over HTTP.
            consumer = poll.consumer if isinstance(result, Polled) else None
            self._event(OffsetStored, topic, partition, consumer, None)

    def _partition(self, poll: PollMessages, topic: TopicLife | None) -> int | None:
        """Return of which partition a poll is; None if the server chose one of several."""
        if poll.consumer.kind == CONSUMER_KIND:
            return poll.partition_id or None
        is_only = topic is not None and self._run.topics.has_one_partition(topic)
        return FIRST_PARTITION if is_only else None

    def _request(self, step: Step) -> None:
        try:
            requests = list(HttpRequests().feed(step.data))
        except NotHttp:
            requests = []
        if len(requests) != 1:
            self._is_closed = False
            return
        request = requests[0]
        try:
            asked = http_decoder.decode(0, step.connection, request)
        except WireError:
            self._is_closed = self._is_closed and request.method != "POST"
            asked = None
        self._posts[step.connection] = _Post(request, asked, self._post(request, asked))

    def _post(self, request: HttpRequest, asked: Asked | None) -> Sequence[Entry[Content]]:
        if asked is None or (asked.command not in _CHANGES and asked.sending is None):
            return ()
        if asked.sending is None or not is_strict(request.body):
            self._is_closed = False
        if asked.command in _CHANGES:
            self._run.topics.forget()
        if asked.sending is None or not is_strict(request.body):
            return ()
        return self._take(asked.sending, self._topic(asked.sending), request.body)

    def _response(self, step: Step) -> None:
        posted = self._posts.pop(step.connection, None)
        if posted is None:
            return
        answer = read_response(step.data, posted.request.method)
        for entry in posted.entries:
            entry.settle(_http_fate(answer), self._at, self._order)
        if posted.request.path == CONTROL_PATH:
            self._changed(posted.request, is_success(answer))
        elif posted.asked is not None:
            self._follow_http(posted.asked, posted.request, answer, step)

    def _follow_http(
        self, asked: Asked, request: HttpRequest, answer: TransferResult, step: Step
    ) -> None:
        payload = asked.payload
        if isinstance(payload, StoreConsumerOffset):
            # No text names the member that holds the consumer.
            self._event(OffsetStored, self._topic(payload), payload.partition_id, None, None)
        elif asked.poll is not None and request.query.keys() >= _NEEDED and is_success(answer):
            result = json_polled(answer)
            self._polled(asked.poll, self._topic(asked.poll), result)

    def _changed(self, request: HttpRequest, is_certain: bool) -> None:
        given = {name: values[0] for name, values in request.query.items()}
        try:
            found = {name: int(value) for name, value in given.items()}
            where = self._run.topics.find(numeric(found["stream"]), numeric(found["topic"]))
            change = found["offset"], found.get("state"), is_certain
            self._event(Changed, where, found["partition"], *change)
        except (KeyError, ValueError, OverflowError):
            self._run.topics.forget()

    def _event(
        self, kind: type[TopicEvent], topic: TopicLife | None, partition: int | None, *more: object
    ) -> None:
        if topic is not None:
            self.events.append(kind(topic, partition, self._at, self._order, *more))


def _way(content: Content, together: Sequence[Content], body: bytes | None) -> frozenset[str]:
    found = {
        HTTP: body is not None,
        BATCH: len(together) > 1,
        OTHER_PARTITION: content.partition not in (None, FIRST_PARTITION),
    }
    return frozenset(name for name, has in found.items() if has)


def _http_fate(answer: TransferResult) -> Fate:
    if is_success(answer):
        return Fate.ACCEPTED
    return Fate.REFUSED if 400 <= answer.status < 500 else Fate.POSSIBLE
