"""Where a case with a client is played: sockets, timers and the client's process in one loop.

One thread, one selector: whatever happens first is written to the log first, and the peers act on
it. The loop moves bytes and knows no protocol. It never sleeps: it ends as soon as the case has
seen what it asks for, when the client has ended, or when patience is over.
"""

import contextlib
import heapq
import itertools
import json
import selectors
import socket
import time
from collections.abc import Callable, Iterable, Mapping

from wireproof_kit.clients.effects import Ask, Effect, HangUp, Later, Listen, Mark, Peers, Send
from wireproof_kit.clients.events import Connected, Greeted
from wireproof_kit.clients.launch import environment, fill_in
from wireproof_kit.clients.limits import CHUNK, MOST_WRITTEN, OF_CASE, Limits
from wireproof_kit.clients.pieces import GLUE_S, PAUSE_S, Pieces
from wireproof_kit.clients.process_output import ProcessOutput
from wireproof_kit.clients.sockets import LOOPBACK, Connection, bind
from wireproof_kit.clients.story import (
    ASKED,
    BY_CLIENT,
    BY_CLIENT_IN_ORDER,
    BY_KIT,
    DRIVER,
    ENDED,
    EXPIRED,
    FLOODED,
    GIVEN,
    KIT,
    MARK,
    PROCESS,
    PROCESSOR,
    Story,
)
from wireproof_kit.drivers.child import Child, start
from wireproof_kit.drivers.processor import ProcessorClock
from wireproof_kit.errors import TargetUnreachable, refuse_exhausted
from wireproof_kit.wire.mask import MakeMask, Mask
from wireproof_kit.wire.transcript import SENT_KINDS, Transcript
from wireproof_spec.driver.lines import request_line

MOST_CONNECTIONS = 512
LAST_OUTPUT_S = 0.5
LOOK_S = 0.05
"""Seconds between looks for the end of a client whose output has ended: no selector tells it."""
LAST_BYTES = 3
"""How many bytes of what is glued together come by themselves: they are fewer than any frame."""


