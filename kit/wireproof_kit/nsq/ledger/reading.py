"""Reads the steps of a transcript into entries and into events of channels.

A connection is read as long as its bytes are whole commands: behind bytes that are malformed or
incomplete a broker may read on elsewhere, so what is published there is only possible.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.clients.http_requests import HttpRequests, NotHttp
from wireproof_kit.ledger.entries import Entry, Fate, Place
from wireproof_kit.ledger.reading import RunReading
from wireproof_kit.nsq.broker import ORDERED
from wireproof_kit.nsq.clients.events import PUBLISHES, SUBSCRIPTIONS
from wireproof_kit.nsq.ledger.changes import Changes
from wireproof_kit.nsq.ledger.events import (
    Acknowledged,
    Answered,
    ChannelEvent,
    Delivered,
    Joined,
    Left,
    Objected,
    Ready,
    Subscription,
)
from wireproof_kit.nsq.ledger.publishes import (
    BATCH,
    HTTP,
    OTHER_PARTITION,
    TRACED,
    Content,
    json_trace,
    read_members,
    read_number,
    read_post,
    read_publish,
)
from wireproof_kit.nsq.observe.trace_layout import observe_trace
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.wire.http import read_response
from wireproof_kit.wire.transcript import Step
from wireproof_spec.decoding import decode
from wireproof_spec.nsq import error_codes, names
from wireproof_spec.nsq.acknowledge import Finish, Requeue, Touch
from wireproof_spec.nsq.command_reader import Command, CommandReader
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    NEED_MORE,
    FrameReader,
    error_code,
)
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse
from wireproof_spec.wire_error import WireError

_ANSWERED: Final = {"IDENTIFY", "AUTH", "CLS"} | SUBSCRIPTIONS | PUBLISHES
PASSING_REFUSALS: Final = frozenset(
    {
        error_codes.E_PUB_FAILED,
        error_codes.E_MPUB_FAILED,
        error_codes.E_PUB_TOO_MUCH_WAITING,
        error_codes.E_FAILED_ON_NOT_LEADER,
        error_codes.E_FAILED_ON_NOT_WRITABLE,
        error_codes.E_TOPIC_NOT_EXIST,
    }
)
"""Refusals of what may have been stored: they tell of the broker's state, not of the message."""
MOST_OPENING: Final = 8
"""The most steps of a connection's opening that are kept as evidence."""
FindTopic = Callable[[str], Topic | None]
"""Finds a topic by its name; None for one of a kind that is not known for certain."""
_ANY_SIZE: Final = (1 << 31) - 1


@dataclass(slots=True)
class _Asked:
    """A command that waits for its answer."""

    name: str
    words: tuple[str, ...]
    body: bytes
    entries: list[Entry[Content]]
    order: int


@dataclass(slots=True)
class _Node:
    """A connection to a broker's TCP port."""

    commands: CommandReader = field(
        default_factory=lambda: CommandReader(message_limit=_ANY_SIZE, body_limit=_ANY_SIZE)
    )
    frames: FrameReader = field(default_factory=lambda: FrameReader(_ANY_SIZE))
    magic: bytes = b""
    opening: tuple[Place, ...] = ()
    """The steps with the magic, IDENTIFY and the subscription."""
    asked: deque[_Asked] = field(default_factory=deque[_Asked])
    is_sure: bool = True
    is_readable: bool = True
    has_silent: bool = False
    extended: bool = False
    tag: str = ""
    timeout_ms: int | None = None
    subscription: Subscription | None = None

    def open_at(self, place: Place) -> None:
        """Add a step to the opening of the connection, once."""
        if place not in self.opening[-1:]:
            self.opening = (*self.opening[-MOST_OPENING + 1 :], place)


@dataclass(slots=True)
class _Http:
    """An HTTP request, until its response comes."""

    entries: list[Entry[Content]]


class Reading(RunReading[Content, ChannelEvent]):
    """Reads the transcripts of the cases of one run."""

    def __init__(self, find_topic: FindTopic) -> None:
        super().__init__()
        self._find_topic = find_topic
        self.changes: dict[str, Changes] = {}
        """What each run of a case asked of its topics."""

    def open_case(self, case: str) -> "_CaseReader":
        """Return what reads the steps of one run of a case."""
        changes = self.changes[case] = Changes()
        return _CaseReader(case, self.orders, changes, self._find_topic)


