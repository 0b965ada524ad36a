"""Checks that a client makes up nothing: neither messages and their ids, nor that it was heard."""

from collections.abc import Container

from wireproof_kit.clients.events import Answered, Event, Greeted, Told
from wireproof_kit.nsq.clients.driver_requests import PRODUCE
from wireproof_kit.nsq.clients.events import PUBLISHES, Commanded
from wireproof_kit.nsq.clients.fuzz.frames import LARGEST
from wireproof_spec.driver.lines import Fields, LineFault, Result, from_base64
from wireproof_spec.nsq import names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE
from wireproof_spec.nsq.frame import (
    FRAME_TYPE_ERROR,
    FRAME_TYPE_MESSAGE,
    NEED_MORE,
    FrameReader,
    ServerFrame,
)
from wireproof_spec.wire_error import WireError

ID_AT = 10
"""The offset of the id in a message: after timestamp and attempts."""
_ID_END = ID_AT + MESSAGE_ID_SIZE
ACKNOWLEDGING = frozenset(each.decode() for each in (names.FIN, names.REQ, names.TOUCH))


class Given:
    """What was sent on one connection to the client: messages, and answers to publishes.

    After a size that no frame can have, the bytes have no meaning: then any id and any answer is
    allowed, and of a message only that it stands in the bytes.
    """

    def __init__(self) -> None:
        self._reader = FrameReader(LARGEST)
        self._messages: dict[bytes, set[bytes]] = {}
        """What follows the id in each message, by id: the body, and what may precede it."""
        self._answers = 0
        self._awaits_identity = False
        self._raw = bytearray()
        self._is_readable = True

    def command(self, event: Commanded) -> None:
        """Take note of a command: the next answer after IDENTIFY is none to a publish.

        A client that publishes does not wait for the answer to IDENTIFY any more.
        """
        if event.name == names.IDENTIFY.decode():
            self._awaits_identity = True
        elif event.name in PUBLISHES:
            self._awaits_identity = False

    def send(self, data: bytes) -> None:
        """Add the messages and answers in bytes that are sent to the client."""
        self._raw += data
        if not self._is_readable:
            return
        self._reader.feed(data)
        try:
            while (frame := self._reader.next_frame()) is not NEED_MORE:
                self._add(frame)
        except WireError:
            self._is_readable = False

    def _add(self, frame: ServerFrame) -> None:
        if frame.frame_type == FRAME_TYPE_MESSAGE:
            message_id, rest = frame.data[ID_AT:_ID_END], frame.data[_ID_END:]
            self._messages.setdefault(message_id, set()).add(rest)
        elif self._awaits_identity and frame.data != names.HEARTBEAT:
            self._awaits_identity = False
        elif frame.frame_type != FRAME_TYPE_ERROR and frame.data != names.HEARTBEAT:
            # No text says what another response than OK to a publish means, and go-nsq and pynsq
            # take every response for success. So a success may follow all but errors and silence.
            self._answers += 1

    def holds(self, message_id: bytes) -> bool:
        """Return True if a message with this id may have been sent."""
        return not self._is_readable or message_id in self._messages

    def may_hold(self, message_id: bytes, body: bytes) -> bool:
        """Return True if a message with this id and body may have been sent."""
        if not self._is_readable and message_id in self._raw and body in self._raw:
            return True
        return any(rest.endswith(body) for rest in self._messages.get(message_id, ()))

    def take_answer(self) -> bool:
        """Return True if a publish may have been accepted; each answer counts for one publish.

        The kit asks a driver for one publish at a time, so that an answer to a batch counts once.
        """
        if not self._is_readable:
            return True
        self._answers -= (is_left := self._answers > 0)
        return is_left


class MadeUp:
    """Finds what a client makes up, on all its connections to nodes."""

    def __init__(self) -> None:
        self._given: dict[str, Given] = {}
        self._told: set[bytes] = set()
        self._is_driven = False

    def send(self, conn: str, data: bytes) -> None:
        """Take note of bytes that are sent to the client."""
        self._on(conn).send(data)

    def has_told(self, body: bytes) -> bool:
        """Return True if the user was told a message with this body, or there is no driver."""
        return not self._is_driven or body in self._told

    def find(self, event: Event, live: Container[str]) -> str:
        """Return what the client made up, in words; empty if nothing.

        ``live`` are the connections that have not ended before the event.
        """
        if isinstance(event, Answered) and event.op == PRODUCE:
            return self._find_published(live, is_told=isinstance(event.answer, Result))
        if isinstance(event, Told) and event.event.name == "message":
            return self._find_told(event.event.fields)
        self._is_driven = self._is_driven or isinstance(event, Greeted)
        if isinstance(event, Commanded):
            given = self._on(event.conn)
            given.command(event)
            if event.name in ACKNOWLEDGING and not given.holds(event.message_id):
                return f"{event.name} {event.message_id.hex()}, not sent on {event.conn}"
        return ""

    def _find_published(self, live: Container[str], *, is_told: bool) -> str:
        is_made_up = is_told and not any(each.take_answer() for each in self._given.values())
        # An answer on a connection that has ended cannot be the one to a later publish.
        self._given = {conn: given for conn, given in self._given.items() if conn in live}
        return "the user was told of a publish that no node has accepted" if is_made_up else ""

    def _find_told(self, told: Fields) -> str:
        try:
            message_id, body = bytes.fromhex(str(told["id"])), from_base64(str(told["body"]))
        except (KeyError, ValueError, LineFault):
            return ""  # what a line must have is checked elsewhere
        self._told.add(body)
        if any(each.may_hold(message_id, body) for each in self._given.values()):
            return ""
        what = f"message {message_id.hex()} with {len(body)} bytes of body"
        return f"the user was told {what}, which was not sent"

    def _on(self, conn: str) -> Given:
        return self._given.setdefault(conn, Given())
