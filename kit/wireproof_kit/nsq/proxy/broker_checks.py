"""Clauses that bind nodes, as far as passing traffic alone shows them.

What an administrator may cause beside the traffic (a channel emptied or set back, a topic deleted)
must not look like a fault of the node: so nothing is said of a FIN that fails or an id that comes
again, and ids and offsets are only compared with each other.
"""

from collections import deque
from collections.abc import Iterator

from wireproof_kit.clients.events import Event
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.events import ORDERED, Commanded, Sent
from wireproof_kit.nsq.clients.node import header_of, trace_of
from wireproof_kit.nsq.proxy.decoder import Misframed
from wireproof_kit.nsq.proxy.node_state import ID, NodeState, Recent, json_members, read_object
from wireproof_kit.observation import Difference
from wireproof_kit.proxy.checks import shown
from wireproof_spec.decoding import decode
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
)
from wireproof_spec.nsq.message import Extend, Message, message_schema
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE
from wireproof_spec.wire_error import WireError

REMEMBERED = 5_000
KNOWN_TYPES = (FRAME_TYPE_RESPONSE, FRAME_TYPE_ERROR, FRAME_TYPE_MESSAGE)
RDY_LAG_S = 5.0
"""Seconds in which messages may still come for an older RDY: on their way, or from a slow node."""
PROVED_S = 1.0
"""Seconds after a FIN in which its error would have come, before a later frame."""
IN_TIME = 0.9
"""The part of the message timeout in which a message cannot have timed out at the node."""
_SHOWN = 40
_INDICATOR = 12
"""The place of the high 4 bits of attempts, where the disk has an indicator."""
_COUNT = (1 << _INDICATOR) - 1
_BETWEEN = 256
"""How many deliveries a message may have on other connections between two on this one."""
_PLACE_SIZE, _RECORD_SIZE = 12, 4
"""Bytes of offset and size in a message; bytes before a message on the disk."""