class _CaseReader:
    def __init__(
        self, case: str, orders: Iterator[int], changes: Changes, find_topic: FindTopic
    ) -> None:
        self._case = case
        self._orders = orders
        self._changes = changes
        self._find_topic = find_topic
        self._published = itertools.count(1)
        self._nodes: dict[str, _Node] = {}
        self._http: dict[str, _Http] = {}
        self.entries: list[Entry[Content]] = []
        self.events: list[ChannelEvent] = []
        self._at = Place(case, Step(0, "", "note"))
        self._order = 0

    def see(self, step: Step) -> None:
        self._at, self._order = Place(self._case, step), next(self._orders)
        if step.kind == "request":
            self._request(step)
        elif step.kind == "response":
            self._response(step)
        elif step.kind == "close":
            self._leave(step)
        elif step.kind == "send":
            self._send(self._node(step), step)
        elif step.kind == "receive":
            self._receive(self._node(step), step)

    def close(self) -> None:
        for node in self._nodes.values():
            _give_up(node.asked)
        for entry in self.entries:
            entry.settle(Fate.POSSIBLE)

    def _node(self, step: Step) -> _Node:
        node = self._nodes.get(step.connection)
        if node is None:
            node = self._nodes[step.connection] = _Node()
        return node

    def _send(self, node: _Node, step: Step) -> None:
        if any(part.wrong for part in step.parts):
            # The frame may be refused, or read otherwise by the target than it was meant.
            node.is_sure = False
        data = step.data
        if len(node.magic) < len(names.MAGIC):
            missing = len(names.MAGIC) - len(node.magic)
            node.magic += data[:missing]
            node.open_at(self._at)
            data = data[missing:]
            node.is_readable = names.MAGIC.startswith(node.magic)
        if not node.is_readable:
            return
        node.commands.feed(data)
        try:
            while (command := node.commands.next_command()) is not NEED_MORE:
                self._command(node, step.connection, command)
        except WireError:
            node.is_readable = node.is_sure = False

    def _command(self, node: _Node, conn: str, command: Command) -> None:
        line = command.line.value
        if isinstance(line, Finish | Requeue | Touch):
            node.has_silent = True
            name = {Finish: "FIN", Requeue: "REQ", Touch: "TOUCH"}[type(line)]
            delay_ms = line.timeout_ms if isinstance(line, Requeue) else 0
            self._event(node, Acknowledged, name, line.message_id, delay_ms)
            return
        name = line.name.decode("latin-1")
        words = tuple(word.decode("latin-1") for word in line.parameters)
        if name not in _ANSWERED:
            node.has_silent = True
            if name == "RDY":
                count = words[0] if words else "1"
                self._event(node, Ready, read_number(count) or 0)
            return
        if name == "IDENTIFY" or name in SUBSCRIPTIONS:
            node.open_at(self._at)
        entries = [self._entry(content, conn, node) for content in read_publish(command)]
        body = command.body.data[4:] if command.body and name == "IDENTIFY" else b""
        node.asked.append(_Asked(name, words, body, entries, self._order))

    def _entry(self, content: Content, conn: str, node: _Node | None) -> Entry[Content]:
        content.conn, content.number = conn, next(self._published)
        way = {
            HTTP: node is None,
            BATCH: not content.is_alone,
            TRACED: content.is_traced,
            OTHER_PARTITION: bool(content.partition),
        }
        entry = Entry(
            content,
            content.topic,
            self._at,
            frozenset(name for name, has in way.items() if has),
            order=self._order,
        )
        if not content.is_said or (node is not None and not node.is_sure):
            entry.settle(Fate.FREE)
        self.entries.append(entry)
        return entry

    def _receive(self, node: _Node, step: Step) -> None:
        node.frames.feed(step.data)
        try:
            while (frame := node.frames.next_frame()) is not NEED_MORE:
                if frame.frame_type == FRAME_TYPE_MESSAGE:
                    self._deliver(node, frame.data)
                elif frame.frame_type == FRAME_TYPE_RESPONSE:
                    self._respond(node, step.connection, frame.data)
                elif frame.frame_type == FRAME_TYPE_ERROR:
                    self._refuse(node, frame.data)
        except WireError:
            node.is_sure = False
            _give_up(node.asked)

    def _respond(self, node: _Node, conn: str, data: bytes) -> None:
        if data == names.HEARTBEAT or not node.asked:
            return
        asked = node.asked.popleft()
        node.has_silent = node.has_silent and bool(node.asked)
        if asked.name == "IDENTIFY":
            own = read_members(asked.body) or {}
            tag = own.get(names.DESIRED_TAG)
            node.extended = own.get(names.EXTEND_SUPPORT) is True
            node.tag = tag if isinstance(tag, str) else ""
            told = (read_members(data) or {}).get("msg_timeout", own.get("msg_timeout"))
            node.timeout_ms = told if isinstance(told, int) and told > 1 else None
        elif asked.name in SUBSCRIPTIONS and data == names.OK:
            self._subscribe(node, conn, asked)
        self._event(node, Answered, asked.order)
        for entry in asked.entries:
            answer = _read_trace(data, entry.content.trace_id)
            _accept(entry, answer, data == names.OK, self._at, self._order)

    def _subscribe(self, node: _Node, conn: str, asked: _Asked) -> None:
        words = asked.words
        if len(words) < 2:
            return
        partition = read_number(words[2]) if len(words) > 2 else None
        topic = self._find_topic(words[0])
        # A client of the other kind should have been refused, so no text says what it gets.
        is_due = topic is not None and topic.extend == node.extended
        node.subscription = Subscription(
            *(self._case, conn, words[0], words[1], partition, asked.name),
            *(node.extended, node.tag),
            is_ordered=topic is not None and topic.ordered and asked.name in ORDERED,
            has_ext=node.extended if is_due else None,
            opening=node.opening,
            timeout_ms=node.timeout_ms,
        )
        self._event(node, Joined)

    def _deliver(self, node: _Node, data: bytes) -> None:
        if node.subscription is not None:
            topic = node.subscription.topic
            is_upgraded = topic in self._changes.upgraded
            leader = self._changes.new_leader(topic)
            self._event(node, Delivered, data, leader, is_upgraded)

    def _refuse(self, node: _Node, data: bytes) -> None:
        code = error_code(data)
        self._event(node, Objected, code)
        if code in error_codes.OUT_OF_TURN:
            return
        if not node.asked or len(node.asked) > 1 or node.has_silent:
            # It may answer a command that is not answered otherwise, such as RDY.
            _give_up(node.asked)
            return
        asked = node.asked.popleft()
        if code == error_codes.E_FAILED_ON_NOT_LEADER and asked.words:
            self._changes.note_other_leader(asked.words[0])
        for entry in asked.entries:
            fate = Fate.POSSIBLE if code in PASSING_REFUSALS else Fate.REFUSED
            entry.settle(fate, self._at, self._order)

    def _leave(self, step: Step) -> None:
        node = self._nodes.get(step.connection)
        if node is not None:
            _give_up(node.asked)
            if "sending direction" not in step.note:
                self._event(node, Left)

    def _request(self, step: Step) -> None:
        try:
            requests = list(HttpRequests().feed(step.data))
        except NotHttp:
            return
        for request in requests:
            self._changes.note(request)
        entries = [
            self._entry(content, step.connection, None)
            for request in requests
            for content in read_post(request)
        ]
        if len(requests) != 1:
            for entry in entries:
                entry.settle(Fate.FREE)
        self._http[step.connection] = _Http(entries)

    def _response(self, step: Step) -> None:
        asked = self._http.pop(step.connection, None)
        if asked is None or not asked.entries:
            return
        answer = read_response(step.data)
        status, body = answer.status, answer.body
        for entry in asked.entries:
            if status == 200:
                right = body.strip() in (b"OK", b'"OK"')
                _accept(entry, json_trace(body), right, self._at, self._order)
            elif 400 <= status < 500 and not _is_passing(body):
                entry.settle(Fate.REFUSED, self._at, self._order)
            else:
                entry.settle(Fate.POSSIBLE, self._at, self._order)

    def _event(self, node: _Node, kind: type[ChannelEvent], *words: object) -> None:
        if node.subscription is not None:
            self.events.append(kind(node.subscription, self._at, self._order, *words))


def _give_up(asked: deque[_Asked]) -> None:
    """Say of all publishes without an answer that they are only possible."""
    for each in asked:
        for entry in each.entries:
            entry.settle(Fate.POSSIBLE)
    asked.clear()


def _accept(
    entry: Entry[Content], answer: TraceResponse | None, is_ok: bool, at: Place, order: int
) -> None:
    """Settle an entry by a response that is no error."""
    content = entry.content
    if answer is not None and content.is_alone and answer.trace_id == content.trace_id:
        content.answer = answer
    is_right = content.answer is not None if content.is_traced and content.is_alone else is_ok
    entry.settle(Fate.ACCEPTED if is_right or answer else Fate.POSSIBLE, at, order)


def _read_trace(data: bytes, trace_id: int | None) -> TraceResponse | None:
    """Return a trace response; None of one with a flaw that makes other numbers of its bytes."""
    if data == names.OK or observe_trace(data, trace_id).value != "trace":
        return None
    try:
        return decode(TRACE_RESPONSE, data)
    except WireError:
        return None


def _is_passing(body: bytes) -> bool:
    text = body.decode("latin-1")
    return any(code in text for code in PASSING_REFUSALS)
