"""The server of a run of fuzz cases: each case in its place, and a control after it.

A driver is asked again and again to poll, or to send. A case is over when an operation that it was
asked for after the case has succeeded. A client without a driver must ask by itself once more.
Without I/O.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.clients.effects import Ask, Effect, HangUp, Later, Send
from wireproof_kit.clients.events import Answered, Connected, Disconnected, Event, Greeted
from wireproof_kit.clients.pieces import Pieces
from wireproof_kit.fuzz.case import GRAMMAR, Case
from wireproof_kit.fuzz.clients.attempt import Attempt
from wireproof_kit.fuzz.clients.part import TICK_S
from wireproof_kit.fuzz.clients.writes import closes_half, divide
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.generate.held_cases import NOTHING_SENT
from wireproof_kit.fuzz.oracle.client_rules import NOT_GIVEN, SPINS, STUCK
from wireproof_kit.iggy.clients.driver_requests import POLL, SEND, ask_poll, ask_send
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.fuzz import states
from wireproof_kit.iggy.clients.fuzz.frames import is_delimited, is_refusal
from wireproof_kit.iggy.clients.fuzz.given import Given
from wireproof_kit.iggy.clients.fuzz.states import LOGIN, STATES, WORK, Situation
from wireproof_kit.iggy.clients.log import LOG
from wireproof_kit.iggy.clients.peers import IggyPeers
from wireproof_kit.iggy.clients.probes import ONE
from wireproof_spec.driver.lines import OPEN, Failure, Result, Unsupported
from wireproof_spec.iggy.bodies.consumer_offsets import StoreConsumerOffset

LINGER_S: Final = 0.5
"""Seconds that a client has to close a connection whose other end is closed."""
PIECE_S: Final = 0.002
PAUSE_S: Final = 0.1
"""A driver is asked again so long after an error: at once would be the kit's own hot loop."""
MOST_TRIES: Final = 30
"""Connections in one second; one that waits for the driver to be asked makes ten."""


@dataclass(frozen=True, slots=True)
class _Timer:
    what: str
    number: int = 0
    conn: str = ""
    pieces: tuple[bytes, ...] = ()


_TICK = _Timer("tick")


