"""Faults of what keeps a client's connections, and of what ends them."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from wireproof_reference_impl.client_faults import constant, die
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import commands, connection, link
from wireproof_reference_impl.nsq.client.core.connection import (
    Event,
    NodeConnection,
    OutOfStep,
    State,
    Strange,
)
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.lookups import Lookups
from wireproof_reference_impl.nsq.client.core.producer import Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.shell import Shell
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, ServerFrame

_SIZE_BYTES = 4


def _close_on(*codes: str) -> Override:
    """Close the connection at an error about a message, before anything else is answered."""

    def call(original: Original, self: Link, data: bytes) -> None:
        if any(b"FAILED" in data and code.encode() in data for code in codes):
            self.reset("an error came")
        else:
            original(self, data)

    return around(Link, "received", call)


def _die_at(*, frame_type: int | None = None, empty_error: bool = False) -> Override:
    def call(original: Original, self: NodeConnection, frame: ServerFrame) -> object:
        if frame.frame_type > 2 and frame_type is not None:
            die()
        if empty_error and frame.frame_type == FRAME_TYPE_ERROR and not frame.data:
            die()
        return original(self, frame)

    return around(NodeConnection, "_read", call)


@wrong_value("client.error-open")
def error_closes() -> Change:
    """An error about a message closes the connection."""
    return _close_on("E_FIN_", "E_REQ_", "E_TOUCH_")


@condition("client.error-open", around(Link, "received"))
def error_closes_afterwards(original: Original, self: Link, data: bytes) -> None:
    """E_FIN_FAILED closes the connection once what came with it has been answered."""
    original(self, data)
    if b"FAILED" in data and b"E_FIN_" in data:
        self.reset("an error came")


@condition("client.error-open")
def req_error_closes() -> Change:
    """E_REQ_FAILED closes the connection."""
    return _close_on("E_REQ_")


@missing("client.heartbeat client.heartbeat-nop")
def heartbeats_unanswered() -> Change:
    """Heartbeats are not answered."""
    return constant(connection, "answer_heartbeat", b"")


def _once(answer: bytes) -> Override:
    """Answer the first heartbeat of a connection; afterwards say this instead."""

    def call(original: Original, self: NodeConnection, data: bytes) -> object:
        events, reply = original(self, data)
        if reply and vars(self).get("beaten"):
            reply = answer
        vars(self)["beaten"] = vars(self).get("beaten") or bool(reply)
        return events, reply

    return around(NodeConnection, "receive", call)


@boundary("client.heartbeat client.heartbeat-nop")
def heartbeat_answered_once() -> Change:
    """Only the first heartbeat of a connection is answered."""
    return _once(b"")


@condition("client.heartbeat client.heartbeat-nop", around(connection, "answer_heartbeat"))
def producer_heartbeats_unanswered(original: Original, state: State) -> object:
    """A producer does not answer heartbeats."""
    return b"" if state in (State.IDLE, State.PUBLISHING) else original(state)


@wrong_value("client.heartbeat-nop")
def heartbeat_answered_rdy() -> Change:
    """Heartbeats are answered with RDY."""
    return constant(connection, "answer_heartbeat", b"RDY 1\n")


@wrong_value("client.heartbeat-nop")
def heartbeat_answered_small() -> Change:
    """Heartbeats are answered with nop in small letters."""
    return constant(connection, "answer_heartbeat", b"nop\n")


@extra("client-robust.frame client-robust.recovery")
def dies_at_unknown_frame() -> Change:
    """The process dies at a frame of an unknown type."""
    return _die_at(frame_type=9)


@extra("client-robust.frame client-robust.recovery")
def dies_at_empty_error() -> Change:
    """The process dies at an error without a text."""
    return _die_at(empty_error=True)


@condition("client-robust.recovery", around(NodeConnection, "receive"))
def deaf_after_strange_frame(
    original: Original, self: NodeConnection, data: bytes
) -> tuple[list[Event], bytes]:
    """A connection is not read any more after a frame that means nothing."""
    if vars(self).get("is_deaf"):
        return [], b""
    events, reply = original(self, data)
    if any(isinstance(event, Strange) for event in events):
        vars(self)["is_deaf"] = True
        reply = b""
    return events, reply


def _receive_or(at_fault: Original) -> Override:
    def call(original: Original, self: NodeConnection, data: bytes) -> object:
        try:
            return original(self, data)
        except OutOfStep:
            at_fault()
            raise

    return around(NodeConnection, "receive", call)


@extra("client-robust.size client-robust.recovery")
def dies_at_bad_size() -> Change:
    """The process dies at a frame with an impossible size."""
    return _receive_or(die)


@boundary("client-robust.size client-robust.recovery")
def dies_at_size_below_four() -> Change:
    """The process dies at a frame whose size leaves no room for its type."""

    def call(original: Original, self: NodeConnection, data: bytes) -> object:
        if len(data) >= _SIZE_BYTES and int.from_bytes(data[:_SIZE_BYTES], "big") < _SIZE_BYTES:
            die()
        return original(self, data)

    return around(NodeConnection, "receive", call)


@missing("client-robust.recovery", around(Link, "reset"))
def away_after_bad_size(original: Original, self: Link, reason: str) -> None:
    """A connection is closed for good at a frame with an impossible size."""
    if "size" in reason or "at most" in reason:
        self._drop()
        self._closed = True
        return
    original(self, reason)


@missing("client-robust.loop")
def reconnects_hot() -> Change:
    """A lost connection is opened again at once."""
    return constant(link, "reconnect_delay", 0.0)


@boundary("client-robust.loop")
def reconnects_fast() -> Change:
    """A lost connection is opened again after 10 ms."""
    return constant(link, "reconnect_delay", 0.01)


@missing("client-connection.graceful-end", around(Subscription, "leave"))
def ends_without_cls(original: Original, self: Subscription) -> None:
    """A consumer that ends closes its connections without CLS."""
    self._consumer.ready.leave(self)
    self._end()


@wrong_value("client-connection.graceful-end", around(NodeConnection, "close"))
def ends_with_nop(original: Original, self: NodeConnection) -> object:
    """A consumer that ends sends NOP instead of CLS."""
    original(self)
    return commands.NOP


@extra("client-connection.graceful-end", around(NodeConnection, "close"))
def ready_after_cls(original: Original, self: NodeConnection) -> object:
    """A consumer that ends asks for messages by RDY after CLS."""
    return original(self) + commands.ready(1)


@missing("client.end", around(Shell, "close"))
async def does_not_end(_: Original, self: Shell) -> None:
    """A client that is asked to end keeps its connections."""


@missing("client.end", around(Lookups, "stop"))
def lookups_never_end(_: Original, self: Lookups) -> None:
    """A client that is asked to end goes on with its lookups."""


@condition("client.end", around(Producer, "stop"))
def producer_stays_connected(_: Original, self: Producer) -> None:
    """A producer that is asked to end stops its lookups, and keeps its connections."""
    self.lookups.stop()


@boundary("client.end", around(Subscription, "_end"))
def ends_late(_: Original, self: Subscription) -> None:
    """A consumer that ends keeps its connections after CLOSE_WAIT."""


FAULTS = list_faults(__name__)
