"""The shell: asyncio protocols that move bytes between sockets and the servers.

It does not know what the bytes mean. It uses protocols, because they answered 5.7 times as many
pipelined requests as streams. The output caused by one received chunk is written at once,
on every connection of every node.
"""

import asyncio
import contextlib
import gc
import socket
from time import monotonic_ns, time_ns
from typing import cast

from wireproof_reference_impl.served import (
    NEVER_NS,
    Committer,
    Connect,
    Link,
    Pacing,
    Schedule,
    Source,
)

_LINGER_SECONDS = 1.0
"""How long a connection that we end may still send; cutting it could cost it our last frame."""

_SELDOM = 50_000
"""How many more objects must be there than before."""


class Clock:
    """The time of the wall clock, which never goes back here."""

    def __init__(self) -> None:
        self._base_ns = time_ns() - monotonic_ns()

    def now_ns(self) -> int:
        """Return the present time in nanoseconds since 1970."""
        return self._base_ns + monotonic_ns()


class Listener:
    """One address of one source; it listens while the source accepts connections.

    Otherwise a bound socket that does not listen keeps the port from other processes.
    """

    def __init__(
        self,
        source: Source,
        connect: Connect,
        address: tuple[str, int],
        idle_s: float | None = None,
    ) -> None:
        self.source = source
        self.connect = connect
        self.address = address
        self.idle_s = idle_s
        self.clients: set[ClientSocket] = set()
        self.listens = False
        self.kept: socket.socket | None = None
        self.server: asyncio.Server | None = None


