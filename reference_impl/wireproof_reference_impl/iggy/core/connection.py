"""One client over TCP: frames in, commands run in order, answers out."""

from collections.abc import Mapping
from typing import NamedTuple

from wireproof_reference_impl.iggy.core.commands import published, tagged
from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.core.session import Action, CommandContext, Handler
from wireproof_reference_impl.iggy.options import PUBLISHED, TAGGED
from wireproof_reference_impl.iggy.streams.client import Client
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.fields import Fields
from wireproof_reference_impl.iggy.wire.framing import CODE_BYTES, LENGTH_BYTES
from wireproof_reference_impl.iggy.wire.status import (
    IO_ERROR,
    UNAUTHENTICATED,
    Refusal,
    invalid_command,
)
from wireproof_spec.iggy.statuses import OK


class CommandTable(NamedTuple):
    """The handlers of commands by code, and the codes of commands that need no login."""

    handlers: Mapping[int, Handler]
    without_login: frozenset[int]


COMMAND_TABLES: Mapping[str, CommandTable] = {
    PUBLISHED: CommandTable(published.COMMANDS, frozenset(published.COMMANDS)),
    TAGGED: CommandTable(tagged.COMMANDS, tagged.WITHOUT_LOGIN),
}


class Connection:
    """The server's side of one TCP connection, without I/O: bytes in, bytes out."""

    def __init__(self, server: Server, *, address: str, now_us: int) -> None:
        self.closed = False
        self.server = server
        self.buffer = bytearray()
        number = server.behaviour.framing.client_id(address)
        self._session = CommandContext(server, Client(number, address), now_us)
        self._commands = COMMAND_TABLES[server.behaviour.framing.generation]
        self._output: list[bytes] = []
        server.clients[self._session.client.id] = self._session.client

    def receive(self, data: bytes, now_us: int) -> None:
        """Process bytes from the client: execute every complete command."""
        if self.closed:
            return
        self._session.now_us = now_us
        self.buffer += data
        while not self.closed and (frame := self._next_frame()) is not None:
            self._run(frame)

    def end(self) -> None:
        """Handle the end of the client's stream; an incomplete frame is dropped."""
        self.drop()

    def drop(self) -> None:
        """End the connection without an answer."""
        if not self.closed:
            self.closed = True
            self.server.disconnect(self._session.client)

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        data = b"".join(self._output)
        self._output.clear()
        return data

    def frame_length(self) -> int:
        """Return the length that the first bytes of the next frame declare."""
        return int.from_bytes(self.buffer[:LENGTH_BYTES], "little")

    def read(self, frame: bytes) -> Action:
        """Return the action that a frame, given without its length, requests.

        Raises:
            Refusal: the command is unknown or its fields cannot be read.
        """
        fields = Fields(frame)
        code = int.from_bytes(fields.take(CODE_BYTES), "little")
        handler = self.handler(code)
        if handler is None:
            raise invalid_command()
        action = handler(fields)
        if self._session.client.user is None and code not in self._commands.without_login:
            return _login_first
        return action

    def handler(self, code: int) -> Handler | None:
        """Return the handler of the command with this code; None if the generation has none."""
        return self._commands.handlers.get(code)

    def _next_frame(self) -> bytes | None:
        """Take the next frame, without its length, if all of it is here."""
        if len(self.buffer) < LENGTH_BYTES:
            return None
        end = LENGTH_BYTES + self.frame_length()
        if end > len(self.buffer):
            return None
        with memoryview(self.buffer) as whole:
            frame = bytes(whole[LENGTH_BYTES:end])
        del self.buffer[:end]
        return frame

    def _run(self, frame: bytes) -> None:
        try:
            action = self.read(frame)
        except Refusal as refusal:
            self._unreadable(refusal)
            return
        try:
            self._answer(OK, action(self._session))
        except Refusal as refusal:
            self._answer(refusal.status.code, b"")
        except OSError:
            self._answer(IO_ERROR.code, b"")

    def _unreadable(self, refusal: Refusal) -> None:
        answer = self.server.behaviour.framing.unreadable(refusal)
        if answer is None:
            self.drop()
        else:
            self._answer(answer.status.code, b"")
            if not self.server.behaviour.framing.goes_on:
                self.drop()

    def _answer(self, status: int, body: bytes) -> None:
        self._output.append(framing.response(status, body))


def _login_first(session: CommandContext) -> bytes:
    raise Refusal(UNAUTHENTICATED, "Unauthenticated")
