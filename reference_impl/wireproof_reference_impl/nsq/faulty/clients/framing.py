"""Faults of how a client takes what TCP brings in pieces, or several at once."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

import asyncio
from collections.abc import Awaitable, Callable

import h11

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client import http_get
from wireproof_reference_impl.nsq.client.core.connection import (
    LARGEST_FRAME,
    Delivered,
    Event,
    NodeConnection,
    OutOfStep,
    State,
)
from wireproof_reference_impl.nsq.client.core.effects import Fetched
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.connecting import SWALLOW
from wireproof_reference_impl.nsq.faulty.clients.ways import boundary, condition, missing
from wireproof_reference_impl.overrides import Original, around
from wireproof_spec.nsq import names
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, FrameReader, ServerFrame

_SIZE, _TYPE_END, _ID_END = 4, 8, 34
_WIDTH = 16
_READ = 1 << 16
Received = tuple[list[Event], bytes]
Receive = Callable[[NodeConnection, bytes], Received]


@missing("client-connection.framing", around(NodeConnection, "receive"))
def part_of_frame_lost(original: Receive, self: NodeConnection, data: bytes) -> object:
    """What a read holds of a frame that goes on is lost."""
    self._frames = FrameReader(LARGEST_FRAME)
    return original(self, data)


@missing("client-connection.framing", around(NodeConnection, "receive"))
def second_frame_lost(original: Receive, self: NodeConnection, data: bytes) -> Received:
    """Of several frames that come with one read, only the first is used."""
    events, reply = original(self, data)
    return events[:1], reply


@condition("client-connection.framing", around(NodeConnection, "receive"))
def part_of_size_lost(original: Receive, self: NodeConnection, data: bytes) -> Received:
    """A read of fewer bytes than a size is lost if a frame begins with it."""
    if len(data) < _SIZE and not self._frames.pending:
        return [], b""
    return original(self, data)


@condition("client-connection.framing", around(NodeConnection, "receive"))
def body_ends_with_read(original: Receive, self: NodeConnection, data: bytes) -> Received:
    """A message whose id has come is taken to end with the read; the rest of it is left out."""
    left = int(vars(self).get("left", 0))
    vars(self)["left"] = max(left - len(data), 0)
    events, reply = original(self, data[left:])
    pending = bytes(self._frames.pending)
    size = int.from_bytes(pending[:_SIZE], "big")
    if len(pending) > _ID_END and pending[_SIZE:_TYPE_END] == FRAME_TYPE_MESSAGE.to_bytes(
        4, "big"
    ):
        events.append(Delivered(pending[_TYPE_END:]))
        self._frames = FrameReader(LARGEST_FRAME)
        vars(self)["left"] = size + _SIZE - len(pending)
    return events, reply


@boundary("client-connection.framing", around(NodeConnection, "_read"))
def body_of_16_bits(original: Original, self: NodeConnection, frame: ServerFrame) -> object:
    """Of a message of 32768 bytes and more, the body is cut to its size modulo 32768."""
    size = len(frame.data) - _ID_END + _TYPE_END
    if frame.frame_type == FRAME_TYPE_MESSAGE and size >= 1 << (_WIDTH - 1):
        rest = size % (1 << (_WIDTH - 1))
        frame = ServerFrame(frame.frame_type, frame.data[: _ID_END - _TYPE_END + rest])
    return original(self, frame)


def _beat_answers(due: State) -> Change:
    """Take a heartbeat for the answer that is due in this state, and leave that out."""

    def call(original: Receive, self: NodeConnection, data: bytes) -> Received:
        events, reply = original(self, data)
        if reply and self.state is due:
            events.append(self._response(names.OK))
            vars(self)["owed"] = True
        return events, reply

    return around(NodeConnection, "receive", call), SWALLOW


@condition("client-connection.heartbeat-between")
def beat_is_receipt() -> Change:
    """A heartbeat is taken for the answer to a publish."""
    return _beat_answers(State.PUBLISHING)


def _beat_ends(due: State) -> Change:
    """Give the connection up at a heartbeat that comes in this state."""

    def call(original: Receive, self: NodeConnection, data: bytes) -> Received:
        state = self.state
        events, reply = original(self, data)
        if reply and state is due:
            raise OutOfStep("the answer is a heartbeat")
        return events, reply

    return (around(NodeConnection, "receive", call),)


@condition("client-connection.heartbeat-between")
def beat_ends_subscribing() -> Change:
    """A heartbeat that comes before the answer to a subscription ends the subscription."""
    return _beat_ends(State.SUBSCRIBING)


@condition("client-connection.heartbeat-between")
def beat_ends_identifying() -> Change:
    """A heartbeat that comes before the answer to IDENTIFY ends the connection."""
    return _beat_ends(State.IDENTIFYING)


def _note_beat(original: Receive, self: NodeConnection, data: bytes) -> Received:
    state = self.state
    events, reply = original(self, data)
    if reply and state is State.CLOSING:
        vars(self)["beaten"] = True
    return events, reply


def _end_unless_beaten(original: Original, self: Subscription) -> None:
    if not vars(self._link.node).get("beaten"):
        original(self)


@condition("client-connection.heartbeat-between")
def beat_keeps_connections() -> Change:
    """After a heartbeat that comes before CLOSE_WAIT, a consumer keeps its connections."""
    return (
        around(NodeConnection, "receive", _note_beat),
        around(Subscription, "_end", _end_unless_beaten),
    )


@condition("client-lookup.framing", around(http_get, "_answer"))
async def lookup_head_read_once(
    original: Callable[..., Awaitable[Fetched | None]],
    parser: h11.Connection,
    reader: asyncio.StreamReader,
) -> Fetched | None:
    """The answer of a lookup server is given up if the first read ends inside its head."""
    parser.receive_data(await reader.read(_READ))
    if parser.their_state is h11.SEND_RESPONSE and b"\r\n\r\n" not in parser.trailing_data[0]:
        return None
    return await original(parser, reader)


@missing("client-lookup.framing", around(http_get, "_answer"))
async def lookup_read_once(
    _: Original, parser: h11.Connection, reader: asyncio.StreamReader
) -> Fetched | None:
    """The answer of a lookup server is what the first read brings."""
    head, *rest = (await reader.read(_READ)).split(b"\r\n\r\n", 1)
    status = head.split(b" ")[1:2]
    return Fetched(int(status[0]), b"".join(rest)) if status else None


FAULTS = list_faults(__name__)
