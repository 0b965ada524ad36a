"""Moves bytes between clients and brokers, and knows no protocol.

Each chunk is written to the other side first and given to the tap afterwards. A side is read no
faster than the other side takes the bytes, so a connection holds little. When one side dies the
other is closed, and the proxy goes on: the next client connects to the broker anew.
"""

import asyncio
import contextlib
import itertools
import socket
from collections import Counter
from collections.abc import Sequence

from wireproof_kit.clients.story import BY_CLIENT
from wireproof_kit.errors import UsageFault
from wireproof_kit.proxy.fronts import Front, Gate, MakeGate
from wireproof_kit.proxy.tap import Tap
from wireproof_kit.wire.address import Address, format_address

CHUNK = 1 << 16
CONNECT_S = 5.0
MOST_CONNECTIONS = 1000
MOST_FRONTS = 256
"""The most services for which a proxy listens, including those named in lookup responses."""
LINGER_S = 5.0
"""Seconds that a closing connection is given to receive what was written to it."""
BY_TARGET = "by the target"
LISTEN, STANDS_BEFORE = "listen", " stands before "
"""The kind of a step that records where the proxy listens, and the words in its note."""
FAILED = "the proxy failed"


class Relay:
    """The listeners of one proxy and their connections; used inside one event loop."""

    def __init__(self, host: str, make_gate: MakeGate, tap: Tap) -> None:
        self._host = host
        self._make_gate = make_gate
        self._tap = tap
        self._fronts: dict[tuple[str, Address], tuple[Front, Address]] = {}
        self._numbers: Counter[str] = Counter()
        self._servers: list[asyncio.Task[asyncio.Server]] = []
        self._connections: set[asyncio.Task[None]] = set()

    def stand_before(self, kind: str, upstream: Address, listen: Address | None = None) -> Address:
        """Listen on behalf of a service at ``upstream``; return the address.

        Raises:
            UsageFault: the address cannot be listened on.
        """
        address = listen or (self._host, 0)
        try:
            bound = _listen(address)
        except OSError as error:
            where = format_address(address)
            raise UsageFault(f"--listen {where}: cannot be used ({error.strerror})") from error
        self._numbers[kind] += 1
        front = Front(f"{kind}{self._numbers[kind]}", kind, upstream)
        found: Address = bound.getsockname()[:2]
        self._fronts[kind, upstream] = front, found
        self._servers.append(asyncio.ensure_future(self._serve(front, bound)))
        note = STANDS_BEFORE.join(map(format_address, (found, upstream)))
        self._tap.put(LISTEN, front.name, note=note)
        return found

    def front_for(self, kind: str, upstream: Address) -> Address | None:
        """Return where the proxy listens for a service; start to listen if it does not yet.

        Return None if that is not possible, or the proxy listens for too many services already.
        """
        known = self._fronts.get((kind, upstream))
        if known is not None:
            return known[1]
        if len(self._fronts) >= MOST_FRONTS:
            return None
        try:
            return self.stand_before(kind, upstream)
        except UsageFault:
            return None

    async def close(self) -> None:
        """Close all listeners and connections of the proxy."""
        for started in self._servers:
            (await started).close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, front: Front, bound: socket.socket) -> asyncio.Server:
        numbers = itertools.count(1)

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                self._connections.add(task)
                task.add_done_callback(self._connections.discard)
            # asyncio's streams complain of a task of theirs that ends cancelled.
            with contextlib.suppress(asyncio.CancelledError):
                await self._carry(front, f"{front.name}.{next(numbers)}", reader, writer)

        return await asyncio.start_server(
            accept, sock=bound, limit=CHUNK, backlog=MOST_CONNECTIONS
        )

    async def _carry(
        self,
        front: Front,
        name: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Carry one connection from its beginning to its end."""
        self._tap.put("open", name, note=format_address(front.upstream))
        ended_by, linger, writers = "by the proxy, which ends", 0.0, [writer]
        try:
            upstream = await self._connect(front)
            if isinstance(upstream, str):
                ended_by = upstream
                return
            writers.append(upstream[1])
            host = writer.get_extra_info("sockname")[0]
            passage = _Passage(name, self._make_gate(front, host, self.front_for), self._tap)
            ended_by, linger = await passage.carry((reader, writer), upstream), LINGER_S
        finally:
            self._tap.put("close", name, note=ended_by)
            await _close(linger, writers)

    async def _connect(
        self, front: Front
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | str:
        """Connect to the service; return why not if that fails."""
        if len(self._connections) > MOST_CONNECTIONS:
            return f"by the proxy: {MOST_CONNECTIONS} connections at once already"
        try:
            opening = asyncio.open_connection(*front.upstream, limit=CHUNK)
            return await asyncio.wait_for(opening, CONNECT_S)
        except (OSError, TimeoutError) as error:
            return f"{BY_TARGET}: not reached ({error or 'in vain'})"


class _Passage:
    """The two directions of one connection."""

    def __init__(self, name: str, gate: Gate, tap: Tap) -> None:
        self._name = name
        self._gate = gate
        self._tap = tap
        self._has_failed = False

    async def carry(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> str:
        """Carry both directions until both have ended, or one has failed; say who ended first."""
        up = asyncio.ensure_future(self._pump(client[0], server[1], by_client=True))
        down = asyncio.ensure_future(self._pump(server[0], client[1], by_client=False))
        try:
            done, _ = await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            first = BY_CLIENT if up in done else BY_TARGET
            ended = next(iter(done)).result()
            if ended is not None or down in done:  # a client may end its direction and read on
                return ended or first
            await down
            return first
        finally:
            for direction in (up, down):
                direction.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, by_client: bool
    ) -> str | None:
        """Move bytes until the end; return who broke the connection, or None after a good end."""
        reads = BY_CLIENT if by_client else BY_TARGET
        writes = BY_TARGET if by_client else BY_CLIENT
        while True:
            try:
                data = await reader.read(CHUNK)
            except OSError:
                return f"{reads} (reset)"
            try:
                await self._forward(data, writer, by_client=by_client)
            except OSError:
                return writes
            if not data:
                return None

    async def _forward(
        self, data: bytes, writer: asyncio.StreamWriter, *, by_client: bool
    ) -> None:
        out = self._pass_gate(data, by_client=by_client)
        if out:
            writer.write(out)
        if data:
            self._tap.put("send" if by_client else "receive", self._name, data=data)
            for note in self._gate.take_notes():
                self._tap.put("note", self._name, note=note)
        elif writer.can_write_eof():
            writer.write_eof()
        await writer.drain()

    def _pass_gate(self, data: bytes, *, by_client: bool) -> bytes:
        """Return what is to be forwarded; past a gate that failed, everything is."""
        if self._has_failed or not data:
            return self._gate.release(by_client=by_client) + data
        try:
            return self._gate.from_client(data) if by_client else self._gate.from_server(data)
        except Exception as error:  # a fault of the kit's must cut nobody off
            self._has_failed = True
            self._tap.put("note", self._name, note=f"{FAILED}, and relays: {error!r}")
            return self._gate.release(by_client=by_client)


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    bound = socket.socket(family)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        # Here, not when the server starts: a client may be told this address before that.
        bound.listen(MOST_CONNECTIONS)
    except OSError:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


async def _close(linger: float, writers: Sequence[asyncio.StreamWriter]) -> None:
    """Close connections; give the other ends time to take what was written to them."""
    for writer in writers:
        writer.close()
    closing = asyncio.gather(*(each.wait_closed() for each in writers), return_exceptions=True)
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(closing, linger)
    finally:
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0)  # sockets are closed in the next round of the loop
