"""Clauses that bind clients, as far as passing traffic alone shows them."""

from collections.abc import Iterator
from dataclasses import dataclass

from wireproof_kit.clients.events import Disconnected, Event, Malformed
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.events import PUBLISHES, SUBSCRIPTIONS, Commanded, Sent
from wireproof_kit.nsq.proxy.node_state import ID, NodeState, Recent
from wireproof_kit.observation import Difference
from wireproof_kit.proxy.checks import shown
from wireproof_spec import strict_json
from wireproof_spec.nsq import names
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, FRAME_TYPE_MESSAGE
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

MISSED = 2
"""How many heartbeats may be unanswered: a slow client answers the first after the second."""
MOST_HELD = 5_000
"""Of how many messages each connection keeps whether the client has them."""
CLOSING_S = 2.0
"""Seconds that a client has to close its connection; commands may still be under way meanwhile."""
MISSED_INTERVALS = 1.5
"""The intervals in which a client may leave heartbeats unanswered.

A node may send more of them than the client has asked for: one before every frame.
"""


class ClientChecks:
    """Checks what the client of one connection to a node sends, while traffic passes the proxy."""

    def __init__(self, state: NodeState) -> None:
        self._state = state
        self._unanswered = _Beats()
        self._refused = _Refused()
        self._held: Recent[bytes, int] = Recent(MOST_HELD)
        """How often each message was delivered here, less how often it was finished or given
        back."""
        self._is_closing = False

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield which clauses an event shows to be kept or broken."""
        yield from self._refused.see(event, self._state.answered)
        if isinstance(event, Malformed):
            error = event.error
            difference = Difference(error.field, error.offset, error.expected, error.found)
            what = f"no command: {error.field}: expected {error.expected}, found {error.found}"
            yield shown("smart.client-send.well-formed", what, difference)
        elif isinstance(event, Commanded):
            yield shown("smart.client-send.well-formed")
            yield from self._command(event)
        elif isinstance(event, Sent) and event.data == names.HEARTBEAT:
            yield from self._beat(event.at)
        elif isinstance(event, Sent) and event.frame_type == FRAME_TYPE_MESSAGE:
            id = event.data[ID]
            self._state.known.delivered.keep(id, None)
            self._held.keep(id, self._held.get(id, 0) + 1)

    def _beat(self, at: float) -> Iterator[Finding]:
        if self._unanswered.are_missed(at, self._state.heartbeat_s):
            missed = f"{self._unanswered.count} heartbeats without any command"
            yield shown("smart.client.heartbeat", missed)
        self._unanswered.add(at)

    def _command(self, event: Commanded) -> Iterator[Finding]:
        if self._unanswered.count:
            yield shown("smart.client.heartbeat")
        self._unanswered = _Beats()
        if event.message_id:
            yield from self._name_message(event)
        elif event.name == names.RDY.decode():
            yield from self._ready(event)
        elif event.name == names.PUB_EXT.decode():
            yield from _header(event)
        if self._is_closing:
            yield from _after_close(event)
        self._is_closing = self._is_closing or event.name == names.CLS.decode()

    def _name_message(self, event: Commanded) -> Iterator[Finding]:
        """Return what the id in FIN, REQ or TOUCH shows."""
        id, delivered = event.message_id, self._state.known.delivered
        if id in delivered:
            yield shown("smart.client-send.finish")
        elif not delivered.has_dropped:
            what = f"{event.name} for {id.hex()}, which was not delivered"
            yield shown("smart.client-send.finish", what)
        held = self._held.get(id)
        if held is None or event.name == names.TOUCH.decode():
            return
        self._held.keep(id, max(held - 1, 0))
        if event.name == names.FIN.decode():
            what = "" if held else f"FIN for {id.hex()}, which was finished or given back before"
            yield shown("smart.client-consume.no-late-finish", what)

    def _ready(self, event: Commanded) -> Iterator[Finding]:
        most = self._state.find_number("max_rdy_count")
        count = event.words[0] if event.words else ""
        if most is not None and count.isdecimal():
            high = int(count) > most
            what = f"RDY {count}, but max_rdy_count is {most}" if high else ""
            yield shown("smart.client-send.ready", what)


def _after_close(event: Commanded) -> Iterator[Finding]:
    """Return what a command after CLS shows."""
    is_start = event.name in SUBSCRIPTIONS | PUBLISHES
    count = event.words[0] if event.words else "1"
    is_more = event.name == names.RDY.decode() and count.strip("0") != ""
    what = f"{event.name} after CLS" if is_start or is_more else ""
    yield shown("smart.client-connection.graceful-end", what)


@dataclass(slots=True)
class _Beats:
    """Heartbeats that were not answered in some way."""

    count: int = 0
    first_at: float = 0.0

    def add(self, at: float) -> None:
        """Count one more."""
        self.first_at = self.first_at if self.count else at
        self.count += 1

    def are_missed(self, at: float, interval_s: float) -> bool:
        """Return True if a client in order would have answered some of them by now."""
        return self.count >= MISSED and at - self.first_at >= MISSED_INTERVALS * interval_s


class _Refused:
    """Whether the client closes its connection when its subscription has been refused.

    That it answers a heartbeat which the node sent `CLOSING_S` later shows that it does not.
    """

    def __init__(self) -> None:
        self._at: float | None = None
        """When the subscription was refused."""
        self._is_beaten = False

    def see(self, event: Event, answered: Commanded | None) -> Iterator[Finding]:
        """Return what an event shows; it answers the command in ``answered``, if any."""
        if isinstance(event, Sent):
            is_error = event.frame_type == FRAME_TYPE_ERROR
            if is_error and answered is not None and answered.name in SUBSCRIPTIONS:
                self._at = event.at
            is_late = self._at is not None and event.at - self._at >= CLOSING_S
            self._is_beaten = self._is_beaten or (is_late and event.data == names.HEARTBEAT)
        elif isinstance(event, Disconnected) and event.by == "client" and self._at is not None:
            yield shown("smart.client.subscribe-error")
        elif isinstance(event, Commanded) and self._is_beaten:
            what = f"{event.name} on a connection whose subscription was refused"
            yield shown("smart.client.subscribe-error", what)
            self._at, self._is_beaten = None, False


def _header(event: Commanded) -> Iterator[Finding]:
    """Return what a PUB_EXT shows; its reader has checked that the length fits."""
    length = int.from_bytes(event.body[:2], "big")
    data = event.body[2 : 2 + length]
    if len(data) < length:
        return
    clause = "ext.client-header.publish"
    try:
        header = strict_json.read(data).value
    except WireError as error:
        yield shown(clause, f"the header is no JSON: {error.expected}, found {error.found}")
        return
    if not isinstance(header, dict):
        yield shown(clause, "the header is no JSON object")
        return
    yield shown(clause)
    yield from _internal(header)


def _internal(header: dict[str, JsonValue]) -> Iterator[Finding]:
    """Return what the names for internal use show."""
    tag, trace = (header.get(name) for name in (names.CLIENT_DISPATCH_TAG, names.TRACE_ID))
    if tag is not None:
        what = "" if isinstance(tag, str) else f"{names.CLIENT_DISPATCH_TAG} is no string"
        yield shown("ext.client-header.tag", what)
    if trace is not None:
        right = isinstance(trace, str) and (not trace or (trace.isascii() and trace.isdigit()))
        what = "" if right else f"{names.TRACE_ID} is no string of decimal digits"
        yield shown("ext.client-header.trace", what)