class Shell:
    """Does the I/O of a server process: moves bytes between sockets and sources."""

    def __init__(
        self,
        pacing: Pacing,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        *,
        committer: Committer,
    ) -> None:
        self.loop = loop
        self._committer = committer
        self._is_lost = False
        self.clock = clock
        self.stopped: asyncio.Future[None] = loop.create_future()
        self.clients: dict[object, ClientSocket] = {}
        self.pieces = pacing.pieces
        self._flush_delay_s = pacing.flush_delay_ms / 1000
        self._waits = bool(pacing.flush_delay_ms) or committer.gathers
        self._sources: dict[Source, None] = {}
        self._schedules: list[Schedule] = []
        self._listeners: list[Listener] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_ns = NEVER_NS
        self._late: asyncio.TimerHandle | None = None

    async def listen(
        self,
        source: Source,
        address: tuple[str, int],
        connect: Connect,
        *,
        idle_s: float | None = None,
    ) -> tuple[str, int]:
        """Listen at an address for a source; return the address with the actual port.

        A connection whose client says nothing for ``idle_s`` seconds is closed.
        """
        if source not in self._sources:
            self._sources[source] = None
            if not any(schedule is source.schedule for schedule in self._schedules):
                self._schedules.append(source.schedule)
        listener = Listener(source, connect, address, idle_s)
        await self._open(listener, _bind(*address))
        self._listeners.append(listener)
        self.flush()
        return listener.address

    def flush(self) -> None:
        """Send the pending output of all connections, now or after the configured delay.

        This is called after every event, so connections without changes must cost no call here.
        """
        something = False
        for schedule in self._schedules:
            if schedule.due_ns < self._alarm_ns:
                self._set_alarm(schedule.due_ns)
            if schedule.changed:
                something = True
        if something:  # last: whoever is answered wants the processor
            if self._waits:
                self._flush_soon()
            else:
                self._flush_now()

    def stop(self) -> None:
        """Let the server end."""
        if not self.stopped.done():
            self.stopped.set_result(None)

    def close(self) -> None:
        """Send what is left, and close every connection and socket."""
        self._flush_now()
        for listener in self._listeners:
            if listener.server is not None:
                listener.server.close()
            if listener.kept is not None:
                listener.kept.close()
        for client in tuple(self.clients.values()):
            client.close()
        if self._alarm is not None:
            self._alarm.cancel()

    def _follow(self, source: object) -> None:
        """Listen again or stop listening, because the source was opened or closed."""
        for listener in self._listeners:
            if listener.source is not source or listener.source.open is listener.listens:
                continue
            if listener.source.open:
                self._reopen(listener)
            else:
                self._close(listener)

    def _reopen(self, listener: Listener) -> None:
        listening = listener.kept or _bind(*listener.address)
        listening.listen()
        listener.kept, listener.listens = None, True
        task = self.loop.create_task(self._open(listener, listening))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, listener: Listener, listening: socket.socket) -> None:
        listener.address = listening.getsockname()[:2]
        listener.listens = True
        listener.server = await self.loop.create_server(
            lambda: ClientSocket(self, listener), sock=listening
        )
        if not listener.source.open:
            self._close(listener)

    def _close(self, listener: Listener) -> None:
        if listener.server is None:
            return
        listener.server.close()
        listener.server = None
        listener.listens = False
        listener.kept = _bind(*listener.address)
        for client in tuple(listener.clients):
            client.abort()

    def _flush_soon(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(self._flush_delay_s, self._flush_late)

    def _flush_late(self) -> None:
        self._late = None
        self._flush_now()

    def _flush_now(self) -> None:
        if self._is_lost:
            return
        changed = [each for schedule in self._schedules for each in schedule.changed]
        if not changed:
            return
        try:
            self._committer.commit()  # before anything of it is sent
        except OSError as error:
            self._lose(error)
            return
        for schedule in self._schedules:
            schedule.changed.clear()
        for each in changed:
            self._tell(each)
        for source in self._sources:
            if source.halted:
                self.stop()

    def _tell(self, changed: object) -> None:
        """Send the output of a changed connection, or follow a changed source."""
        client = self.clients.get(changed)
        if client is not None:
            client.send()
        elif changed in self._sources:
            self._follow(changed)

    def _set_alarm(self, when_ns: int) -> None:
        """Run timers at this time; it is harmless if none is due then any more."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_ns = when_ns
        delay = max(0, when_ns - self.clock.now_ns()) / 1e9
        self._alarm = self.loop.call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm, self._alarm_ns = None, NEVER_NS
        for schedule in self._schedules:
            schedule.due_ns = NEVER_NS
        now_ns = self.clock.now_ns()
        try:
            for source in self._sources:
                source.run_timers(now_ns)
        except OSError as error:
            self._lose(error)
        self.flush()

    def _lose(self, error: OSError) -> None:
        """Stop the server because a commit failed; nothing is answered any more."""
        self._is_lost = True
        if not self.stopped.done():
            self.stopped.set_exception(error)


def collect_seldom() -> None:
    """Collect garbage rarely: objects of a broker live long or are freed by reference count."""
    gc.freeze()
    gc.set_threshold(max(_SELDOM, gc.get_threshold()[0]))


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket at an address; connections are refused until it listens.

    It names its protocol, for asyncio sends at once only on sockets that do: else what is written
    in pieces waits for the client's delayed acknowledgement, 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, f"{host}:{port}: {error.strerror}") from error
    return sock


class ClientSocket(asyncio.Protocol):
    """The socket of one accepted connection, between asyncio and the connection's link."""

    def __init__(self, shell: Shell, listener: Listener) -> None:
        self._shell = shell
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._link: Link | None = None
        self._heard_all = False
        self._linger: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Make the link of the accepted connection."""
        self._transport = cast(asyncio.Transport, transport)
        if not self._listener.source.open:
            self._transport.abort()
            return
        self._link = self._listener.connect(self._address, self._shell.clock.now_ns())
        self._shell.clients[self._link] = self
        self._listener.clients.add(self)
        self._wait_for_client()
        self._shell.flush()

    def data_received(self, data: bytes) -> None:
        """Pass received bytes to the link, and send its output."""
        if self._link is not None:
            self._wait_for_client()
            self._link.receive(data, self._shell.clock.now_ns())
            self._shell.flush()

    def eof_received(self) -> bool:
        """Tell the link that the client's stream ended; stay open until all output is sent."""
        if self._link is None or self._linger is not None:
            return False
        self._heard_all = True
        self._link.end_of_stream(self._shell.clock.now_ns())
        self._shell.flush()
        return True  # what is over is ended once its last word is sent

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the link that the connection is lost."""
        for handle in (self._linger, self._idle):
            if handle is not None:
                handle.cancel()
        if self._link is not None:
            self._shell.clients.pop(self._link, None)
            self._listener.clients.discard(self)
            is_news = not self._link.closed
            self._link.handle_loss(self._shell.clock.now_ns())
            if is_news:
                self._shell.flush()

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read what it is sent."""
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Resume reading from the client."""
        if self._transport is not None:
            self._transport.resume_reading()

    def send(self) -> None:
        """Write the output of the link; close the connection if the link is closed."""
        if self._link is None or self._transport is None:
            return
        data = self._link.take_output()
        if data:
            for piece in self._shell.pieces(data):
                if not self._transport.is_closing():
                    self._transport.write(piece)
        if self._link.closed and not self._transport.is_closing():
            self._end(self._transport)

    def close(self) -> None:
        """Close the connection once its output is written."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once, without sending what is left."""
        if self._transport is not None:
            self._transport.abort()

    def _wait_for_client(self) -> None:
        """Begin to wait for the client's next bytes, where there is a limit to that."""
        if self._listener.idle_s is None:
            return
        if self._idle is not None:
            self._idle.cancel()
        self._idle = self._shell.loop.call_later(self._listener.idle_s, self.abort)

    def _address(self) -> str:
        """Return the client's address, found only on request: few protocols need it."""
        told = self._transport and self._transport.get_extra_info("peername")
        host, port = (told or ("", 0))[:2]
        return f"{host}:{port}"

    def _end(self, transport: asyncio.Transport) -> None:
        """Close after the client's stream ends: bytes that arrive after a close would reset it."""
        if self._heard_all:
            transport.close()
        elif self._linger is None:
            transport.resume_reading()
            with contextlib.suppress(OSError):  # the client may have reset the connection already
                transport.write_eof()
            self._linger = self._shell.loop.call_later(_LINGER_SECONDS, transport.close)
