"""One client connection: bytes in, commands run in order, frames out."""

from collections.abc import Callable, Generator, Mapping, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.nsq.core import packed
from wireproof_reference_impl.nsq.core.access import BadSeal, Security
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.core.frame_reading import Spill
from wireproof_reference_impl.nsq.core.header import Header
from wireproof_reference_impl.nsq.core.identity import Identity
from wireproof_reference_impl.nsq.core.line import read_line
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.pulse import Pulse
from wireproof_reference_impl.nsq.core.refusal import (
    Deaf,
    EndOfStream,
    Halt,
    Refusal,
    Silence,
    Stuck,
)
from wireproof_reference_impl.nsq.core.row import Row
from wireproof_reference_impl.nsq.core.states import MOVES, Event, State
from wireproof_reference_impl.nsq.core.subscriber import Subscriber
from wireproof_reference_impl.nsq.core.words import byte_list, shown
from wireproof_spec.nsq.error_codes import E_AUTH_FIRST, E_BAD_PROTOCOL, E_INVALID, E_PUB_FAILED
from wireproof_spec.nsq.names import IDENTIFY, MAGIC, OK

Reading = Generator[int, bytes, None]
"""A command that needs more than its line: yields how many bytes, is sent exactly those."""

Handler = Callable[["Connection", Sequence[bytes]], Reading | None]

_NOBODY = Identity()
"""Who has not said who he is."""


