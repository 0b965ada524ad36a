"""One client over TCP: frames in, commands run in order, answers out."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core.client import Client
from wireproof_reference_impl.iggy.core.fields import Fields
from wireproof_reference_impl.iggy.core.framing import CODE_BYTES, LENGTH_BYTES
from wireproof_reference_impl.iggy.core.harm import Deaf, Halt, Stuck
from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.core.status import (
    IO_ERROR,
    UNAUTHENTICATED,
    Refusal,
    invalid_command,
)
from wireproof_spec.iggy.statuses import OK


class Session:
    """What a command sees: the server, who asks, and the time."""

    def __init__(self, server: Server, client: Client, now_us: int) -> None:
        self.server = server
        self.client = client
        self.now_us = now_us


Action = Callable[[Session], bytes]
"""Does what a command asks for and returns the body of the answer, or raises `Refusal`."""

Handler = Callable[[Fields], Action]
"""Reads the fields of a command; raises `Refusal` when they are not as they must be."""


class Connection:
    """The protocol's side of one TCP connection. The owner moves the bytes."""

    def __init__(self, server: Server, *, address: str, now_us: int) -> None:
        self.closed = False
        self._server = server
        number = server.behaviour.framing.client_id(address)
        self._session = Session(server, Client(number, address), now_us)
        self._buffer = bytearray()
        self._output: list[bytes] = []
        self._weakness = server.behaviour.weakness
        self._deaf = self._leaks = False
        self._skipped = 0
        self.harm = server.harm
        server.connections[self] = None
        server.clients[self._session.client.id] = self._session.client

    def receive(self, data: bytes, now_us: int) -> None:
        """Take bytes from the client and do what they say."""
        if self.closed or self._deaf or self.harm.stuck:
            return
        self._session.now_us = now_us
        try:
            self._take(data)
        except Deaf:
            self._deaf = True
        except Stuck:
            self.harm.stuck = True
        except Halt:
            self.harm.halted = True

    def end(self) -> None:
        """Learn that the client sends no more, or is gone; what it had begun is forgotten."""
        if self._weakness.cut is not None and self._buffer and not self.closed:
            self._weakness.cut(self)
        self.drop()

    def drop(self) -> None:
        """End the connection."""
        if not self.closed and not self._leaks:
            self.closed = True
            self._server.connections.pop(self, None)
            self._server.disconnect(self._session.client)

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    @property
    def unread(self) -> bytes:
        """Return what has come of a frame so far."""
        return bytes(self._buffer)

    def skip_later(self, count: int) -> None:
        """Drop the next bytes to come."""
        here = min(count, len(self._buffer))
        del self._buffer[:here]
        self._skipped += count - here

    def leak(self) -> None:
        """Never let go of the connection, whatever becomes of the client."""
        self._leaks = True

    def drop_another(self) -> None:
        """End the connection of another client, the one that came first."""
        other = next((each for each in self._server.connections if each is not self), None)
        if other is not None:
            other.drop()
            self.harm.dropped.append(other)

    def _take(self, data: bytes) -> None:
        segment = self._weakness.segment
        data = data if segment is None else segment(self, data)
        self._buffer += data[self._skipped :]
        self._skipped = max(0, self._skipped - len(data))
        while not self.closed and (frame := self._next_frame()) is not None:
            self._run(frame)

    def _next_frame(self) -> bytes | None:
        """Take the next frame, without its length, if all of it is here."""
        if len(self._buffer) < LENGTH_BYTES:
            return None
        length = int.from_bytes(self._buffer[:LENGTH_BYTES], "little")
        if self._weakness.length is not None:
            length = self._weakness.length(self, length)
        end = LENGTH_BYTES + length
        if end > len(self._buffer):
            return None
        with memoryview(self._buffer) as whole:
            frame = bytes(whole[LENGTH_BYTES:end])
        del self._buffer[:end]
        return frame

    def _run(self, frame: bytes) -> None:
        try:
            action = self._read(frame)
        except Refusal as refusal:
            self._note(refusal)
            self._unreadable(refusal)
            return
        try:
            self._answer(OK, action(self._session))
        except Refusal as refusal:
            self._note(refusal)
            self._answer(refusal.status.code, b"")
        except OSError:
            self._answer(IO_ERROR.code, b"")

    def _note(self, refusal: Refusal) -> None:
        if self._weakness.refused is not None:
            self._weakness.refused(self, refusal)

    def _read(self, frame: bytes) -> Action:
        framing = self._server.behaviour.framing
        fields = Fields(frame)
        code = int.from_bytes(fields.take(CODE_BYTES), "little")
        if self._weakness.frame is not None:
            payload = self._weakness.frame(self, code, frame[CODE_BYTES:])
            if payload is None:
                return _nothing
            fields = Fields(payload)
        handler = framing.commands.get(code)
        if handler is None:
            raise invalid_command()
        action = handler(fields)
        if self._session.client.user is None and code not in framing.without_login:
            return _login_first
        return action

    def _unreadable(self, refusal: Refusal) -> None:
        answer = self._server.behaviour.framing.unreadable(refusal)
        if answer is None:
            self.drop()
        else:
            self._answer(answer.status.code, b"")
            if not self._server.behaviour.framing.goes_on:
                self.drop()

    def _answer(self, status: int, body: bytes) -> None:
        self._output.append(self._server.behaviour.framing.response(status, body))


def _login_first(session: Session) -> bytes:
    raise Refusal(UNAUTHENTICATED, "Unauthenticated")


def _nothing(session: Session) -> bytes:
    return b""
