"""Checks that a client acknowledges only what it was given."""

from wireproof_kit.nsq.clients.fuzz.frames import LARGEST
from wireproof_spec.nsq import names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE
from wireproof_spec.nsq.frame import FRAME_TYPE_MESSAGE, NEED_MORE, FrameReader
from wireproof_spec.wire_error import WireError

ID_AT = 10
"""The offset of the id in a message: after timestamp and attempts."""
ACKNOWLEDGING = frozenset(each.decode() for each in (names.FIN, names.REQ, names.TOUCH))


class Given:
    """The ids of the messages sent on one connection to the client, which it may acknowledge.

    After a size that no frame can have, the bytes have no meaning: then any id is allowed.
    """

    def __init__(self) -> None:
        self._reader = FrameReader(LARGEST)
        self._ids: set[bytes] = set()
        self._is_readable = True

    def send(self, data: bytes) -> None:
        """Add the ids of the messages in bytes that are sent to the client."""
        if not self._is_readable:
            return
        self._reader.feed(data)
        try:
            while (frame := self._reader.next_frame()) is not NEED_MORE:
                if frame.frame_type == FRAME_TYPE_MESSAGE:
                    self._ids.add(frame.data[ID_AT:][:MESSAGE_ID_SIZE])
        except WireError:
            self._is_readable = False

    def holds(self, message_id: bytes) -> bool:
        """Return True if a message with this id may have been sent."""
        return not self._is_readable or message_id in self._ids