class Connection:
    """The protocol's side of one TCP connection. The owner moves the bytes."""

    def __init__(self, node: Node, handlers: Mapping[bytes, Handler], now_ns: int) -> None:
        self.node = node
        self.now_ns = now_ns
        self.state = State.INIT
        self.identity = _NOBODY
        self.subscriber: Subscriber | None = None
        self.channel: Channel | None = None
        self.identified = self.authorized = self.closed = False
        self.published: Header | None = None
        self.body = self._unsealed = b""
        self.command = b""
        """The first word of the command at hand."""
        self.pieces = 0
        self.cut = self._spoiled = False
        self.row: Row[Connection] | None = None
        self._deaf = self._leaks = False
        self._skipped, self._came = 0, b""
        self.harm = node.harm
        self._weakness = node.behaviour.weakness
        self._handlers = handlers
        self._buffer = bytearray()
        self._place = 0
        self._needed = 0
        self._reading: Reading | None = None
        self._output: list[bytes] = []
        self._security: Security | None = None
        self.last_read_ns = now_ns
        self._start(self._magic())
        node.connections[self] = None
        self._pulse = Pulse(self, node.timers, now_ns)

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes from the client and do what they say."""
        if self.closed or self._deaf or self.node.harm.stuck:
            return
        self.now_ns = now_ns
        between = self._reading is None and not self._buffer
        pieces = self.pieces = 1 if between else self.pieces + 1
        said = len(self._output)
        self._came = data if self._security is None else self._opened(data)
        self._guarded(self._take)
        del self._buffer[: self._place]
        self._place = 0
        arrange = self.node.behaviour.parser.arrange
        if arrange is not None:
            self._output[said:] = arrange(self._output[said:], pieces)
        if self._security is not None and self._security.ended:
            self.end_of_stream(now_ns)
        self.node.settle(now_ns)

    def end_of_stream(self, now_ns: int) -> None:
        """Learn that the client sends no more."""
        self._end(now_ns, is_cut=self._reading is not None)

    def lost(self, now_ns: int) -> None:
        """Learn that the connection is gone."""
        self._end(now_ns, is_cut=False)

    def _end(self, now_ns: int, *, is_cut: bool) -> None:
        if self.closed:
            return
        self.now_ns = now_ns
        if is_cut:
            self._guarded(self._cut_off)
        self.drop()
        self.node.settle(now_ns)

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        if self._security is not None:
            return self._sealed(self._security)
        data = b"".join(self._output)
        self._output.clear()
        return data

    @property
    def is_secure(self) -> bool:
        """Tell whether the connection goes on in TLS."""
        return self._security is not None

    def secure(self, security: Security) -> None:
        """Go on in TLS: with what follows in the stream, and after what was said so far."""
        self._unsealed = self.take_output()
        self._security = security
        self._buffer[self._place :] = self._opened(bytes(self._buffer[self._place :]))

    def authorize(self, word: str) -> None:
        """Let the client do something, if it may.

        Raises:
            Refusal: it has to say AUTH before.
        """
        if self.node.access.asks and not self.authorized:
            raise Refusal(E_AUTH_FIRST, f"AUTH required before {word}")

    def respond(self, data: bytes) -> None:
        """Send a response frame."""
        self._send(packed.RESPONSE, data)

    def send(self, frames: bytes) -> None:
        """Send frames that are packed already."""
        self._output.append(frames)
        self.node.changed[self] = None

    def report(self, code: str, text: str | None) -> None:
        """Send an error frame: a code and, unless that is None, a text behind it."""
        said = code if text is None else f"{code} {text}"
        self._send(packed.ERROR, said.encode("utf-8", "surrogateescape"))

    def push(self, data: bytes) -> None:
        """Send a message frame."""
        self._send(packed.MESSAGE, data)

    def drop(self) -> None:
        """End the connection without a word."""
        if not self.closed and not self._leaks:
            self.closed = True
            self._reading = None
            self._pulse.stop()
            self.node.changed[self] = None
            self.node.leaving(self)

    def leave(self, now_ns: int) -> None:
        """Give back to the channel what this client holds."""
        if self.channel is not None and self.subscriber is not None:
            self.channel.leave(self.subscriber, now_ns)
        self.subscriber = None

    def move(self, event: Event) -> None:
        """Go to the state that an event leads to.

        Raises:
            Refusal: the event has no place in the present state.
        """
        following = MOVES[self.state].get(event)
        if following is None:
            raise Refusal(E_INVALID, f"cannot {event.value} in current state")
        self.state = following

    def identify(self, identity: Identity) -> None:
        """Take over what the client said of itself; its first heartbeat interval stays."""
        if self.identified:
            identity = replace(identity, heartbeat_ms=self.identity.heartbeat_ms)
        self.identity = identity
        if not self.identified:
            self.identified = True
            self._pulse.start_anew(self.now_ns)

    def turn_away(self, text: str) -> None:
        """End the connection with an error that has no code."""
        self._refuse(Refusal(text, None))
        self.node.settle(self.now_ns)

    def suffer(self) -> None:
        """Refuse a publish for what a refused frame before it has spoilt, if anything."""
        if self._spoiled or self.node.spoiled:
            self._spoiled = self.node.spoiled = False
            raise Refusal(E_PUB_FAILED, fatal=False)

    @property
    def unread(self) -> bytes:
        """Return what has come and is not read yet."""
        return bytes(self._buffer[self._place :])

    @property
    def wanted(self) -> int:
        """Return how many bytes the command at hand waits for; 0 between commands."""
        return 0 if self._reading is None else self._needed

    def reread(self, dropped: int, data: bytes = b"") -> None:
        """Read other bytes in the place of the next ones."""
        self._buffer[self._place : self._place + dropped] = data

    def skip_later(self, count: int) -> None:
        """Drop the next bytes to come."""
        here = min(count, len(self._buffer) - self._place)
        self.reread(here)
        self._skipped += count - here

    def leak(self) -> None:
        """Never let go of the connection, whatever becomes of the client."""
        self._leaks = True

    def drop_another(self, *, subscribed: bool) -> None:
        """End the connection of another client, the one that came first."""
        others = (each for each in self.node.connections if isinstance(each, Connection))
        for each in others:
            if each is not self and (each.subscriber is not None) is subscribed:
                each.drop()
                return

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Silence:
            self.drop()
        except Deaf:
            self._deaf = True
        except Stuck:
            self.node.harm.stuck = True
        except Halt:
            self.node.halted = True
            self.node.changed[self] = None

    def _take(self) -> None:
        data, self._came = self._came, b""
        if self._weakness.segment is not None:
            data = self._weakness.segment(self, data)
        if self._skipped:
            skipped = min(self._skipped, len(data))
            self._skipped -= skipped
            data = data[skipped:]
        self._buffer += data
        self._run()

    def _run(self) -> None:
        while not self.closed:
            try:
                if not self._step():
                    return
            except Refusal as refusal:
                self._refuse(refusal)

    def _step(self) -> bool:
        if self._reading is not None:
            return self._feed(self._reading)
        if self._place >= len(self._buffer):
            return False
        if self.row is not None and self._take_row(self.row):
            return self._place < len(self._buffer)
        line = read_line(self._buffer, self._place)
        if line is None:
            return False
        self._place = line.end
        words: Sequence[bytes] = line.words
        self.command = words[0]
        self.last_read_ns = self.now_ns
        self._check_security(words[0])
        if self._weakness.line is not None:
            words = self._weakness.line(self, words)
        handler = self._handlers.get(words[0])
        if handler is None:
            shown = " ".join(map(byte_list, words))
            raise Refusal(E_INVALID, f"invalid command [{shown}]")
        self._start(handler(self, words))
        return True

    def _take_row(self, row: Row["Connection"]) -> bool:
        """Take commands that are like the last one, if they follow; tell whether any did."""
        if not self._buffer.startswith(row.line, self._place):
            return False
        begin = self._place
        self._place = row.take(self, self._buffer, begin)
        if self._place == begin:
            return False
        self.last_read_ns = self.now_ns
        return True

    def _start(self, reading: Reading | None) -> None:
        if reading is not None:
            self._reading = reading
            self._needed = next(reading, 0)

    def _feed(self, reading: Reading) -> bool:
        end = self._place + self._needed
        if end > len(self._buffer):
            return False
        data = bytes(self._buffer[self._place : end])
        self._place = end
        try:
            self._needed = reading.send(data)
        except StopIteration:
            self._done()
        return True

    def _done(self) -> None:
        self._reading = None
        self.pieces = 1
        rest = self.node.behaviour.parser.rest
        if rest is not None:
            self._buffer[self._place :] = rest(self.command, bytes(self._buffer[self._place :]))

    def _cut_off(self) -> None:
        reading, self._reading = self._reading, None
        if reading is None:
            return
        if self._weakness.cut is not None:
            self._weakness.cut(self)
        if self._leaks:
            return
        try:
            reading.throw(EndOfStream(bytes(self._buffer[self._place :])))
        except (StopIteration, EndOfStream):
            return
        except Refusal as refusal:
            self._refuse(refusal)

    def _refuse(self, refusal: Refusal) -> None:
        self._reading = None
        if self._weakness.refused is not None:
            self._weakness.refused(self, refusal)
        self._spill()
        text = refusal.text
        if text is not None:
            text = self.node.behaviour.output.error_text(refusal.code, text)
        self.report(refusal.code, text)
        fatal = self.node.behaviour.output.fatal
        if fatal(self.command, refusal.code, refusal.fatal):
            self.drop()

    def _spill(self) -> None:
        """Let a refused frame spoil what comes next, where the broker is made to be so."""
        rules = self.node.behaviour.parser
        self._buffer[self._place : self._place] = rules.unread(self.body)
        self.body = b""
        if rules.spill is Spill.SAME_CONNECTION:
            self._spoiled = True
        elif rules.spill is Spill.ANY_CONNECTION:
            self.node.spoiled = True

    def _send(self, frame_type: int, data: bytes) -> None:
        if not self.closed:
            self.send(self.node.behaviour.output.frame(frame_type, data))

    def _opened(self, data: bytes) -> bytes:
        """Return what bytes say; the first thing said in TLS is that it is there."""
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

    def _sealed(self, security: Security) -> bytes:
        unsealed, self._unsealed = self._unsealed, b""
        if not security.established:
            return unsealed + security.seal(b"")
        data = b"".join(self._output)
        self._output.clear()
        sealed = unsealed + security.seal(data)
        return sealed + security.finish() if self.closed else sealed

    def _check_security(self, word: bytes) -> None:
        if self.node.access.tls_required and self._security is None and word != IDENTIFY:
            text = f"cannot {shown(word)} in current state (TLS required)"
            raise Refusal(E_INVALID, text)

    def _magic(self) -> Reading:
        if (yield len(MAGIC)) != MAGIC:
            raise Refusal(E_BAD_PROTOCOL, None)
