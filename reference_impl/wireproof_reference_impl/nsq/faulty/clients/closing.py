"""Faults of what keeps a client's connections, and of what ends them."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from typing import cast

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
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    constant,
    die,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override
from wireproof_spec.nsq.frame import FRAME_TYPE_ERROR, ServerFrame

_SIZE_BYTES = 4
_HEARTBEAT = "client.heartbeat client.heartbeat-nop"


SIGNS_OF_LIFE = (
    "client-robust.frame client-robust.prefix client-robust.recovery client.error-open "
    "client-consume.no-late-finish client-consume.timed-out client.order-no-skip "
    "client.asynchronous ext.client-header.broken client.subscribe-error "
    "client-connection.subscribe-told client.identify-verified"
)
"""Clauses of which some case asks by a heartbeat whether the client still lives."""


def _close_on(*codes: str) -> Override:
    """Close the connection at an error about a message, before anything else is answered."""

    def call(original: Original, self: Link, data: bytes) -> None:
        if any(b"FAILED" in data and code.encode() in data for code in codes):
            self.reset("an error came")
        else:
            original(self, data)

    return around(Link, "received", call)


def _close_after(original: Original, self: Link, data: bytes) -> None:
    """Answer the heartbeat that came with an error about a message, then close."""
    original(self, data)
    if b"FAILED" in data and b"E_FIN_" in data:
        self.reset("an error came")


def _once(answer: bytes) -> Override:
    """Answer the first heartbeat of a connection; afterwards say this instead."""

    def call(original: Original, self: NodeConnection, data: bytes) -> object:
        events, reply = cast(tuple[object, bytes], original(self, data))
        if reply and vars(self).get("beaten"):
            reply = answer
        vars(self)["beaten"] = vars(self).get("beaten") or bool(reply)
        return events, reply

    return around(NodeConnection, "receive", call)


def _idle_only(original: Original, state: State) -> object:
    return b"" if state in (State.IDLE, State.PUBLISHING) else original(state)


def _die_at(*, frame_type: int | None = None, empty_error: bool = False) -> Override:
    def call(original: Original, self: NodeConnection, frame: ServerFrame) -> object:
        if frame.frame_type > 2 and frame_type is not None:
            die()
        if empty_error and frame.frame_type == FRAME_TYPE_ERROR and not frame.data:
            die()
        return original(self, frame)

    return around(NodeConnection, "_read", call)


def _deaf_after_strange(original: Original, self: NodeConnection, data: bytes) -> object:
    if vars(self).get("is_deaf"):
        return [], b""
    events, reply = cast(tuple[list[Event], bytes], original(self, data))
    if any(isinstance(event, Strange) for event in events):
        vars(self)["is_deaf"] = True
        reply = b""
    return events, reply


def _die_below_four() -> Override:
    def call(original: Original, self: NodeConnection, data: bytes) -> object:
        if len(data) >= _SIZE_BYTES and int.from_bytes(data[:_SIZE_BYTES], "big") < _SIZE_BYTES:
            die()
        return original(self, data)

    return around(NodeConnection, "receive", call)


def _receive_or(at_fault: Original) -> Override:
    def call(original: Original, self: NodeConnection, data: bytes) -> object:
        try:
            return original(self, data)
        except OutOfStep:
            at_fault()
            raise

    return around(NodeConnection, "receive", call)


def _stay_away(original: Original, self: Link, reason: str) -> None:
    if "size" in reason or "at most" in reason:
        self._drop()
        self._closed = True
        return
    original(self, reason)


async def _keep_all(self: Shell) -> None:
    """Answer, and close nothing."""


def _leave_without(original: Original, self: Subscription) -> None:
    self._consumer.ready.leave(self)
    self._end()


def _nop_for_cls(original: Original, self: NodeConnection) -> object:
    original(self)
    return commands.NOP


def _never_idle(self: Subscription) -> None:
    """Wait for ever for CLOSE_WAIT."""


FAULTS = (
    wrong_value(
        "error-closes",
        "An error about a message closes the connection.",
        "client.error-open",
        _close_on("E_FIN_", "E_REQ_", "E_TOUCH_"),
    ),
    condition(
        "error-closes-afterwards",
        "E_FIN_FAILED closes the connection once what came with it has been answered.",
        "client.error-open",
        around(Link, "received", _close_after),
    ),
    condition(
        "req-error-closes",
        "E_REQ_FAILED closes the connection.",
        "client.error-open",
        _close_on("E_REQ_"),
    ),
    missing(
        "heartbeats-unanswered",
        "Heartbeats are not answered.",
        _HEARTBEAT,
        constant(connection, "answer_heartbeat", b""),
        may=SIGNS_OF_LIFE,
    ),
    boundary(
        "heartbeat-answered-once",
        "Only the first heartbeat of a connection is answered.",
        _HEARTBEAT,
        _once(b""),
        may="client.asynchronous",
    ),
    condition(
        "producer-heartbeats-unanswered",
        "A producer does not answer heartbeats.",
        _HEARTBEAT,
        around(connection, "answer_heartbeat", _idle_only),
    ),
    wrong_value(
        "heartbeat-answered-rdy",
        "Heartbeats are answered with RDY.",
        "client.heartbeat-nop",
        constant(connection, "answer_heartbeat", b"RDY 1\n"),
    ),
    wrong_value(
        "heartbeat-answered-small",
        "Heartbeats are answered with nop in small letters.",
        "client.heartbeat-nop",
        constant(connection, "answer_heartbeat", b"nop\n"),
        may=SIGNS_OF_LIFE,
    ),
    extra(
        "dies-at-unknown-frame",
        "The process dies at a frame of an unknown type.",
        "client-robust.frame client-robust.recovery",
        _die_at(frame_type=9),
    ),
    extra(
        "dies-at-empty-error",
        "The process dies at an error without a text.",
        "client-robust.frame client-robust.recovery",
        _die_at(empty_error=True),
    ),
    condition(
        "deaf-after-strange-frame",
        "A connection is not read any more after a frame that means nothing.",
        "client-robust.recovery",
        around(NodeConnection, "receive", _deaf_after_strange),
        may="client-robust.frame",
    ),
    extra(
        "dies-at-bad-size",
        "The process dies at a frame whose size cannot be.",
        "client-robust.size client-robust.recovery",
        _receive_or(die),
    ),
    boundary(
        "dies-at-size-below-four",
        "The process dies at a frame whose size leaves no room for its type.",
        "client-robust.size client-robust.recovery",
        _die_below_four(),
    ),
    missing(
        "away-after-bad-size",
        "A connection is closed for good at a frame whose size cannot be.",
        "client-robust.recovery",
        around(Link, "reset", _stay_away),
        may="client-robust.size",
    ),
    missing(
        "reconnects-hot",
        "A lost connection is opened again at once.",
        "client-robust.loop",
        constant(link, "reconnect_delay", 0.0),
        may="ext.client-header.no-loop",
    ),
    boundary(
        "reconnects-fast",
        "A lost connection is opened again after 10 ms.",
        "client-robust.loop",
        constant(link, "reconnect_delay", 0.01),
        may="ext.client-header.no-loop",
    ),
    missing(
        "ends-without-cls",
        "A consumer that ends closes its connections without CLS.",
        "client-connection.graceful-end",
        around(Subscription, "leave", _leave_without),
    ),
    wrong_value(
        "ends-with-nop",
        "A consumer that ends sends NOP instead of CLS.",
        "client-connection.graceful-end",
        around(NodeConnection, "close", _nop_for_cls),
    ),
    missing(
        "does-not-end",
        "A client that is asked to end keeps its connections.",
        "client.end",
        around(Shell, "close", lambda _, self: _keep_all(self)),
        may="client-connection.graceful-end",
    ),
    missing(
        "lookups-never-end",
        "A client that is asked to end goes on with its lookups.",
        "client.end",
        around(Lookups, "stop", lambda _, self: None),
    ),
    condition(
        "producer-stays-connected",
        "A producer that is asked to end stops its lookups, and keeps its connections.",
        "client.end",
        around(Producer, "stop", lambda _, self: self.lookups.stop()),
    ),
    boundary(
        "ends-late",
        "A consumer that ends keeps its connections after CLOSE_WAIT.",
        "client.end",
        around(Subscription, "_end", lambda _, self: _never_idle(self)),
        may="client-connection.graceful-end client.lookup-leave",
    ),
)
