"""The sockets: asyncio protocols that carry bytes and time to the broker and back.

Nothing here knows what the bytes mean. What one received chunk caused is written at once.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from time import monotonic_ns, time_ns
from typing import Protocol, cast

from wireproof_reference_impl.nsq.core.node import Node

_LINGER_SECONDS = 1.0
"""How long a connection that we end may still send; cutting it could cost it our last frame."""


class Link(Protocol):
    """The protocol's side of one connection."""

    @property
    def closed(self) -> bool:
        """Tell whether the connection is over once its output is sent."""
        ...

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes from the client."""

    def end_of_stream(self, now_ns: int) -> None:
        """Learn that the client sends no more."""

    def lost(self, now_ns: int) -> None:
        """Learn that the connection is gone."""

    def take_output(self) -> bytes:
        """Return what is to be sent, once."""
        ...


Connect = Callable[[str, int], Link]
"""Makes the link of a new connection, given its address and the time."""


class Clock:
    """Wall time that never goes back."""

    def __init__(self) -> None:
        self._base_ns = time_ns() - monotonic_ns()

    def now_ns(self) -> int:
        """Return nanoseconds since 1970."""
        return self._base_ns + monotonic_ns()


class Shell:
    """Carries everything between the sockets and one node."""

    def __init__(self, node: Node, clock: Clock, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.clock = clock
        self.stopped: asyncio.Future[None] = loop.create_future()
        self.carriers: dict[object, Carrier] = {}
        self._node = node
        self._pacing = node.behaviour.pacing
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ns: int | None = None
        self._late: asyncio.TimerHandle | None = None

    async def listen(self, host: str, port: int, connect: Connect) -> asyncio.Server:
        """Open a listening socket."""
        server = await self.loop.create_server(lambda: Carrier(self, connect), host, port)
        self.flush()
        return server

    def flush(self) -> None:
        """Send what the node has to say, now or as late as it is told to."""
        if not self._pacing.flush_delay_ms:
            self._flush_now()
        elif self._late is None:
            self._late = self.loop.call_later(self._pacing.flush_delay_ms / 1000, self._flush_late)
        self._set_alarm()

    def stop(self) -> None:
        """Let the server end."""
        if not self.stopped.done():
            self.stopped.set_result(None)

    def close(self) -> None:
        """Send what is left and drop every connection."""
        self._flush_now()
        for carrier in tuple(self.carriers.values()):
            carrier.close()
        if self._alarm is not None:
            self._alarm.cancel()

    def pieces(self, data: bytes) -> Sequence[bytes]:
        """Return the bytes in the pieces they are written in."""
        return self._pacing.pieces(data)

    def _flush_late(self) -> None:
        self._late = None
        self._flush_now()

    def _flush_now(self) -> None:
        changed, self._node.changed = self._node.changed, {}
        for link in changed:
            carrier = self.carriers.get(link)
            if carrier is not None:
                carrier.send()
        if self._node.halted:
            self.stop()

    def _set_alarm(self) -> None:
        when_ns = self._node.timers.next_ns()
        if when_ns == self._alarm_ns:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_ns = when_ns
        if when_ns is not None:
            delay = max(0, when_ns - self.clock.now_ns()) / 1e9
            self._alarm = self.loop.call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm = self._alarm_ns = None
        self._node.run_timers(self.clock.now_ns())
        self.flush()


class Carrier(asyncio.Protocol):
    """One accepted connection."""

    def __init__(self, shell: Shell, connect: Connect) -> None:
        self._shell = shell
        self._connect = connect
        self._transport: asyncio.Transport | None = None
        self._link: Link | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make the protocol's side of it."""
        self._transport = cast(asyncio.Transport, transport)
        host, port = (transport.get_extra_info("peername") or ("", 0))[:2]
        self._link = self._connect(f"{host}:{port}", self._shell.clock.now_ns())
        self._shell.carriers[self._link] = self
        self._shell.flush()

    def data_received(self, data: bytes) -> None:
        """Hand bytes over and send what they caused."""
        if self._link is not None:
            self._link.receive(data, self._shell.clock.now_ns())
            self._shell.flush()

    def eof_received(self) -> bool:
        """Say that the client sends no more; the connection lives until all is sent."""
        if self._link is not None:
            self._link.end_of_stream(self._shell.clock.now_ns())
            self._shell.flush()
        return not (self._link is None or self._link.closed)

    def connection_lost(self, exc: Exception | None) -> None:
        """Say that the connection is gone."""
        if self._link is not None:
            self._link.lost(self._shell.clock.now_ns())
            self._shell.carriers.pop(self._link, None)
            self._shell.flush()

    def pause_writing(self) -> None:
        """Read no more from a client that does not read."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read again."""
        if self._transport is not None:
            self._transport.resume_reading()

    def send(self) -> None:
        """Write what the link has to say, and end the connection when it is over."""
        if self._link is None or self._transport is None:
            return
        data = self._link.take_output()
        for piece in self._shell.pieces(data) if data else ():
            if not self._transport.is_closing():
                self._transport.write(piece)
        if self._link.closed and not self._transport.is_closing():
            self._end(self._transport)

    def close(self) -> None:
        """End the connection as soon as its output is written."""
        if self._transport is not None:
            self._transport.close()

    def _end(self, transport: asyncio.Transport) -> None:
        transport.resume_reading()
        with contextlib.suppress(OSError):  # the client may have reset the connection already
            transport.write_eof()
        self._shell.loop.call_later(_LINGER_SECONDS, transport.close)