@dataclass(slots=True)
class CasePeers:
    """The server that tries cases with one client, one after the other."""

    situation: Situation
    cases: Sequence[Case]
    patience_s: float
    done: int = 0
    trouble: Trouble | None = None
    is_retired: bool = False
    """True once the driver has said that it cannot do what it is asked for."""
    ticks: int = 0
    durations: list[float] = field(default_factory=list[float])
    _inner: IggyPeers = field(init=False)
    _now: float = 0.0
    _is_driven: bool = False
    _attempt: Attempt | None = None
    _open: set[str] = field(default_factory=set[str])
    _given: Given = field(init=False)
    _tries: deque[float] = field(default_factory=lambda: deque[float](maxlen=MOST_TRIES))

    def __post_init__(self) -> None:
        self._inner = IggyPeers(states.script(self.situation))
        self._given = Given(self.situation.transport)

    @property
    def is_over(self) -> bool:
        """Whether all cases are over, or something ended the run before."""
        return self.done == len(self.cases) or self.trouble is not None or self.is_retired

    @property
    def was_refused(self) -> bool:
        """Whether the case in hand begins with an error of the server."""
        attempt = self._attempt
        if attempt is None or not attempt.is_sent:
            return False
        return is_refusal(attempt.case.frame_kind, b"".join(divide(attempt.case)))

    def names(self) -> Sequence[str]:
        """Return the names of the peers."""
        return self._inner.names()

    def has_http(self, peer: str) -> bool:
        """Return True for the port that speaks HTTP."""
        return self._inner.has_http(peer)

    def pieces(self, peer: str) -> Pieces | None:
        """Return None: what a case sends comes at once."""
        return None

    def begin(self, addresses: Mapping[str, str], values: Mapping[str, str]) -> Iterator[Effect]:
        """Return the effects before the client starts."""
        yield from self._inner.begin(addresses, values)
        yield Later(TICK_S, _TICK)
        yield from self._begin_next()

    def react(self, event: Event) -> Iterator[Effect]:
        """Return the effects of an event: those of the case, where it takes its place."""
        if self.is_over:
            return
        self.ticks, self._now = 0, event.at
        if isinstance(event, Connected):
            self._connect(event)
        elif isinstance(event, Disconnected):
            self._open.discard(event.conn)
        elif isinstance(event, Answered):
            yield from self._take_answer(event)
        elif isinstance(event, Asked):
            yield from self._answer(event)
        else:
            self._is_driven = self._is_driven or isinstance(event, Greeted)
            yield from self._inner.react(event)

    def react_to_timer(self, token: object) -> Iterator[Effect]:
        """Return the effects of a timer."""
        assert isinstance(token, _Timer)
        attempt = self._attempt
        if token is _TICK:
            self.ticks += bool(self._open) or self._is_driven
            yield Later(TICK_S, _TICK)
        elif token.what == "close":
            yield HangUp(token.conn)
        elif token.what == "ask" and not self.is_over:
            yield from self._ask()
        elif attempt is None or self.is_over or attempt.number != token.number:
            return
        elif token.what == "late":
            self.trouble = Trouble(STUCK, self._describe(attempt))
        elif token.what == "piece":
            yield from self._send_pieces(attempt, token.pieces)

    def _begin_next(self) -> Iterator[Effect]:
        if self.is_over:
            return
        case = self.cases[self.done]
        place = STATES[case.state].place
        attempt = self._attempt = Attempt(self.done, case, place, self._now)
        yield Later(self.patience_s, _Timer("late", attempt.number))
        self._tries.clear()
        if attempt.place == LOGIN:
            for conn in tuple(self._open):
                yield from self._hang_up(conn)

    def _connect(self, event: Connected) -> None:
        self._open.add(event.conn)
        if len(self._tries) == MOST_TRIES and event.at - self._tries[0] < 1.0:
            self.trouble = Trouble(SPINS, f"{MOST_TRIES} connections in one second")
        self._tries.append(event.at)

    def _answer(self, event: Asked) -> Iterator[Effect]:
        """Answer a request, with the case if it is its place."""
        attempt = self._attempt
        offset = event.payload.offset if isinstance(event.payload, StoreConsumerOffset) else None
        if offset is not None and not self._given.holds_offset(offset):
            self.trouble = Trouble(NOT_GIVEN, f"offset {offset} was stored, of no message sent")
        elif attempt is not None and not attempt.is_sent and event.command == attempt.place:
            attempt.is_sent, attempt.conn = True, event.conn
            whole = attempt.case.mutation == GRAMMAR
            self._given.add_case(b"".join(divide(attempt.case)), whole=whole)
            if attempt.case.frame_kind == NOTHING_SENT and attempt.case.delimited:
                yield from self._answer_as_usual(event)
            yield from self._send_pieces(attempt, divide(attempt.case))
        else:
            yield from self._answer_as_usual(event)
            works = event.command == WORK[self.situation.role] and not self._is_driven
            if works and attempt is not None and attempt.is_complete:
                yield from self._go_on(attempt)

    def _answer_as_usual(self, event: Asked) -> Iterator[Effect]:
        if event.poll is not None:
            self._given.add_messages(LOG)
        self._given.is_accepted = self._given.is_accepted or event.sending is not None
        yield from self._inner.react(event)

    def _send_pieces(self, attempt: Attempt, pieces: tuple[bytes, ...]) -> Iterator[Effect]:
        first, others = pieces[0], pieces[1:]
        if first:
            yield Send(attempt.conn, first)
        if others:
            yield Later(PIECE_S, _Timer("piece", attempt.number, pieces=others))
            return
        attempt.is_complete = True
        if is_doubtful(attempt.case):
            yield from self._hang_up(attempt.conn)

    def _take_answer(self, event: Answered) -> Iterator[Effect]:
        """Judge what the user is told, and ask the driver again."""
        attempt, answer = self._attempt, event.answer
        if isinstance(answer, Unsupported):
            self.is_retired = True
            return
        succeeded = isinstance(answer, Result) and event.op != OPEN
        if isinstance(answer, Result):
            self._judge(event.op, answer)
        if attempt is not None and succeeded and attempt.is_controlled and _shows(event):
            yield from self._go_on(attempt)
        if self.is_over:
            return
        if isinstance(answer, Failure):
            yield Later(PAUSE_S, _Timer("ask"))
        else:
            yield from self._ask()

    def _judge(self, op: str, answer: Result) -> None:
        made_up = self._given.find_made_up(answer.fields) if op == POLL else ""
        if op == SEND and not self._given.is_accepted:
            made_up = "that messages were sent, which the server has not accepted"
        if made_up:
            self.trouble = Trouble(NOT_GIVEN, f"the user was told {made_up}")

    def _ask(self) -> Iterator[Effect]:
        attempt, before = self._attempt, self._given
        if attempt is not None and attempt.is_complete:
            attempt.is_controlled = True
        self._given = Given(self.situation.transport)
        if attempt is not None and attempt.is_sent:
            self._given.keep_cases(before)  # a client may still read what is left of the case
        operation = ask_poll() if self.situation.role == "consumer" else ask_send([ONE])
        yield Ask(operation.op, operation.fields)

    def _go_on(self, attempt: Attempt) -> Iterator[Effect]:
        self.durations.append(self._now - attempt.began)
        self.done += 1
        self._attempt = None
        yield from self._begin_next()

    def _hang_up(self, conn: str) -> Iterator[Effect]:
        """Close the kit's end of a connection, and all of it if the client keeps it."""
        yield HangUp(conn, half=True)
        yield Later(LINGER_S, _Timer("close", conn=conn))

    def _describe(self, attempt: Attempt) -> str:
        within = f"within {self.patience_s:.0f} s"
        if not attempt.is_sent:
            return f"the client did not come for the case {within}"
        return f"after the case the client did not {self.situation.work} {within}"


def is_doubtful(case: Case) -> bool:
    """Return True if the connection cannot go on after a case."""
    if closes_half(case):
        return True
    if case.frame_kind == NOTHING_SENT:
        return not case.delimited
    # Not as the case says: it may have become smaller since.
    return not is_delimited(case.frame_kind, b"".join(divide(case)))


def _shows(event: Answered) -> bool:
    """Return True if an answer shows that the client works: a poll must have messages."""
    assert isinstance(event.answer, Result)
    return event.op != POLL or bool(event.answer.fields.get("messages"))
