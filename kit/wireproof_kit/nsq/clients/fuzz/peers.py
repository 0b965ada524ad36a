"""The peers of a run of fuzz cases: each case in its place, and a control message after it.

A case is over when the client has finished the control message that follows it. After whole
message frames the control message comes on the same connection. Otherwise the connection is
closed, now or soon, and the client must come back for it. Without I/O.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.clients.effects import Effect, HangUp, Later, Listen, Send
from wireproof_kit.clients.events import Answered, Connected, Event, Malformed
from wireproof_kit.clients.pieces import Pieces
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.clients.part import TICK_S
from wireproof_kit.fuzz.clients.writes import divide
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.oracle.client_rules import NOT_GIVEN, SPINS, STUCK
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.events import (
    PUBLISHES,
    SUBSCRIPTIONS,
    Commanded,
    Requested,
)
from wireproof_kit.nsq.clients.fuzz import sending, states
from wireproof_kit.nsq.clients.fuzz.acknowledged import MadeUp
from wireproof_kit.nsq.clients.fuzz.attempt import NsqAttempt
from wireproof_kit.nsq.clients.fuzz.documents import place_ports
from wireproof_kit.nsq.clients.fuzz.pauses import Pauses
from wireproof_kit.nsq.clients.fuzz.states import DOWN, HTTP_PLACES, PUSH, STATES, Situation
from wireproof_kit.nsq.clients.peers import NsqPeers
from wireproof_kit.nsq.clients.script import Delivery, Push
from wireproof_spec.driver.lines import Unsupported
from wireproof_spec.nsq import names
from wireproof_spec.nsq.frame import response_frame

NUDGE_S: Final = 0.4
"""Seconds after which a connection is closed on which the client may wait for more bytes."""
LINGER_S: Final = 0.5
"""Seconds that a client has to close a connection that the kit has closed."""
DOWN_S: Final = 1.2
PIECE_S: Final = 0.002
MOST_TRIES: Final = 30
"""Connections in one second; a client with a pause between two tries makes far fewer."""
_BEAT = response_frame(names.HEARTBEAT)
_NOP, _FIN, _RDY = names.NOP.decode(), names.FIN.decode(), names.RDY.decode()


@dataclass(frozen=True, slots=True)
class _Timer:
    what: str
    number: int = 0
    conn: str = ""
    pieces: tuple[bytes, ...] = ()


_TICK = _Timer("tick")


@dataclass(slots=True)
class CasePeers:
    """The servers that the kit plays to try fuzz cases with one client, one after the other.

    ``done`` cases are over. ``trouble`` is the rule that the client violated in the case after
    them. ``is_retired``: the client rightly asks for no more messages, so that it shows nothing
    more. ``ticks`` counts short periods in which nothing happened. ``durations`` are the seconds
    that each case took.
    """

    situation: Situation
    cases: Sequence[Case]
    asking: Asking
    patience_s: float
    done: int = 0
    trouble: Trouble | None = None
    is_retired: bool = False
    ticks: int = 0
    durations: list[float] = field(default_factory=list[float])
    _now: float = 0.0
    _has_begun: bool = False
    _inner: NsqPeers = field(init=False)
    _ports: dict[str, bytes] = field(default_factory=dict[str, bytes])
    _attempt: NsqAttempt | None = None
    _made_up: MadeUp = field(default_factory=MadeUp)
    _pauses: Pauses = field(default_factory=Pauses)
    _tries: deque[float] = field(default_factory=lambda: deque[float](maxlen=MOST_TRIES))

    def __post_init__(self) -> None:
        self._inner = NsqPeers(states.script(self.situation), self.asking)

    @property
    def is_over(self) -> bool:
        """Whether all cases are over, or the client violated a rule or stopped asking before."""
        return self.done == len(self.cases) or self.trouble is not None or self.is_retired

    @property
    def was_refused(self) -> bool:
        """Whether the case in hand begins with an error of the server."""
        attempt = self._attempt
        return attempt is not None and attempt.is_sent and sending.is_refusal(attempt.case)

    def names(self) -> Sequence[str]:
        """Return the names of the servers."""
        return self._inner.names()

    def has_http(self, peer: str) -> bool:
        """Return True if the server is a lookup server, which speaks HTTP."""
        return self._inner.has_http(peer)

    def pieces(self, peer: str) -> Pieces | None:
        """Return None: what a case sends comes at once."""
        return None

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterator[Effect]:
        """Yield what the servers do before the client starts."""
        self._ports = {name: at.partition(":")[2].encode() for name, at in addresses.items()}
        yield from self._inner.begin(addresses, values)
        yield Later(TICK_S, _TICK)
        yield from self._begin_next()

    def react(self, event: Event) -> Iterator[Effect]:
        """Yield what the servers do because of an event: the case's bytes, or the usual answer."""
        if self.is_over:
            return
        self.ticks, self._now = 0, event.at
        self._judge(event)
        attempt = self._attempt
        if attempt is not None and attempt.place == states.LOOKUP_DEAD and self._is_dead(event):
            yield from self._reset(attempt, event.conn)
        elif attempt is not None and not attempt.is_sent and self._is_place(attempt, event):
            if isinstance(event, Requested) and attempt.case.frame_kind == NOTHING_SENT:
                yield from self._inner.react(event)
            yield from self._send_case(attempt, event.conn)
        else:
            yield from self._as_usual(self._inner.react(event))
            if attempt is not None:
                yield from self._go_on(attempt, event)
        if isinstance(event, Malformed):
            yield from self._hang_up(event.conn)

    def react_to_timer(self, token: object) -> Iterator[Effect]:
        """Yield what the servers do because a timer has expired."""
        if not isinstance(token, _Timer):
            yield from self._as_usual(self._inner.react_to_timer(token))
        elif token is _TICK:
            self.ticks += self._has_begun  # a program that has just started is busy
            yield Later(TICK_S, _TICK)
        elif token.what == "close":
            yield HangUp(token.conn)
        elif (attempt := self._attempt) is None or self.is_over:
            return
        elif attempt.number == token.number:
            yield from self._time_is_over(attempt, token)

    def _time_is_over(self, attempt: NsqAttempt, token: _Timer) -> Iterator[Effect]:
        if token.what == "late":
            self._end_patience(attempt)
        elif token.what == "piece":
            yield from self._send_pieces(attempt, token.pieces)
        elif token.what == "nudge":
            yield from self._hang_up(attempt.conn)
            yield from self._control(attempt)
        elif token.what == "up":
            attempt.is_complete = True
            if attempt.place in DOWN:
                yield Listen(DOWN[attempt.place], up=True)
            yield from self._control(attempt)
        elif token.what == "held back":
            yield from self._look_who_holds_back(attempt)

    def _end_patience(self, attempt: NsqAttempt) -> None:
        """Judge a client that has not shown in time that it works."""
        if attempt.place in (states.IDENTIFY, states.SUBSCRIBE) and self.was_refused:
            self._retire()  # the text lets a client close the connection, and tell its user
        elif self._backs_off(attempt):
            self.is_retired = True  # another client, which has no reason to, gets the case
        else:
            self.trouble = self.trouble or Trouble(STUCK, attempt.describe(self.patience_s))

    def _backs_off(self, attempt: NsqAttempt) -> bool:
        """Return True if a client waits before a case, or to connect, as long as it chooses."""
        if self.done and self._pauses.are_growing:
            return True
        return attempt.lives and not attempt.is_sent and self._holds_back(attempt)

    def _begin_next(self) -> Iterator[Effect]:
        if self.is_over:
            return
        case = self.cases[self.done]
        place = STATES[case.state].place
        attempt = self._attempt = NsqAttempt(self.done, case, place, self._now)
        yield Later(self.patience_s, _Timer("late", attempt.number))
        self._tries.clear()
        if attempt.place in (PUSH, *DOWN):
            ready = (
                connection.name
                for connection in self._inner.connections.values()
                if connection.window() > 0
            )
            if (conn := next(ready, None)) is not None:
                yield from self._send_case(attempt, conn)
            elif self.situation.role == "consumer":
                yield Later(NUDGE_S, _Timer("held back", attempt.number))
        elif attempt.place not in (states.PUBLISH, states.LOOKUP_DEAD):
            yield from self._hang_up_all()

    def _is_dead(self, event: Event) -> bool:
        """Return True for a connection to a lookup server that resets it."""
        is_over = self._attempt is None or self._attempt.is_complete
        return isinstance(event, Connected) and self.has_http(event.peer) and not is_over

    def _reset(self, attempt: NsqAttempt, conn: str) -> Iterator[Effect]:
        if not attempt.is_sent:
            attempt.is_sent = True
            yield Later(DOWN_S, _Timer("up", attempt.number))
        yield HangUp(conn, reset=True)

    def _is_place(self, attempt: NsqAttempt, event: Event) -> bool:
        """Return True if the case is the answer to an event."""
        place = attempt.place
        if isinstance(event, Requested):
            return event.path == f"/{place}"
        if not isinstance(event, Commanded) or event.conn not in self._inner.connections:
            return False
        kinds = {states.SUBSCRIBE: SUBSCRIPTIONS, states.PUBLISH: PUBLISHES}
        return event.name in kinds.get(place, (place,))

    def _send_case(self, attempt: NsqAttempt, conn: str) -> Iterator[Effect]:
        attempt.is_sent = True
        if attempt.place in DOWN:
            yield Listen(DOWN[attempt.place], up=False)
            yield from self._hang_up_all()
            yield Later(DOWN_S, _Timer("up", attempt.number))
            return
        attempt.conn = conn
        yield from self._send_pieces(attempt, divide(attempt.case))

    def _send_pieces(self, attempt: NsqAttempt, pieces: tuple[bytes, ...]) -> Iterator[Effect]:
        first, others = pieces[0], pieces[1:]
        yield from self._send(attempt.conn, place_ports(first, self._ports))
        if others:
            yield Later(PIECE_S, _Timer("piece", attempt.number, pieces=others))
            return
        attempt.is_complete = True
        if sending.is_doubtful(attempt.case):
            yield from self._hang_up(attempt.conn)
            yield from self._control(attempt)
            return
        if attempt.place == PUSH:
            yield from self._send(attempt.conn, _BEAT)
        if attempt.place != PUSH or not sending.has_only_messages(attempt.case):
            yield Later(NUDGE_S, _Timer("nudge", attempt.number))

    def _send(self, conn: str, data: bytes) -> Iterator[Effect]:
        return self._as_usual([Send(conn, data)] if data else [])

    def _as_usual(self, effects: Iterable[Effect]) -> Iterator[Effect]:
        for effect in effects:
            if isinstance(effect, Send) and effect.conn in self._inner.connections:
                self._made_up.send(effect.conn, effect.data)
            yield effect

    def _control(self, attempt: NsqAttempt) -> Iterator[Effect]:
        """Let the control message be due: a subscriber gets it as soon as it is ready."""
        if attempt.is_controlled or self.is_over:
            return
        attempt.is_controlled = True
        if self.situation.role == "producer":
            return
        if self.situation.ordered and not self._skip_to_follow(attempt):
            self._retire()  # nothing can follow the message in order
            return
        yield from self._as_usual(self._inner.push(Push((Delivery(attempt.control),))))
        yield Later(NUDGE_S, _Timer("held back", attempt.number))

    def _skip_to_follow(self, attempt: NsqAttempt) -> bool:
        """Give the next message a number above those of the case; return False if none is left."""
        partition = self._inner.partitions[0]
        highest = sending.highest_place(attempt.case, extend=self.situation.extend)
        partition.next_id = max(partition.next_id, highest + 1)
        partition.next_offset = max(partition.next_offset, highest + 1)
        return highest < sending.HIGHEST

    def _go_on(self, attempt: NsqAttempt, event: Event) -> Iterator[Effect]:
        if not attempt.is_sent:
            self._note_sign_of_life(attempt, event)
            if attempt.place in (PUSH, *DOWN) and self._is_ready(event):
                yield from self._send_case(attempt, event.conn)
            return
        if event.conn == attempt.conn and attempt.is_complete and attempt.is_ended_by(event):
            yield from self._control(attempt)
        if not self.is_over:
            yield from self._follow(attempt, event)

    def _follow(self, attempt: NsqAttempt, event: Event) -> Iterator[Effect]:
        """Begin the next case if the client has shown that it works after this one."""
        if isinstance(event, Requested):
            attempt.was_asked_again = True
        if isinstance(event, Commanded) and event.name == _NOP and self._holds_back(attempt):
            self._retire()
            return
        attempt.is_shown = attempt.is_shown or self._shows(attempt, event)
        yield from self._end_if_shown(attempt)

    def _end_if_shown(self, attempt: NsqAttempt) -> Iterator[Effect]:
        if attempt.is_shown and (attempt.was_asked_again or attempt.place not in HTTP_PLACES):
            self.durations.append(self._now - attempt.began)
            self.done += 1
            self._attempt = None
            yield from self._begin_next()

    def _is_ready(self, event: Event) -> bool:
        """Return True if the client works on a connection: it wants messages, or publishes."""
        if self.situation.role == "producer":
            return isinstance(event, Commanded) and event.name in PUBLISHES
        connection = self._inner.connections.get(event.conn)
        return connection is not None and connection.window() > 0

    def _shows(self, attempt: NsqAttempt, event: Event) -> bool:
        """Return True if an event shows that the client works after the case.

        What a driver tells of the control message may come after the FIN on another connection.
        """
        if not attempt.is_controlled:
            return False
        if self.situation.role == "producer":
            return isinstance(event, Commanded) and event.name in PUBLISHES
        return self._has_finished() and self._made_up.has_told(attempt.control)

    def _has_finished(self) -> bool:
        """Return True if the client has finished every message."""
        in_flight = any(connection.in_flight for connection in self._inner.connections.values())
        partition = self._inner.partitions[0]
        return not in_flight and not partition.waiting and not partition.deferred

    def _look_who_holds_back(self, attempt: NsqAttempt) -> Iterator[Effect]:
        """Ask a connection on which no messages are wanted for a sign of life."""
        # It may tell nothing of the control message. A case that lasts is not over before its end:
        # a server that was down stayed down for the cases after it.
        attempt.is_shown = attempt.is_shown or (attempt.is_complete and self._has_finished())
        yield from self._end_if_shown(attempt)
        if self._attempt is not attempt:
            return
        yield Later(NUDGE_S, _Timer("held back", attempt.number))
        held = (
            connection.name
            for connection in self._inner.connections.values()
            if connection.subscription and not connection.ready and not connection.closing
        )
        attempt.held_back = next(held, "")
        if attempt.held_back:
            yield from self._send(attempt.held_back, _BEAT)

    def _holds_back(self, attempt: NsqAttempt) -> bool:
        connection = self._inner.connections.get(attempt.held_back)
        return connection is not None and not connection.ready

    def _note_sign_of_life(self, attempt: NsqAttempt, event: Event) -> None:
        """Note that a client answers heartbeats while it wants no messages."""
        if isinstance(event, Commanded) and event.name == _NOP and self._holds_back(attempt):
            attempt.lives = True

    def _retire(self) -> None:
        self.done += 1
        self.is_retired = True

    def _hang_up_all(self) -> Iterator[Effect]:
        for conn in tuple(self._inner.connections):
            yield from self._hang_up(conn)

    def _hang_up(self, conn: str) -> Iterator[Effect]:
        """Close the kit's end of a connection, and all of it if the client keeps it."""
        if (connection := self._inner.connections.get(conn)) is not None:
            connection.closing = True
            self._pauses.begin(self._now)
        yield HangUp(conn, half=True)
        yield Later(LINGER_S, _Timer("close", conn=conn))

    def _judge(self, event: Event) -> None:
        """Take note of a rule that the client violates."""
        if isinstance(event, Connected):
            self._has_begun = True
            if not self.has_http(event.peer):
                self._pauses.end(event.at)
            if len(self._tries) == MOST_TRIES and event.at - self._tries[0] < 1.0:
                self.trouble = Trouble(SPINS, f"{MOST_TRIES} connections in one second")
            self._tries.append(event.at)
        elif isinstance(event, Answered):
            self.is_retired = self.is_retired or isinstance(event.answer, Unsupported)
        if made_up := self._made_up.find(event, self._inner.connections):
            self.trouble = Trouble(NOT_GIVEN, made_up)
