"""One client connection: bytes in, commands run in order, frames out."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec.structs import replace

from wireproof_reference_impl.nsq.core.access import BadSeal, Security
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.heartbeat import Heartbeat
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.states import MOVES, Event, State
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.identity import Identity
from wireproof_reference_impl.nsq.wire.line import read_line
from wireproof_reference_impl.nsq.wire.refusal import (
    EndOfStream,
    Refusal,
    Silence,
)
from wireproof_reference_impl.nsq.wire.words import byte_list, show
from wireproof_spec.nsq.error_codes import E_AUTH_FIRST, E_BAD_PROTOCOL, E_INVALID
from wireproof_spec.nsq.names import IDENTIFY, MAGIC, OK

Reading = Generator[int, bytes, None]
"""A command that needs more than its line: yields how many bytes, is sent exactly those."""

Handler = Callable[["Connection", Sequence[bytes]], Reading | None]

_NOBODY = Identity()
"""The identity of a client before IDENTIFY."""


C = TypeVar("C", contravariant=True)


class CommandBatch(Protocol[C]):
    """The interface that runs consecutive commands with the same line together."""

    @property
    def line(self) -> bytes:
        """The line with which each of the commands begins."""
        ...

    def take(self, connection: C, buffer: bytearray, place: int) -> int:
        """Run the commands in the buffer at `place`; return the position after them."""
        ...


class Connection:
    """The broker's side of one TCP connection, without I/O: bytes in, bytes out."""

    def __init__(self, node: Node, handlers: Mapping[bytes, Handler], now_ns: int) -> None:
        self.node = node
        self.now_ns = now_ns
        self.state = State.INIT
        self.identity = _NOBODY
        self.subscriber: Subscriber | None = None
        self.channel: Channel | None = None
        self.identified = self.authorized = self.closed = False
        self._unsealed = b""
        self.command = b""
        """The first word of the command at hand."""
        self.pipelined: CommandBatch[Connection] | None = None
        self._handlers = handlers
        self.buffer = bytearray()
        """Received bytes; those before `place` have been read."""
        self.place = 0
        self.reading: Reading | None = None
        """The command that waits for `needed` bytes."""
        self.needed = 0
        self.output: list[bytes] = []
        self._security: Security | None = None
        self.last_read_ns = now_ns
        self._start(self._magic())
        node.connections[self] = None
        self._heartbeat = Heartbeat(self, node.timers, now_ns)

    def receive(self, data: bytes, now_ns: int) -> None:
        """Process bytes from the client: run every complete command."""
        if self.closed:
            return
        self.now_ns = now_ns
        self.read(data if self._security is None else self._decrypt(data))
        if self._security is not None and self._security.ended:
            self.end_of_stream(now_ns)
        self.node.settle(now_ns)

    def end_of_stream(self, now_ns: int) -> None:
        """Handle the end of the client's stream."""
        self._end(now_ns, is_cut=self.reading is not None)

    def handle_loss(self, now_ns: int) -> None:
        """Handle the loss of the connection."""
        self._end(now_ns, is_cut=False)

    def _end(self, now_ns: int, *, is_cut: bool) -> None:
        if self.closed:
            return
        self.now_ns = now_ns
        if is_cut:
            self.cut_off()
        self.drop()
        self.node.settle(now_ns)

    def take_output(self) -> bytes:
        """Return the bytes to send, and clear the output buffer."""
        if self._security is not None:
            return self._encrypt(self._security)
        data = b"".join(self.output)
        self.output.clear()
        return data

    @property
    def is_secure(self) -> bool:
        """Return True if the connection uses TLS."""
        return self._security is not None

    def secure(self, security: Security) -> None:
        """Switch to TLS for all further input, and for output after what is already queued."""
        self._unsealed = self.take_output()
        self._security = security
        self.buffer[self.place :] = self._decrypt(bytes(self.buffer[self.place :]))

    def authorize(self, word: str) -> None:
        """Check that the client may run a command.

        Raises:
            Refusal: AUTH is required first.
        """
        if self.node.access.asks and not self.authorized:
            raise Refusal(E_AUTH_FIRST, f"AUTH required before {word}")

    def respond(self, data: bytes) -> None:
        """Send a response frame."""
        self._send(packed.RESPONSE, data)

    def send(self, frames: bytes) -> None:
        """Queue frames that are already encoded, to be sent."""
        self.output.append(frames)
        self.node.changed[self] = None

    def report(self, code: str, text: str | None) -> None:
        """Send an error frame: a code, followed by a text unless the text is None."""
        said = code if text is None else f"{code} {text}"
        self._send(packed.ERROR, said.encode("utf-8", "surrogateescape"))

    def push(self, data: bytes) -> None:
        """Send a message frame with this data."""
        self._send(packed.MESSAGE, data)

    def drop(self) -> None:
        """Close the connection without an answer."""
        if not self.closed:
            self.closed = True
            self.reading = None
            self._heartbeat.stop()
            self.node.changed[self] = None
            self.node.handle_leaving(self)

    def leave(self, now_ns: int) -> None:
        """Return the client's messages in flight to its channel."""
        if self.channel is not None and self.subscriber is not None:
            self.channel.leave(self.subscriber, now_ns)
        self.subscriber = None

    def move(self, event: Event) -> None:
        """Change to the state to which an event leads.

        Raises:
            Refusal: the event is not allowed in the present state.
        """
        following = MOVES[self.state].get(event)
        if following is None:
            raise Refusal(E_INVALID, f"cannot {event.value} in current state")
        self.state = following

    def identify(self, identity: Identity) -> None:
        """Store the client's IDENTIFY settings; its first heartbeat interval stays."""
        if self.identified:
            identity = replace(identity, heartbeat_ms=self.identity.heartbeat_ms)
        self.identity = identity
        if not self.identified:
            self.identified = True
            self._heartbeat.start_anew(self.now_ns)

    def turn_away(self, text: str) -> None:
        """Close the connection after an error frame that has a text but no code."""
        self.refuse(Refusal(text, None))
        self.node.settle(self.now_ns)

    def read(self, data: bytes) -> None:
        """Buffer received bytes and run every complete command."""
        self.buffer += data
        try:
            self._run()
        except Silence:
            self.drop()
        del self.buffer[: self.place]
        self.place = 0

    def run_command(self, words: Sequence[bytes]) -> None:
        """Run the command of a line that was read.

        Raises:
            Refusal: the command is unknown, or its line is invalid.
        """
        handler = self._handlers.get(words[0])
        if handler is None:
            shown = " ".join(map(byte_list, words))
            raise Refusal(E_INVALID, f"invalid command [{shown}]")
        self._start(handler(self, words))

    def finish_command(self) -> None:
        """Prepare for the next command."""
        self.reading = None

    def cut_off(self) -> None:
        """Handle the end of the stream inside the current command."""
        reading, self.reading = self.reading, None
        if reading is None:
            return
        try:
            reading.throw(EndOfStream(bytes(self.buffer[self.place :])))
        except (StopIteration, EndOfStream):
            return
        except Refusal as refusal:
            self.refuse(refusal)

    def refuse(self, refusal: Refusal) -> None:
        """Refuse the current command; a fatal refusal closes the connection."""
        self.reading = None
        text = refusal.text
        if text is not None:
            text = self.node.behaviour.output.error_text(refusal.code, text)
        self.report(refusal.code, text)
        fatal = self.node.behaviour.output.fatal
        if fatal(self.command, refusal.code, refusal.fatal):
            self.drop()

    def _run(self) -> None:
        while not self.closed:
            try:
                if not self._step():
                    return
            except Refusal as refusal:
                self.refuse(refusal)

    def _step(self) -> bool:
        if self.reading is not None:
            return self._feed(self.reading)
        if self.place >= len(self.buffer):
            return False
        if self.pipelined is not None and self._take_pipelined(self.pipelined):
            return self.place < len(self.buffer)
        line = read_line(self.buffer, self.place)
        if line is None:
            return False
        self.place = line.end
        words = line.words
        self.command = words[0]
        self.last_read_ns = self.now_ns
        self._check_security(words[0])
        self.run_command(words)
        return True

    def _take_pipelined(self, pipelined: CommandBatch["Connection"]) -> bool:
        """Run commands that repeat the line of the last one; return True if any was there."""
        if not self.buffer.startswith(pipelined.line, self.place):
            return False
        begin = self.place
        self.place = pipelined.take(self, self.buffer, begin)
        if self.place == begin:
            return False
        self.last_read_ns = self.now_ns
        return True

    def _start(self, reading: Reading | None) -> None:
        if reading is not None:
            self.reading = reading
            self.needed = next(reading, 0)

    def _feed(self, reading: Reading) -> bool:
        end = self.place + self.needed
        if end > len(self.buffer):
            return False
        data = bytes(self.buffer[self.place : end])
        self.place = end
        try:
            self.needed = reading.send(data)
        except StopIteration:
            self.finish_command()
        return True

    def _send(self, frame_type: int, data: bytes) -> None:
        if not self.closed:
            self.send(self.node.behaviour.output.frame(frame_type, data))

    def _decrypt(self, data: bytes) -> bytes:
        """Return the plaintext of TLS bytes; answer OK as soon as the handshake is complete."""
        security = self._security
        if security is None:
            return data
        established = security.established
        self.node.changed[self] = None
        try:
            plain = security.open(data)
        except BadSeal:
            self.drop()
            return b""
        if security.established and not established:
            self.respond(OK)
        return plain

    def _encrypt(self, security: Security) -> bytes:
        unsealed, self._unsealed = self._unsealed, b""
        if not security.established:
            return unsealed + security.seal(b"")
        data = b"".join(self.output)
        self.output.clear()
        sealed = unsealed + security.seal(data)
        return sealed + security.finish() if self.closed else sealed

    def _check_security(self, word: bytes) -> None:
        if self.node.access.tls_required and self._security is None and word != IDENTIFY:
            text = f"cannot {show(word)} in current state (TLS required)"
            raise Refusal(E_INVALID, text)

    def _magic(self) -> Reading:
        if (yield len(MAGIC)) != MAGIC:
            raise Refusal(E_BAD_PROTOCOL, None)
