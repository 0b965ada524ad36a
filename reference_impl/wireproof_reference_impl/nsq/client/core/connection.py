"""One connection to an nsqd: commands in, bytes out; bytes in, events out.

A response says neither what it answers nor what it is. The state tells: each command that is
answered is sent in a state in which no other answer is due, so that a response, whatever it holds,
has one meaning. Heartbeats, errors about messages and deliveries come in between.
"""

from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from wireproof_reference_impl.nsq.client.core import commands
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    FRAME_TYPE_RESPONSE,
    NEED_MORE,
    FrameReader,
    ServerFrame,
    error_code,
)
from wireproof_spec.wire_error import WireError

LARGEST_FRAME = 2 * limits.MAX_BODY_SIZE
"""A message has a body, a header and a few numbers; a greater size is a lie or out of step."""


class State(Enum):
    """The state of a client's connection: which answer it waits for, if any."""

    NEW = "new"
    IDENTIFYING = "identifying"
    IDLE = "idle"
    PUBLISHING = "publishing"
    SUBSCRIBING = "subscribing"
    SUBSCRIBED = "subscribed"
    CLOSING = "closing"
    DONE = "done"


class Move(Enum):
    """What changes the state of a client's connection: a command with an answer, or the answer."""

    IDENTIFY = "IDENTIFY"
    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"
    CLS = "CLS"
    ANSWERED = "response"
    REFUSED = "error"


MOVES: dict[State, dict[Move, State]] = {
    State.NEW: {Move.IDENTIFY: State.IDENTIFYING},
    State.IDENTIFYING: {Move.ANSWERED: State.IDLE, Move.REFUSED: State.DONE},
    State.IDLE: {Move.PUBLISH: State.PUBLISHING, Move.SUBSCRIBE: State.SUBSCRIBING},
    State.PUBLISHING: {Move.ANSWERED: State.IDLE, Move.REFUSED: State.IDLE},
    State.SUBSCRIBING: {Move.ANSWERED: State.SUBSCRIBED, Move.REFUSED: State.DONE},
    State.SUBSCRIBED: {Move.CLS: State.CLOSING},
    State.CLOSING: {Move.ANSWERED: State.DONE},
    State.DONE: {},
}
"""What may come in which state, and the state after it; what is missing is not allowed."""


class Answered(Struct, frozen=True):
    """Event: the node answered a command; `state` was that of the connection until then."""

    state: State
    data: bytes


class Refused(Struct, frozen=True):
    """Event: the node answered a command with an error."""

    state: State
    code: str
    text: str


class Delivered(Struct, frozen=True):
    """Event: the node delivered a message; `data` is not decoded yet."""

    data: bytes


class Complaint(Struct, frozen=True):
    """Event: an error that answers no command: the node refused a FIN, REQ or TOUCH."""

    code: str
    text: str


class Strange(Struct, frozen=True):
    """Event: a frame that was not expected; if it is an answer, answers no longer fit commands."""

    text: str
    is_answer: bool = False


Event: TypeAlias = Answered | Refused | Delivered | Complaint | Strange


class OutOfStep(Exception):
    """Raised if received bytes are no frames; nothing after them on the connection can be read."""


class NodeConnection:
    """One connection of the client to a node, without I/O."""

    def __init__(self) -> None:
        self.state = State.NEW
        self._frames = FrameReader(LARGEST_FRAME)

    def identify(self, identity: commands.Identity) -> bytes:
        """Return the first bytes to send on the connection: magic and IDENTIFY."""
        self._move(Move.IDENTIFY)
        return commands.identify(identity)

    def publish(self, topic: str, partition: int | None, message: commands.Publish) -> bytes:
        """Return the command that publishes a message; only in the idle state."""
        self._move(Move.PUBLISH)
        return commands.publish(topic, partition, message)

    def subscribe(
        self, topic: str, channel: str, partition: int | None, *, ordered: bool
    ) -> bytes:
        """Return the command that subscribes; only in the idle state."""
        self._move(Move.SUBSCRIBE)
        return commands.subscribe(topic, channel, partition, ordered=ordered)

    def close(self) -> bytes:
        """Return CLS, after which no new message comes; only in the subscribed state."""
        self._move(Move.CLS)
        return commands.CLS

    def receive(self, data: bytes) -> tuple[list[Event], bytes]:
        """Process bytes from the node; return the events in them, and the bytes to send at once.

        Raises:
            OutOfStep: a size is below 4 or too great.
        """
        events: list[Event] = []
        reply = b""
        self._frames.feed(data)
        try:
            while (frame := self._frames.next_frame()) is not NEED_MORE:
                if is_heartbeat(frame):
                    reply += answer_heartbeat(self.state)
                else:
                    events.append(self._read(frame))
        except WireError as error:
            raise OutOfStep(str(error)) from None
        return events, reply

    def _read(self, frame: ServerFrame) -> Event:
        if frame.frame_type == FRAME_TYPE_MESSAGE:
            return Delivered(frame.data)
        if frame.frame_type == FRAME_TYPE_ERROR:
            return self._error(error_code(frame.data), frame.data.decode("utf-8", "replace"))
        if frame.frame_type == FRAME_TYPE_RESPONSE:
            return self._response(frame.data)
        return Strange(f"a frame of type {frame.frame_type}")

    def _response(self, data: bytes) -> Event:
        due = self.state
        if Move.ANSWERED not in MOVES[due] or (due is State.CLOSING and data != names.CLOSE_WAIT):
            return Strange(f"the response {data[:40]!r} answers nothing", is_answer=True)
        self._move(Move.ANSWERED)
        return Answered(due, data)

    def _error(self, code: str, text: str) -> Event:
        due = self.state
        if Move.REFUSED not in MOVES[due]:
            return Complaint(code, text)
        self._move(Move.REFUSED)
        return Refused(due, code, text)

    def _move(self, move: Move) -> None:
        self.state = MOVES[self.state][move]


def is_heartbeat(frame: ServerFrame) -> bool:
    """Return True if a frame is a heartbeat."""
    return frame.frame_type == FRAME_TYPE_RESPONSE and frame.data == names.HEARTBEAT


def answer_heartbeat(state: State) -> bytes:
    """Return the bytes that answer a heartbeat, the same in every state."""
    return commands.NOP
