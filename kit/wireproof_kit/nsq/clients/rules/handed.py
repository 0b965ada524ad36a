"""Messages that a client gives its user: each is as a node delivered it, and none is left out."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from wireproof_kit.clients.events import Event, Told
from wireproof_kit.clients.story import Story
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.driver_requests import CONSUME
from wireproof_kit.nsq.clients.events import SUBSCRIPTIONS, Commanded, Sent
from wireproof_kit.nsq.observe.observations import find_difference
from wireproof_kit.nsq.proxy.node_state import json_members
from wireproof_kit.proxy.checks import shown
from wireproof_spec.decoding import decode
from wireproof_spec.driver.lines import from_base64
from wireproof_spec.nsq import names
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE
from wireproof_spec.nsq.message import Message, message_schema
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

HANDLER, OUTCOMES = "smart.client.handler", "smart.client.handler-outcomes"
LATE = "smart.client-consume.no-late-finish"
IDS, PLACE = "smart.client-consume.ids-told", "smart.client-order.place"
_ID = slice(10, 26)
MOST_ATTEMPTS = (1 << 12) - 1
"""More have bits of the indicator on the disk: no text says what a client makes of these."""


@dataclass(slots=True)
class _Delivered:
    """A message as it was delivered, once or several times."""

    messages: list[Message] = field(default_factory=list[Message])
    bodies: set[bytes] = field(default_factory=set[bytes])
    conns: set[str] = field(default_factory=set[str])
    number: int = 0
    """How many messages had been delivered with the latest delivery of this one."""
    is_told: bool = False
    touched: int = 0


class HandedChecks:
    """Compares what the driver tells of each message with the frames of the nodes."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._extended: set[str] = set()
        self._placed: set[str] = set()
        """The connections whose messages have an ext part, and those with a place in the queue."""
        self._messages: dict[bytes, _Delivered] = {}
        self._count = 0
        self._unseen: dict[bytes, int] = {}
        """Messages that were finished before their handler was seen, with the count until then."""
        self._tells_header = False

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield which clauses an event shows to be kept or broken."""
        if isinstance(event, Commanded):
            yield from self._command(event)
        elif isinstance(event, Sent) and event.frame_type == FRAME_TYPE_MESSAGE:
            self._deliver(event)
        elif isinstance(event, Told) and event.event.name == "message":
            yield from self._told(event.event.fields)

    def _command(self, event: Commanded) -> Iterator[Finding]:
        if event.name == names.IDENTIFY.decode():
            if json_members(event.body).get(names.EXTEND_SUPPORT) is True:
                self._extended.add(event.conn)
        elif event.name in SUBSCRIPTIONS and event.name != names.SUB.decode():
            self._placed.add(event.conn)
        delivered = self._messages.get(event.message_id)
        if delivered is None:
            return
        is_elsewhere = event.conn not in delivered.conns
        what = f"{event.name} on a connection that was not given the message"
        yield shown(LATE, what if is_elsewhere else "")
        delivered.touched += event.name == names.TOUCH.decode()
        if event.name == names.FIN.decode():
            if not delivered.is_told and delivered.messages[-1].attempts == 1:
                self._unseen[event.message_id] = self._count
            if delivered.is_told and self._handler() == "touch":
                what = "" if delivered.touched else "FIN without the TOUCH that its handler sent"
                yield shown(OUTCOMES, what)

    def _handler(self) -> str:
        asked = [request for request in self._story.requests.values() if request["op"] == CONSUME]
        return str(asked[-1]["handler"]) if asked else ""

    def _deliver(self, event: Sent) -> None:
        has_place, is_extended = event.conn in self._placed, event.conn in self._extended
        if has_place and is_extended:
            return  # which of the two comes first, the text leaves open
        try:
            schema = message_schema(extend=is_extended, ordered=has_place)
            message = decode(schema, event.data)
        except WireError:
            return
        if not _is_whole(message):
            return
        self._count += 1
        delivered = self._messages.setdefault(event.data[_ID], _Delivered())
        delivered.messages.append(message)
        delivered.bodies.add(message.body)
        delivered.conns.add(event.conn)
        if message.extend is not None and message.extend.version == names.EXT_VERSION_NONE:
            delivered.bodies.add(message.body[2:])  # version and length 0
        delivered.number, delivered.touched = self._count, 0

    def _told(self, told: dict[str, JsonValue]) -> Iterator[Finding]:
        delivered = self._messages.get(bytes.fromhex(str(told.get("id"))))
        if delivered is None:
            return
        delivered.is_told = True
        yield from self._left_out(delivered)
        body = from_base64(str(told.get("body")))
        right = body in delivered.bodies
        difference = find_difference("body", expected=delivered.messages[-1].body, found=body)
        what = "" if right else "the handler is given another body than was delivered"
        yield shown(HANDLER, what, None if right else difference)
        yield from _numbers(told, delivered.messages)
        yield from self._header(told, delivered.messages[-1])

    def _left_out(self, delivered: _Delivered) -> Iterator[Finding]:
        """Return whether a message was finished that no handler had seen.

        A driver writes what its handler is given before it acts: what it tells of a message that
        was delivered after the FIN, it wrote later than that.
        """
        for id, count in list(self._unseen.items()):
            if self._messages[id].is_told:
                del self._unseen[id]
            elif delivered.number > count:
                del self._unseen[id]
                yield shown(OUTCOMES, f"FIN for {id.hex()}, which no handler was given")

    def _header(self, told: dict[str, JsonValue], message: Message) -> Iterator[Finding]:
        extend = message.extend
        if extend is None or extend.version != names.EXT_VERSION_JSON:
            return
        due, found = json_members(extend.data or b""), told.get("ext")
        self._tells_header = self._tells_header or isinstance(found, dict)
        if not self._tells_header:
            return  # a library may have no word for headers
        own = _own(found) if isinstance(found, dict) else found
        what = "" if own == _own(due) else f"the user is told the header {own}, not {_own(due)}"
        yield shown("ext.client.decode", what)


def _numbers(told: dict[str, JsonValue], messages: list[Message]) -> Iterator[Finding]:
    """Compare ids, attempts, offset and size that the user is told, if he is."""
    last = messages[-1]
    ids: dict[str, object] = {
        "internal_id": str(last.internal_id),
        "trace_id": str(last.trace_id),
    }
    place: dict[str, object] = {}
    if last.disk_queue_offset is not None:
        place = {"offset": str(last.disk_queue_offset), "size": last.disk_queue_data_size}
    for clause, due in ((IDS, ids), (PLACE, place)):
        wrong = [name for name, value in due.items() if told.get(name, value) != value]
        if due.keys() & told.keys():
            what = f"{wrong[0]} {told[wrong[0]]}, not {due[wrong[0]]}" if wrong else ""
            yield shown(clause, what)
    counts = {message.attempts for message in messages}
    if isinstance(attempts := told.get("attempts"), int) and max(counts) <= MOST_ATTEMPTS:
        what = "" if attempts in counts else f"attempts {attempts}, not {last.attempts}"
        yield shown(IDS, what)


def _is_whole(message: Message) -> bool:
    """Return True unless the case has made the ext part of a message on purpose as it is."""
    extend = message.extend
    if extend is None or extend.version == names.EXT_VERSION_NONE:
        return True
    if extend.version == names.EXT_VERSION_JSON:
        return bool(json_members(extend.data or b""))
    return extend.version == names.EXT_VERSION_TAG and bool(extend.data)


def _own(header: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a header without the names for internal use, which a library may keep for itself."""
    return {name: value for name, value in header.items() if not name.startswith("##")}
