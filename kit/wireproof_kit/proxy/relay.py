"""Moves bytes between clients and brokers, and knows no protocol.

Each chunk is given to the tap, which never waits, and then written to the other side. A side is
read no faster than the other takes the bytes, so a connection holds little. When one side dies the
other is closed, and the proxy goes on: the next client connects to the broker anew.

Sockets are read and written directly. The streams of asyncio drop what was received and not read
yet when a write fails: 14 of 200 clients lost the error that a node sent before it closed.
"""

import asyncio
import contextlib
import itertools
import os
import socket
from collections import Counter
from functools import partial

from wireproof_kit.clients.story import BY_CLIENT
from wireproof_kit.errors import UsageFault
from wireproof_kit.proxy.fronts import Front, Gate, MakeGate
from wireproof_kit.proxy.tap import Tap
from wireproof_kit.wire.address import Address, format_address, is_number_off_limits, read_number

CHUNK = 1 << 16
CONNECT_S = 5.0
MOST_CONNECTIONS = 1000
TOO_MANY = f"not relayed: {MOST_CONNECTIONS} connections at once already"
MOST_FRONTS = 256
"""The most services for which a proxy listens, including those named in lookup responses."""
LINGER_S = 5.0
"""Seconds in which what is on its way may still arrive, after one side has ended."""
ACCEPT_AGAIN_S = 0.5
"""Seconds until the next attempt to accept, when the process has no file for a connection."""
BY_TARGET = "by the target"
LISTEN, STANDS_BEFORE = "listen", " stands before "
"""The kind of a step that records where the proxy listens, and the words in its note."""
UNREACHED = "unreached"
"""The kind of a step that records that a service cannot be reached."""
GOES_ON = "the proxy goes on, and tries again for each client"
OFF_LIMITS = "it is link-local or hands out a cloud's credentials, and only an answer named it"
FAILED = "the proxy failed"
RESET = " (reset)"
MAPPED = "::ffff:"
"""Begins the IPv4 address of a client that is accepted by a listener for both versions."""


