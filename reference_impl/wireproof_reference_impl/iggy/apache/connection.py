"""One client over TCP: frames in, requests served in order, answers out."""

from wireproof_reference_impl.iggy.apache import requests
from wireproof_reference_impl.iggy.apache.node import Node
from wireproof_reference_impl.iggy.apache.session import Call
from wireproof_spec.iggy.apache.frames import (
    MAX_FRAME_SIZE,
    NEED_MORE,
    Frame,
    FrameReader,
    decode_request,
)
from wireproof_spec.iggy.apache.header import HIGHEST_COMMAND, REQUEST_COMMAND
from wireproof_spec.wire_error import WireError


class Connection:
    """The server's side of one TCP connection, without I/O: bytes in, bytes out."""

    def __init__(self, node: Node, *, now_us: int) -> None:
        self.closed = False
        self.node = node
        self.client = 0
        """The client id that last logged in here; another connection may have taken it over."""
        node.connections += 1
        self.number = node.connections
        self._reader = FrameReader(MAX_FRAME_SIZE)
        self._output: list[bytes] = []

    def receive(self, data: bytes, now_us: int) -> None:
        """Process bytes from the client: serve every complete request."""
        if self.closed:
            return
        self._reader.feed(data)
        try:
            while not self.closed and (frame := self._reader.next_frame()) is not NEED_MORE:
                self._take(frame, now_us)
        except WireError:
            self.refuse_size()

    def refuse_size(self) -> None:
        """End the connection: a frame declares a size that none may have."""
        self.closed = True

    def tell(self, data: bytes) -> None:
        """Append bytes to the output."""
        self._output.append(data)

    def end(self) -> None:
        """Handle the end of the client's stream; an incomplete frame is dropped."""
        self.closed = True
        if self.session():
            self.node.leave_groups(self.client)
            del self.node.registered[self.client]

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    def session(self) -> int:
        """Return the session that is bound to the connection; 0 without a valid login."""
        registered = self.node.registered.get(self.client)
        if registered is None or registered.connection != self.number:
            return 0
        return registered.session

    def answer(self, frame: Frame, now_us: int) -> bytes:
        """Return the bytes that answer a frame."""
        request = decode_request(frame)
        call = Call(self.number, request, now_us, self.client, self.session())
        answer = requests.serve(self.node, call)
        registered = self.node.registered.get(request.header.client)
        if registered is not None and registered.connection == self.number:
            self.client = request.header.client
        return answer

    def _take(self, frame: Frame, now_us: int) -> None:
        if frame.command > HIGHEST_COMMAND:
            self.closed = True
        elif frame.command == REQUEST_COMMAND:
            self.tell(self.answer(frame, now_us))
        else:
            self.drop(frame)

    def drop(self, frame: Frame) -> None:
        """Do nothing about a frame whose command is for replicas only."""