class Stage:
    """Runs one client case: its servers, the client's process and their bytes, until `close`."""

    def __init__(
        self, peers: Peers, story: Story, transcript: Transcript, make_mask: MakeMask
    ) -> None:
        self._peers = peers
        self._story = story
        self._transcript = transcript
        self._selector = selectors.DefaultSelector()
        self._listeners: dict[str, socket.socket] = {}
        self._refusing: dict[str, socket.socket] = {}
        self._ports: dict[str, int] = {}
        self._make_mask = make_mask
        self._masks: dict[str, Mask] = {}
        self._connections: dict[str, Connection] = {}
        self._numbers: dict[str, itertools.count[int]] = {}
        self._timers: list[tuple[float, int, object]] = []
        self._ties = itertools.count()
        self._output = ProcessOutput()
        self._kept = OF_CASE
        self._bytes = self._text = 0
        self._is_flooded = False
        self._clock = ProcessorClock()
        self.child: Child | None = None
        self._selector.register(self._output.wake, selectors.EVENT_READ, self._take_output)

    def listen(self) -> dict[str, str]:
        """Listen on a port for each server; return the addresses by name."""
        for name in self._peers.names():
            self._open(name, bind(0))
            self._numbers[name] = itertools.count(1)
        return {name: f"{LOOPBACK}:{port}" for name, port in self._ports.items()}

    def play(
        self,
        addresses: Mapping[str, str],
        command: str,
        values: Mapping[str, str],
        *,
        until: Callable[[Story], bool],
        limits: Limits,
    ) -> None:
        """Start the client and serve it until the case is over.

        Raises:
            UsageFault: the client cannot be started.
        """
        self._kept = self._output.kept = limits.kept
        self._note(KIT, f"{GIVEN}{json.dumps(values)}")
        self._carry_out(self._peers.begin(addresses, values))
        words = fill_in(command, values)
        self.child = start(words, environment=environment(values), sink=self._output.add)
        deadline = time.monotonic() + limits.start
        has_begun = False
        while not until(self._story) and not self._is_over():
            now = time.monotonic()
            if now >= deadline:
                self._measure()
                self._note(KIT, f"{EXPIRED}: {limits.course if has_begun else limits.start:g} s")
                return
            due = min([deadline, *(at for at, _, _ in self._timers[:1])]) - now
            self._run_once(due if self._output.streams_open else min(due, LOOK_S))
            if not has_begun and self._has_begun():
                has_begun, deadline = True, time.monotonic() + limits.course
                # A client that gives up within half a second waits longer for a processor while it
                # starts, beside others that start, than in all its conversation.
                self._clock.restart(self.child.pid)
        self._measure()
        self._note_end()

    def close(self) -> None:
        """End the client and close all sockets."""
        if self.child is not None:
            self.child.end(within=LAST_OUTPUT_S)
            self._take_output()
        for connection in self._connections.values():
            connection.socket.close()
        for listener in (*self._listeners.values(), *self._refusing.values()):
            listener.close()
        self._selector.close()
        self._output.close()

    def _has_begun(self) -> bool:
        return any(isinstance(event, Connected | Greeted) for event in self._story.events)

    def _is_over(self) -> bool:
        """Return True if nothing more can come: the client has ended, or sends too much."""
        if self._is_flooded:
            return True
        ended = self.child is not None and self.child.exit_code() is not None
        return ended and not self._connections and not self._output.streams_open

    def _measure(self) -> None:
        """Note how long the client has used a processor, and it and this thread waited for one."""
        if self.child is not None:
            client, own = self._clock.measure(self.child.pid)
            self._note(KIT, f"{PROCESSOR}{client.used:.3f} {client.waited:.3f} {own.waited:.3f}")

    def _note_end(self) -> None:
        if self.child and (code := self.child.exit_code()) is not None:
            self._note(PROCESS, f"{ENDED} {code}")

    def _run_once(self, wait: float) -> None:
        for key, mask in self._selector.select(max(wait, 0)):
            if isinstance(key.data, Connection):
                self._serve(key.data, mask)
            else:
                key.data()
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            token = heapq.heappop(self._timers)[2]
            if isinstance(token, Connection):
                self._write_piece(token)
            else:
                self._carry_out(self._peers.react_to_timer(token))

    def _add(self, kind: str, conn: str, *, data: bytes = b"", note: str = "") -> None:
        """Write a step to the log, and let the peers react to it."""
        self._bytes += len(data)
        if kind == "open":
            self._masks[conn] = self._make_mask(conn)
        if conn in self._masks:
            data = self._masks[conn].feed(data, by_client=kind in SENT_KINDS)
        step = self._transcript.add(kind, conn, data=data, note=note)
        for event in self._story.add(step):
            self._carry_out(self._peers.react(event))

    def _kind(self, conn: str, usual: str, http: str) -> str:
        return http if self._peers.has_http(conn.partition(".")[0]) else usual

    def _note(self, where: str, note: str) -> None:
        self._add("note", where, note=note)

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._send(effect)
            elif isinstance(effect, HangUp):
                self._hang_up(effect)
            elif isinstance(effect, Later):
                self._call_later(effect.seconds, effect.token)
            elif isinstance(effect, Listen):
                self._listen(effect)
            elif isinstance(effect, Mark):
                self._measure()
                self._note(KIT, f"{MARK}{effect.name}")
            else:
                self._ask(effect)

    def _open(self, name: str, listener: socket.socket) -> None:
        listener.listen(MOST_CONNECTIONS)
        listener.setblocking(False)
        self._listeners[name] = listener
        self._ports[name] = listener.getsockname()[1]
        self._selector.register(listener, selectors.EVENT_READ, lambda: self._accept(name))

    def _listen(self, effect: Listen) -> None:
        if effect.up and effect.peer not in self._listeners:
            self._open(effect.peer, self._refusing.pop(effect.peer))
        elif not effect.up and effect.peer in self._listeners:
            listener = self._listeners.pop(effect.peer)
            self._selector.unregister(listener)
            # A program that another case is starting may have a copy of the socket: after close()
            # alone the copy would go on listening, and the port could not be bound.
            with contextlib.suppress(OSError):  # only Linux ends listening so
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            # If the port were released, another case could get it, and this client would connect
            # to that case's server.
            self._refusing[effect.peer] = bind(self._ports[effect.peer])
            own = [name for name in self._connections if name.partition(".")[0] == effect.peer]
            for name in own:
                self._hang_up(HangUp(name, reset=True))

    def _accept(self, peer: str) -> None:
        listener = self._listeners.get(peer)
        if listener is None:
            return
        try:
            accepted, _ = listener.accept()
        except BlockingIOError:
            return
        except OSError as error:  # gone again before it was accepted
            refuse_exhausted(error)
            return
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = f"{peer}.{next(self._numbers[peer])}"
        connection = Connection(name, accepted)
        self._connections[name] = connection
        self._selector.register(accepted, selectors.EVENT_READ, connection)
        self._add("open", name)
        if len(self._connections) > MOST_CONNECTIONS:
            self._end_flood(f"{len(self._connections)} connections at once")

    def _serve(self, connection: Connection, mask: int) -> None:
        if connection.name not in self._connections:
            return
        if mask & selectors.EVENT_WRITE:
            self._flush(connection)
        if mask & selectors.EVENT_READ and connection.name in self._connections:
            self._receive(connection)

    def _receive(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = None
        if not data:
            self._forget(connection, BY_CLIENT if data is None else BY_CLIENT_IN_ORDER)
            return
        self._add(self._kind(connection.name, "send", "request"), connection.name, data=data)
        self._check_size()

    def _check_size(self) -> None:
        kept, events = self._kept, len(self._story.events)
        if self._bytes > kept.bytes or events > kept.events or self._text > kept.text:
            self._end_flood(f"{self._bytes} bytes, {events} events")

    def _end_flood(self, size: str) -> None:
        self._is_flooded = True
        self._note(KIT, f"{FLOODED}: {size}")

    def _send(self, effect: Send) -> None:
        connection = self._connections.get(effect.conn)
        if connection is None or connection.closing:
            return
        connection.outgoing += effect.data
        kind = self._kind(effect.conn, "receive", "response")
        self._add(kind, effect.conn, data=effect.data, note=effect.note)
        pieces = self._peers.pieces(connection.peer)
        if pieces is None:
            connection.due += len(effect.data)
            self._flush(connection)
            return
        is_writing = bool(connection.pieces)
        connection.pieces += pieces.cut(len(effect.data))
        if not is_writing:
            self._call_later(GLUE_S if pieces.is_glued else 0.0, connection)

    def _write_piece(self, connection: Connection) -> None:
        """Write the next piece; if sends are glued, all but the last bytes of what has come."""
        if connection.name not in self._connections or not connection.pieces:
            return
        pieces = self._peers.pieces(connection.peer)
        if pieces is not None and pieces.is_glued:
            connection.pieces = Pieces(-LAST_BYTES).cut(len(connection.outgoing) - connection.due)
        connection.due += connection.pieces.popleft()
        if connection.pieces:
            self._call_later(PAUSE_S, connection)
        self._flush(connection)

    def _call_later(self, seconds: float, token: object) -> None:
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._ties), token))

    def _flush(self, connection: Connection) -> None:
        try:
            sent = connection.write_due() if connection.due else 0
        except BlockingIOError:
            sent = 0
        except OSError:
            self._forget(connection, BY_CLIENT)
            return
        del connection.outgoing[:sent]
        connection.due -= sent
        if connection.closing and not connection.outgoing:
            self._end_sending(connection)
            return
        writes = selectors.EVENT_WRITE if connection.due else 0
        self._selector.modify(connection.socket, selectors.EVENT_READ | writes, connection)

    def _hang_up(self, effect: HangUp) -> None:
        connection = self._connections.get(effect.conn)
        if connection is None:
            return
        if effect.reset:
            connection.reset_at_close()
            self._forget(connection, BY_KIT)
        else:
            connection.closing, connection.half = True, effect.half
            self._flush(connection)

    def _end_sending(self, connection: Connection) -> None:
        if not connection.half:
            self._forget(connection, BY_KIT)
            return
        self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
        try:
            connection.socket.shutdown(socket.SHUT_WR)
        except OSError:  # the client has reset it
            self._forget(connection, BY_CLIENT)

    def _forget(self, connection: Connection, by: str) -> None:
        if self._connections.pop(connection.name, None) is None:
            return
        self._selector.unregister(connection.socket)
        connection.socket.close()
        self._add("close", connection.name, note=by)

    def _ask(self, effect: Ask) -> None:
        conversation = self._story.conversation
        if self.child is None or conversation.hello is None:
            return
        data = request_line(conversation.next_id, effect.op, effect.fields)
        self._add("text", ASKED, data=data)
        try:
            self.child.write(data)
        except TargetUnreachable as error:
            self._note(DRIVER, str(error))

    def _take_output(self) -> None:
        for where, data in self._output.take():
            if self._is_flooded:
                return
            self._add("text", where, data=data)
            if where == DRIVER:
                self._text += len(data)
                self._check_size()
        if not self._output.streams_open and self.child is not None:
            # Output ends a moment before the process, of whose end no selector would tell.
            self.child.wait(LAST_OUTPUT_S)
        if not self._is_flooded and self._output.is_flood:
            self._end_flood(f"{MOST_WRITTEN} bytes of output")