class Relay:
    """The listeners of one proxy and their connections; used inside one event loop."""

    def __init__(self, host: str, make_gate: MakeGate, tap: Tap) -> None:
        self._host = host
        self._make_gate = make_gate
        self._tap = tap
        self._fronts: dict[tuple[str, Address], tuple[Front, Address]] = {}
        self._unreached: set[Address] = set()
        self._numbers: Counter[str] = Counter()
        self._servers: list[asyncio.Task[None]] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._relayed = 0

    def stand_before(
        self,
        kind: str,
        upstream: Address,
        listen: Address | None = None,
        *,
        is_named: bool = True,
    ) -> Address:
        """Listen on behalf of a service at ``upstream``; return the address.

        ``is_named`` is False for a service that an answer named, not the user.

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
        front = Front(f"{kind}{self._numbers[kind]}", kind, upstream, is_named)
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
            return self.stand_before(kind, upstream, is_named=False)
        except UsageFault:
            return None

    def look_for_services(self) -> None:
        """Try to connect to each service: a user is told of a wrong address before a client is."""
        for front, _ in self._fronts.values():
            self._servers.append(asyncio.ensure_future(self._look_for(front)))

    async def close(self) -> None:
        """Close all listeners and connections of the proxy."""
        tasks = (*self._servers, *self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, front: Front, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with bound:
            for number in itertools.count(1):
                client = await _accept(bound)
                # Counted here: many are accepted before the first of them is carried.
                is_one_too_many = self._relayed >= MOST_CONNECTIONS
                self._relayed += not is_one_too_many
                name = f"{front.name}.{number}"
                carrying = loop.create_task(
                    self._refuse(front, name, client)
                    if is_one_too_many
                    else self._carry(front, name, client)
                )
                self._connections.add(carrying)
                carrying.add_done_callback(self._connections.discard)
                # One that is cancelled before it begins closes nothing itself.
                carrying.add_done_callback(partial(_end, client))

    async def _look_for(self, front: Front) -> None:
        found = await self._connect(front)
        if isinstance(found, socket.socket):
            found.close()

    async def _refuse(self, front: Front, name: str, client: socket.socket) -> None:
        """Close a connection beyond the most that are relayed at once."""
        self._tap.put("open", name, note=format_address(front.upstream))
        self._tap.put("note", name, note=TOO_MANY)
        self._tap.put("close", name, note=f"{BY_TARGET}: {TOO_MANY}")
        await _close(0.0, [client])

    async def _carry(self, front: Front, name: str, client: socket.socket) -> None:
        """Carry one connection from its beginning to its end."""
        self._tap.put("open", name, note=format_address(front.upstream))
        ended_by, linger, sockets = "by the proxy, which ends", 0.0, [client]
        try:
            upstream = await self._connect(front)
            if isinstance(upstream, str):
                ended_by = f"{BY_TARGET}: {upstream}"
                return
            sockets.append(upstream)
            host = client.getsockname()[0].removeprefix(MAPPED)
            passage = _Passage(name, self._make_gate(front, host, self.front_for), self._tap)
            ended_by, linger = await passage.carry(client, upstream), LINGER_S
        finally:
            self._relayed -= 1
            self._tap.put("close", name, note=ended_by)
            await _close(linger, sockets)

    async def _connect(self, front: Front) -> socket.socket | str:
        """Connect to the service; return why not if that fails.

        A service that is away is told once, not for every client that tries to connect meanwhile.
        """
        try:
            found = await asyncio.wait_for(open_upstream(front), CONNECT_S)
        except (OSError, TimeoutError, UnicodeError) as error:
            why = f"{format_address(front.upstream)} cannot be reached ({_why(error)})"
            if front.upstream not in self._unreached:
                self._unreached.add(front.upstream)
                self._tap.put(UNREACHED, front.name, note=f"{why}; {GOES_ON}")
            return why
        self._unreached.discard(front.upstream)
        return found


class _Passage:
    """The two directions of one connection."""

    def __init__(self, name: str, gate: Gate, tap: Tap) -> None:
        self._name = name
        self._gate = gate
        self._tap = tap
        self._has_failed = False

    async def carry(self, client: socket.socket, server: socket.socket) -> str:
        """Carry both directions until both have ended, or one has failed; say who ended first."""
        up = asyncio.ensure_future(self._pump(client, server, by_client=True))
        down = asyncio.ensure_future(self._pump(server, client, by_client=False))
        try:
            done, _ = await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            first = BY_CLIENT if up in done else BY_TARGET
            ended = next(iter(done)).result()
            if ended is not None and ended == f"{first}{RESET}":
                return ended
            # A client may end its direction and read on. Otherwise one side takes no more bytes,
            # or sends no more: what it has sent before may still be on its way.
            is_half = up in done and ended is None
            await asyncio.wait((up, down), timeout=None if is_half else LINGER_S)
            return ended or first
        finally:
            for direction in (up, down):
                direction.cancel()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _pump(
        self, source: socket.socket, sink: socket.socket, *, by_client: bool
    ) -> str | None:
        """Move bytes until the end; return who broke the connection, or None after a good end."""
        loop = asyncio.get_running_loop()
        reads = BY_CLIENT if by_client else BY_TARGET
        writes = BY_TARGET if by_client else BY_CLIENT
        while True:
            try:
                data = await loop.sock_recv(source, CHUNK)
            except OSError:
                return f"{reads}{RESET}"
            try:
                await self._forward(data, sink, by_client=by_client)
            except OSError:
                return writes
            if not data:
                return None

    async def _forward(self, data: bytes, sink: socket.socket, *, by_client: bool) -> None:
        out = self._pass_gate(data, by_client=by_client)
        # First, since what the other side answers must not come to the tap before.
        if data:
            self._tap.put("send" if by_client else "receive", self._name, data=data)
        for note in self._gate.take_notes():
            self._tap.put("note", self._name, note=note)
        if out:
            await asyncio.get_running_loop().sock_sendall(sink, out)
        if not data:
            sink.shutdown(socket.SHUT_WR)

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


def _end(client: socket.socket, _done: asyncio.Task[None]) -> None:
    client.close()


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


async def _accept(bound: socket.socket) -> socket.socket:
    """Wait for the next client and return its connection."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            client, _ = await loop.sock_accept(bound)
        except OSError:
            await asyncio.sleep(ACCEPT_AGAIN_S)
            continue
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client


def _why(error: OSError | UnicodeError) -> str:
    """Return why no connection was made; asyncio words a refusal otherwise than the system."""
    if isinstance(error, UnicodeError):
        return "the host is no name"
    if isinstance(error, TimeoutError):
        return f"no connection within {CONNECT_S:g} s"
    if isinstance(error, socket.gaierror) or error.errno is None:
        return error.strerror or str(error)
    return os.strerror(error.errno).lower()


async def open_upstream(front: Front) -> socket.socket:
    """Connect to the first of a service's addresses that can be reached.

    One that only an answer named must not be link-local: clouds keep credentials there.

    Raises:
        OSError: none can be reached.
    """
    loop = asyncio.get_running_loop()
    failed = OSError("the name has no address")
    places = await loop.getaddrinfo(*front.upstream, type=socket.SOCK_STREAM)
    for family, kind, number, _, each in places:
        if not front.is_named and is_number_off_limits(read_number(str(each[0]))):
            failed = OSError(OFF_LIMITS)
            continue
        try:
            found = socket.socket(family, kind, number)
        except OSError as error:
            failed = error
            continue
        try:
            found.setblocking(False)
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(found, each)
            return found
        except BaseException as error:
            found.close()
            if not isinstance(error, OSError):
                raise
            failed = error
    raise failed


async def _close(linger: float, sockets: list[socket.socket]) -> None:
    """Close connections; give the other ends time to take what was written to them."""
    try:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*map(_drain, sockets)), linger)
    finally:
        for each in sockets:
            each.close()


async def _drain(sock: socket.socket) -> None:
    """End one direction and read the other to its end.

    A socket that is closed with unread bytes drops what it has not sent yet.
    """
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        while await asyncio.get_running_loop().sock_recv(sock, CHUNK):
            pass