class BrokerChecks:
    """Checks what the node at one connection sends, while traffic passes the proxy."""

    def __init__(self, state: NodeState) -> None:
        self._state = state
        self._window = _Window(state)
        self._last: Message | None = None
        self._given_back: Recent[bytes, int] = Recent(REMEMBERED)
        self._attempts: Recent[bytes, int] = Recent(REMEMBERED)

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield which clauses an event shows to be kept or broken."""
        if isinstance(event, Misframed):
            what = f"no frame: {event.error.field}: found {event.error.found}"
            yield shown("smart.connection.frame", what, _difference(event.error))
        elif isinstance(event, Commanded):
            self._window.command(event)
            if event.name == names.REQ.decode() and event.message_id in self._attempts:
                self._given_back.keep(event.message_id, self._attempts[event.message_id])
        elif isinstance(event, Sent):
            yield from self._window.hear(event)
            known = event.frame_type in KNOWN_TYPES
            what = "" if known else f"a frame of type {event.frame_type}"
            yield shown("smart.connection.frame", what)
            if event.frame_type == FRAME_TYPE_RESPONSE and self._state.answered is not None:
                yield from self._answer(self._state.answered, event.data)
            elif event.frame_type == FRAME_TYPE_MESSAGE and self._state.is_bound:
                yield from self._message(event)

    def _answer(self, command: Commanded, data: bytes) -> Iterator[Finding]:
        """Return what a response to a command shows."""
        trace_id = trace_of(command)
        clause = _answer_clause(command, is_traced=trace_id is not None)
        if not clause or (command.name in ORDERED and not self._state.is_ordered_topic(command)):
            return
        if trace_id is not None:
            yield from self._trace_answer(command, clause, trace_id, data)
        elif command.name == names.IDENTIFY.decode():
            right = data == names.OK or read_object(data) is not None
            yield shown(clause, "" if right else f"IDENTIFY is answered {_show(data)}")
        else:
            what = "" if data == names.OK else f"{command.name} is answered {_show(data)}"
            yield shown(clause, what)

    def _trace_answer(
        self, command: Commanded, clause: str, trace_id: int, data: bytes
    ) -> Iterator[Finding]:
        try:
            answer = decode(TRACE_RESPONSE, data)
        except WireError as error:
            what = f"{command.name} with a trace id is answered {_show(data)}"
            yield shown(clause, what, _difference(error))
            return
        if answer.trace_id != trace_id:
            difference = Difference("trace_id", 10, str(trace_id), str(answer.trace_id))
            yield shown(clause, f"trace id {answer.trace_id} instead of {trace_id}", difference)
            return
        yield shown(clause)
        place = (command.words[0], command.partition, answer.internal_id)
        self._state.known.positions.keep(place, answer)

    def _message(self, event: Sent) -> Iterator[Finding]:
        state = self._state
        offset_first = state.is_extended and state.is_ordered and _is_offset_first(event.data)
        schema = message_schema(
            extend=state.is_extended, ordered=state.is_ordered, offset_first=offset_first
        )
        try:
            message = decode(schema, event.data)
        except WireError as error:
            what = f"a message of {len(event.data)} bytes: {error.field}: found {error.found}"
            yield shown(schema.clause, what, _difference(error))
            return
        if state.is_ordered and not state.is_extended and _is_moved(message, event.data):
            yield from self._window.deliver(event)
            return
        yield shown(schema.clause)
        yield from self._window.deliver(event)
        yield from self._count_attempts(message)
        if message.extend is not None:
            yield from self._dispatch(message.extend)
        is_bare = message.extend is not None and message.extend.version == names.EXT_VERSION_NONE
        if state.is_ordered and not is_bare:  # where its ext part ends, the text leaves open
            yield from self._order(message)

    def _count_attempts(self, message: Message) -> Iterator[Finding]:
        """Compare the attempts with those of a delivery that the client has given back."""
        state, name = self._state, message.message_id
        clause = "ext.consume.attempts" if state.is_extended else "smart.order.attempts"
        before, last = self._given_back.pop(name, None), self._attempts.get(name, 0)
        self._attempts.keep(name, message.attempts)
        # A count may grow beyond 12 bits; of a message that is new here, what has come of a first
        # delivery can only be an indicator.
        is_first = message.attempts & _COUNT == 1
        is_counted = last < message.attempts <= last + _BETWEEN if last else not is_first
        if state.is_extended and message.attempts >> _INDICATOR and not is_counted:
            yield shown(clause, f"attempts {message.attempts:#06x} has high bits set")
        elif message.attempts == 1 and before is not None:
            return  # a channel that was set back begins anew; a duplicate may be on its way
        elif (
            before is not None
            and before < limits.MAX_ATTEMPTS
            and (state.is_extended or state.is_ordered)
        ):
            grown = message.attempts > before
            what = "" if grown else f"attempts {message.attempts} after REQ at {before}"
            yield shown(clause, what)
        elif state.is_extended:
            yield shown(clause)

    def _dispatch(self, extend: Extend) -> Iterator[Finding]:
        own, tag = self._state.identity.get(names.DESIRED_TAG), _tag_of(extend)
        if isinstance(own, str) and own and tag:
            same = own.lower() == tag.lower()
            what = "" if same else f"a message with tag {tag!r} at a client that desires {own!r}"
            yield shown("ext.dispatch.never-other-tag", what)

    def _order(self, message: Message) -> Iterator[Finding]:
        last, self._last = self._last, message
        if last is not None and last.internal_id != message.internal_id:
            by_id = message.internal_id > last.internal_id
            by_offset = _offset(message) > _offset(last)
            places = [f"{_offset(each)} of id {each.internal_id}" for each in (last, message)]
            what = "" if by_id == by_offset else f"offset {places[1]} after {places[0]}"
            yield shown("smart.order.increasing", what)
        yield from self._position(message)

    def _position(self, message: Message) -> Iterator[Finding]:
        subscribed = self._state.subscription
        if subscribed is None or not subscribed.words:
            return
        place = (subscribed.words[0], subscribed.partition, message.internal_id)
        told = self._state.known.positions.get(place)
        if told is None or not told.trace_id or told.trace_id != message.trace_id:
            return
        due = (told.disk_queue_offset, told.disk_queue_data_size)
        found = (message.disk_queue_offset, message.disk_queue_data_size)
        what = "" if due == found else f"offset and size {found}; the publish was answered {due}"
        yield shown("smart.order.position", what)


class _Window:
    """How many messages the client holds, and how many it may.

    A node lets go of the messages of a channel that is emptied, and delivers others. So too many
    are held for certain only once the client has finished all of them without an error.
    """

    def __init__(self, state: NodeState) -> None:
        self._state = state
        self._held: Recent[bytes, float] = Recent(REMEMBERED)
        self._ready: deque[tuple[float, int]] = deque()
        self._credit = self._carried = 0
        self._suspected: Finding | None = None
        self._unproved: set[bytes] = set()
        self._proved_at = 0.0

    def command(self, event: Commanded) -> None:
        """Follow a command of the client."""
        if event.name == names.RDY.decode():
            count = event.words[0] if event.words else "1"
            # A node may count RDY down; messages for the RDY before may be on their way.
            self._carried = self._ready[-1][1] if self._ready else 0
            self._ready.append((event.at, int(count) if count.isdecimal() else 1 << 31))
            self._credit = self._carried + self._ready[-1][1]
            while len(self._ready) > REMEMBERED:
                self._ready.popleft()
        elif event.name in (names.FIN.decode(), names.REQ.decode()):
            self._held.pop(event.message_id, None)
            if event.name == names.FIN.decode() and event.message_id in self._unproved:
                self._unproved.discard(event.message_id)
                self._proved_at = event.at

    def hear(self, event: Sent) -> Iterator[Finding]:
        """Return what a frame of the node shows of messages that the client has finished."""
        if self._suspected is None:
            return
        if event.frame_type == FRAME_TYPE_ERROR:
            self._suspected = None  # it may be that a message was no longer the client's
        elif not self._unproved and event.at - self._proved_at > PROVED_S:
            yield self._suspected
            self._suspected = None

    def deliver(self, event: Sent) -> Iterator[Finding]:
        """Return what a delivery shows."""
        self._forget(event.at)
        self._held.keep(event.data[ID], event.at)
        held = len(self._held)
        if self._ready and event.at - self._ready[-1][0] > RDY_LAG_S:
            self._credit, self._carried = self._credit - self._carried, 0
        self._credit -= 1
        if self._state.is_ordered:
            clause, what = "smart.order.one-in-flight", f"{held} messages in flight"
            right = held <= 1
        else:
            most = max((count for _, count in self._ready), default=0)
            clause, what = "smart.connection.ready", f"{held} messages in flight at RDY {most}"
            right = held <= most or self._credit >= 0
        if right:
            yield shown(clause)
        elif self._suspected is None:
            self._suspected, self._unproved = shown(clause, what), set(self._held)

    def _forget(self, now: float) -> None:
        """Forget messages that may have timed out, and values of RDY that count no more."""
        timeout_ms = self._state.find_number("msg_timeout") or limits.MIN_MSG_TIMEOUT_MS
        while self._held and next(iter(self._held.values())) < now - timeout_ms / 1000 * IN_TIME:
            self._held.popitem(last=False)
        while len(self._ready) > 1 and self._ready[1][0] < now - RDY_LAG_S:
            self._ready.popleft()


def _answer_clause(command: Commanded, *, is_traced: bool) -> str:
    """Return the clause that says what a command is answered; empty if none is judged here."""
    name = command.name
    if name == names.PUB_EXT.decode():
        if is_traced:
            return "ext.publish.trace-response"
        trace = header_of(command).get(names.TRACE_ID)
        return {None: "ext.publish.ok-response", "": "ext.publish.trace-empty"}.get(
            trace if isinstance(trace, str) or trace is None else "other", ""
        )
    if name in ORDERED:
        return "smart.order.command"
    if name in (names.PUB.decode(), names.SUB.decode()) and command.partition is None:
        return ""  # what the original protocol answers, no clause here says
    return _CLAUSES.get(name, "")


_CLAUSES = {
    "IDENTIFY": "smart.connection.identify",
    "SUB": "smart.partition.subscribe",
    "PUB": "smart.partition.publish",
    "PUB_TRACE": "smart.trace.response",
}


def _is_offset_first(data: bytes) -> bool:
    """Return True if an ordered message of an ext topic has its JSON header behind its place."""
    try:
        extend = decode(message_schema(extend=True, ordered=True, offset_first=True), data).extend
    except WireError:
        return False
    if extend is None or extend.version != names.EXT_VERSION_JSON:
        return False
    return bool(json_members(extend.data or b""))


def _is_moved(message: Message, data: bytes) -> bool:
    """Return True if a message has an ext part, though its client did not ask for one.

    A broker may move open subscriptions to the new layout when a topic is upgraded. A size that
    no record of the message can have shows it, where it fits if an ext part is left out.
    """
    if _fits(message, data):
        return False
    for length_always in (False, True):
        schema = message_schema(extend=True, ordered=True, length_always=length_always)
        try:
            if _fits(decode(schema, data), data):
                return True
        except WireError:
            continue
    return False


def _fits(message: Message, data: bytes) -> bool:
    """Return True if a record of the message may have the size that it says."""
    size = message.disk_queue_data_size or 0
    return len(message.body) <= size <= len(data) - _PLACE_SIZE + _RECORD_SIZE


def _tag_of(extend: Extend) -> str:
    if extend.version == names.EXT_VERSION_TAG:
        return (extend.data or b"").decode("utf-8", "replace")
    if extend.version != names.EXT_VERSION_JSON:
        return ""
    tag = json_members(extend.data or b"").get(names.CLIENT_DISPATCH_TAG)
    return tag if isinstance(tag, str) else ""


def _offset(message: Message) -> int:
    return message.disk_queue_offset or 0


def _difference(error: WireError) -> Difference:
    return Difference(error.field, error.offset, error.expected, error.found)


def _show(data: bytes) -> str:
    shown = data[:_SHOWN].decode("utf-8", "backslashreplace")
    return f"{shown!r}{'…' if len(data) > _SHOWN else ''}"
