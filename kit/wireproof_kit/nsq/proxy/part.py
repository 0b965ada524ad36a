"""NSQ for the proxy: services, gates, watchers."""

from collections.abc import Iterable, Iterator, Sequence

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.nsq.clients.course import tell_event
from wireproof_kit.nsq.clients.decoder import LOOKUPD, NSQD, NSQD_HTTP
from wireproof_kit.nsq.clients.events import Responded, Sent
from wireproof_kit.nsq.clients.mask import make_mask
from wireproof_kit.nsq.proxy.broker_checks import BrokerChecks
from wireproof_kit.nsq.proxy.client_checks import ClientChecks
from wireproof_kit.nsq.proxy.decoder import Misframed, PassingDecoder
from wireproof_kit.nsq.proxy.gates import make_gate
from wireproof_kit.nsq.proxy.lookup_checks import LookupChecks
from wireproof_kit.nsq.proxy.node_state import Known, NodeState
from wireproof_kit.proxy.checks import Checks
from wireproof_kit.proxy.events import Undecoded, tell_own
from wireproof_kit.proxy.part import ProxyPart, Service
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import split_address
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.frame import SERVER_FRAME, ServerFrame

OPENING = ("nsq/client-subscribe/ready/first",)
"""Cases whose observation is true of any client at the start of a connection to a node."""
CLAUSES = (
    "smart.client.handshake",
    "smart.client.identify-verified",
    "smart.client-connection.identify-fields",
    "smart.client.ready",
    "smart.client-connection.first-ready",
    "smart.client.order-handshake",
    "smart.client.subscribe-error",
    "smart.client-lookup.accept",
    "smart.client-lookup.topic",
    "smart.client.lookup-access",
    "smart.client-send.well-formed",
    "smart.client-send.finish",
    "smart.client-send.ready",
    "smart.client-consume.no-late-finish",
    "smart.client-connection.graceful-end",
    "smart.client.heartbeat",
    "ext.client-header.publish",
    "ext.client-header.tag",
    "ext.client-header.trace",
    "smart.connection.frame",
    "smart.connection.identify",
    "smart.connection.ready",
    "smart.partition.subscribe",
    "smart.partition.publish",
    "smart.trace.response",
    "smart.order.command",
    "smart.order.layout",
    "smart.order.ext-place",
    "smart.order.one-in-flight",
    "smart.order.increasing",
    "smart.order.position",
    "smart.order.attempts",
    "ext.consume.layout",
    "ext.consume.plain-topic",
    "ext.consume.attempts",
    "ext.dispatch.never-other-tag",
    "ext.publish.ok-response",
    "ext.publish.trace-response",
    "ext.publish.trace-empty",
    "smart.lookup.answer",
    "smart.lookup.node-record",
    "smart.lookup.metainfo",
)
"""All clauses that passing traffic can show to be kept or broken; nothing else is judged."""
OPENING_NAMED = (
    "nsq/client-connection/handshake",
    "nsq/client-connection/identify/answer",
    "nsq/client-connection/identify/fields",
)
"""Clients of the original NSQ, which name no partition, may leave IDENTIFY out."""
OPENING_PARTITION = ("nsq/client-subscribe/ready",)
"""Nor are clients that name no partition in SUB bound by this clause."""
OPENING_ORDERED = ("nsq/client-order/handshake",)
OPENING_LOOKUP = ("nsq/client-lookup/accept",)


def make_part() -> ProxyPart:
    """Return what the proxy needs to relay, decode and judge NSQ."""
    known = Known()
    return ProxyPart(
        list_services=list_services,
        make_gate=make_gate,
        watch=lambda conn: NsqWatcher(conn, known),
        tell=tell,
        clauses=CLAUSES,
        opening=(
            *OPENING,
            *OPENING_NAMED,
            *OPENING_PARTITION,
            *OPENING_ORDERED,
            *OPENING_LOOKUP,
        ),
        know_ordered=known.ordered.add,
        make_mask=make_mask,
    )


def list_services(target: Target) -> Sequence[Service]:
    """Return the services in a target's URL: the node, its HTTP port and the lookup servers."""
    found: list[Service] = [(NSQD, (target.host, target.port))] if target.host else []
    for key, address in target.addresses():
        if key in (NSQD_HTTP, LOOKUPD):
            found.append((key, split_address(address)))
    return found


class NsqWatcher:
    """Decodes and judges one connection to a node or lookup server that passes the proxy."""

    def __init__(self, conn: str, known: Known) -> None:
        self._decoder = PassingDecoder(conn)
        self._state = NodeState(known)
        self._checks: tuple[Checks, ...] = ()
        self._opening: tuple[str, ...] = ()
        if conn.startswith(NSQD):
            self._checks = ClientChecks(self._state), BrokerChecks(self._state)
            self._opening = OPENING
        elif conn.startswith(LOOKUPD):
            self._checks = (LookupChecks(),)
            self._opening = OPENING_LOOKUP

    @property
    def opening(self) -> tuple[str, ...]:
        """The ids of the cases that are observed at the start of the connection."""
        found = self._opening + (OPENING_NAMED if self._state.names_partition else ())
        subscribed = self._state.subscription
        if subscribed is None:
            return found
        partition = () if subscribed.partition is None else OPENING_PARTITION
        return found + partition + (OPENING_ORDERED if self._state.is_ordered else ())

    def decode(self, at: float, data: bytes, *, by_client: bool) -> Iterable[Event]:
        """Return the events completed by these bytes, received at time ``at``."""
        return self._decoder.decode(at, data, by_client=by_client)

    def decode_end(self, at: float) -> Iterable[Event]:
        """Return the events of the client's end of the stream: malformed inside a command."""
        return self._decoder.decode_end(at)

    def see(self, event: Event) -> Iterator[Finding]:
        """Yield which clauses an event shows to be kept or broken; none after decoding failed."""
        self._state.see(event)
        for checks in self._checks:
            yield from checks.see(event)
        if isinstance(event, Malformed | Misframed | Undecoded):
            self._checks = ()

    def frame_bytes(self, event: Event) -> bytes:
        """Return the bytes of a frame or response sent by the server; empty for other events."""
        if isinstance(event, Sent):
            return encode(SERVER_FRAME, ServerFrame(event.frame_type, event.data))
        return event.data if isinstance(event, Responded) else b""


def tell(event: Event) -> str | None:
    """Return a decoded event as a line of text; None if it is not worth one."""
    if isinstance(event, Misframed):
        return f"client <- {event.conn:<11} no frame: {event.error}"
    return tell_own(event) or tell_event(event)
