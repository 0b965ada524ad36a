"""One client over TCP: frames in, commands run in order, answers out."""

from collections.abc import Callable

from wireproof_reference_impl.iggy.core.client import Client, client_id
from wireproof_reference_impl.iggy.core.fields import Fields
from wireproof_reference_impl.iggy.core.framing import CODE_BYTES, LENGTH_BYTES
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
        self._session = Session(server, Client(client_id(address), address), now_us)
        self._buffer = bytearray()
        self._output: list[bytes] = []
        server.clients[self._session.client.id] = self._session.client

    def receive(self, data: bytes, now_us: int) -> None:
        """Take bytes from the client and do what they say."""
        if self.closed:
            return
        self._session.now_us = now_us
        self._buffer += data
        place = 0
        while not self.closed:
            start = place + LENGTH_BYTES
            if start > len(self._buffer):
                break
            end = start + int.from_bytes(self._buffer[place:start], "little")
            if end > len(self._buffer):
                break
            self._run(bytes(self._buffer[start:end]))
            place = end
        del self._buffer[:place]

    def end(self) -> None:
        """Learn that the client sends no more, or is gone; what it had begun is forgotten."""
        if not self.closed:
            self.closed = True
            self._server.disconnect(self._session.client)

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    def _run(self, frame: bytes) -> None:
        try:
            action = self._read(frame)
        except Refusal as refusal:
            self._unreadable(refusal)
            return
        try:
            self._answer(OK, action(self._session))
        except Refusal as refusal:
            self._answer(refusal.status.code, b"")
        except OSError:
            self._answer(IO_ERROR.code, b"")

    def _read(self, frame: bytes) -> Action:
        framing = self._server.behaviour.framing
        fields = Fields(frame)
        code = int.from_bytes(fields.take(CODE_BYTES), "little")
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
            self.end()
        else:
            self._answer(answer.status.code, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self._output.append(self._server.behaviour.framing.response(status, body))


def _login_first(session: Session) -> bytes:
    raise Refusal(UNAUTHENTICATED, "Unauthenticated")
