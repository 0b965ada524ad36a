"""One case on connections of its own; each step is sent after the answers to the one before."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from wireproof_kit.fuzz.case import (
    ByteByByte,
    Case,
    HalfClose,
    Hold,
    Slow,
    SplitAt,
    Step,
    Together,
)
from wireproof_kit.fuzz.driver import End, Expectation, Oracle, Owed, Sentinel, Trouble
from wireproof_kit.fuzz.oracle.rules import (
    CLOSED,
    NO_ANSWER,
    NONSENSE,
    NOT_CLOSED,
    NOTHING,
    WRONG_ANSWER,
    ConnectionResult,
    Judgement,
    judge,
    owed_count,
)
from wireproof_kit.fuzz.send.connection import REFUSED, CaseConnection
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.step_notes import ACKNOWLEDGED

OPAQUE: Final = "their answers are compressed or encrypted"
UNSURE: Final = "different brokers may read their bytes differently"
CUT: Final = "there was no time left"
UNJUDGED: Final = (OPAQUE, UNSURE, CUT)
"""Why not all answers to a case were judged."""
SINGLY = 96
"""How many bytes of a step are sent one by one; the rest follows in one write."""


@dataclass(slots=True)
class _ConnectionState:
    """One connection of the case: what was sent after its entry bytes, and what is owed so far."""

    client: CaseConnection
    before: bytes
    entered: Expectation
    sent: bytes = b""
    unsent: bytes = b""
    expected: Expectation = field(default_factory=lambda: Expectation(()))
    due: int = 0
    sentinel: Sentinel | None = None


@dataclass(slots=True)
class Conversation:
    """One fuzz case while it runs; call `advance` after every event until `over` is True."""

    case: Case
    oracle: Oracle
    enter: Sequence[Step]
    patience_s: float
    number: int = 0
    transcript: Transcript | None = None
    deadline: float = 0.0
    wake: float = 0.0
    over: bool = False
    _lines: dict[int, _ConnectionState] = field(default_factory=dict[int, _ConnectionState])
    _next: int = 0
    _slow: list[bytes] = field(default_factory=list[bytes])
    _ending: bool = False
    _holds: bool = False

    def start(self) -> None:
        """Open the connections and send the first step."""
        for connection in sorted({step.connection for step in self.case.steps}):
            self._line(connection)
        self._refresh()
        self.advance()

    def clients(self) -> list[CaseConnection]:
        """Return the connections that the target has not closed."""
        return [line.client for line in self._lines.values() if not line.client.ended]

    def advance(self) -> None:
        """Send the next step once all required answers have come; end the case after the last."""
        if self._slow:
            self._go_on_slowly()
        self._holds = self._holds and time.monotonic() < self.wake
        while not (self.over or self._slow or self._holds) and self._is_settled():
            if self._next < len(self.case.steps):
                self._step(self.case.steps[self._next])
                self._next += 1
            elif not self._ending:
                self._end()
            else:
                self.over = True

    def expire(self) -> None:
        """Stop waiting: half-close if no answer is missing, else end the case."""
        if not self._ending and not self._lacks_answers():
            self._end()
            self._refresh()
        else:
            self.over = True

    def close(self) -> None:
        """Close all connections."""
        for line in self._lines.values():
            line.client.close()

    def judgement(self) -> Judgement:
        """Judge the answers on all connections; return the first violation found.

        Without one, note in the transcript which messages must be delivered now.
        """
        stored: tuple[bytes, ...] = ()
        for line in self._lines.values():
            found = self._judge_line(line)
            if found.trouble is not None:
                return found
            stored += found.stored
        if self.transcript is not None:
            for each in stored:
                body = self.oracle.body_of(each)
                self.transcript.add("note", "", data=body, note=ACKNOWLEDGED)
        return Judgement(stored=stored)

    @property
    def is_complete(self) -> bool:
        """Return True if the target answered the last request, or closed, on every connection."""
        return all(self._has_answered(line) for line in self._lines.values())

    @property
    def unjudged(self) -> str:
        """Why not all answers could be judged: one of `UNJUDGED`, or empty."""
        expected = [line.expected for line in self._lines.values()]
        if any(each.opaque for each in expected):
            return OPAQUE
        return "" if all(each.certain for each in expected) else UNSURE

    @property
    def is_refused(self) -> bool:
        """Return True if the target refused a connection."""
        return any(line.client.ended == REFUSED for line in self._lines.values())

    @property
    def ends(self) -> list[End]:
        """The connections of the case, each as the target's address and the kit's local port."""
        address = self.oracle.address(self.case)
        return [(address, line.client.port) for line in self._lines.values()]

    @property
    def is_slow(self) -> bool:
        """Return True if the case sends nothing more until the time `wake`."""
        return bool(self._slow) or self._holds

    def _line(self, connection: int) -> _ConnectionState:
        line = self._lines.get(connection)
        if line is None:
            steps = [step for step in self.enter if step.connection == connection]
            before = b"".join(step.data for step in steps or self.enter)
            client = CaseConnection(
                self.oracle.address(self.case),
                self.oracle.reader(self.case),
                self.oracle,
                transcript=self.transcript,
                opening=before,
                login=self.oracle.login,
            )
            entered = self.oracle.expect(self.case, b"", before) if before else Expectation(())
            line = self._lines[connection] = _ConnectionState(
                client, before, entered, unsent=client.unsent
            )
            self._expect(line, b"")
            line.due = 0  # what opens it goes with its first step
        return line

    def _step(self, step: Step) -> None:
        line = self._line(step.connection)
        self._expect(line, step.data)
        if isinstance(step.style, Slow):
            first, *self._slow = _cut(step.data, step.style.offsets)
            line.client.send(line.unsent, first)
            self.wake = time.monotonic() + step.style.seconds
        else:
            first, *others = _pieces(step)
            whole = [line.unsent, first] if others else [line.unsent + first]
            line.client.send(*whole, *others)
        line.unsent = b""
        if isinstance(step.style, HalfClose):
            line.client.half_close()
        self._refresh()
        if isinstance(step.style, Together):
            line.due = 0
        if isinstance(step.style, Hold):
            self._holds, self.wake = True, time.monotonic() + step.style.seconds
            self.deadline = self.wake + self.patience_s

    def _go_on_slowly(self) -> None:
        if time.monotonic() < self.wake:
            return
        step = self.case.steps[self._next - 1]
        assert isinstance(step.style, Slow), "only slow steps leave pieces behind"
        self._line(step.connection).client.send(self._slow.pop(0))
        self.wake = time.monotonic() + step.style.seconds
        self._refresh()

    def _expect(self, line: _ConnectionState, data: bytes) -> None:
        line.sent += data
        entered = line.entered
        after = self.oracle.expect(self.case, line.before, line.sent)
        line.expected = Expectation(
            entered.owed + after.owed, after.certain, after.waits, after.moves, after.opaque
        )
        line.due = owed_count(line.expected)

    def _end(self) -> None:
        """Send a sentinel where its answer is unambiguous, then shut down our direction."""
        self._ending = True
        for line in self._lines.values():
            self._ask_once_more(line)
            line.client.half_close()
        self._refresh()

    def _ask_once_more(self, line: _ConnectionState) -> None:
        expected = line.expected
        in_doubt = not expected.certain or expected.waits or expected.opaque
        if in_doubt or line.client.half_closed or line.client.ended:
            return
        if self.case.is_held:
            return  # the target may close at any moment, since nobody answers its heartbeats
        line.sentinel = self.oracle.sentinel(self.case, self.number)
        if line.sentinel is not None:
            line.client.send(line.sentinel.data)

    def _is_settled(self) -> bool:
        if self._ending:
            return all(line.client.ended for line in self._lines.values())
        return all(self._has_all(line) for line in self._lines.values())

    def _has_all(self, line: _ConnectionState) -> bool:
        client = line.client
        return bool(client.ended) or (client.is_sent and len(client.answers) >= line.due)

    def _has_answered(self, line: _ConnectionState) -> bool:
        answers = line.client.answers
        if len(answers) < line.due:
            return False
        if line.sentinel is not None:
            return bool(answers) and line.sentinel.answers(answers[-1])
        # Where nothing need be answered, only the end of the connection shows life.
        return bool(line.client.ended)

    def _lacks_answers(self) -> bool:
        return any(not self._has_all(line) for line in self._lines.values())

    def _refresh(self) -> None:
        self.deadline = time.monotonic() + self.patience_s

    def _judge_line(self, line: _ConnectionState) -> Judgement:
        client = line.client
        answers = client.answers
        seen = ConnectionResult(answers, client.ended, client.fault, client.unfinished)
        if line.sentinel is None:
            found = judge(line.expected, seen)
        else:
            found = self._with_sentinel(line, seen, line.sentinel)
        if found.trouble is None and not client.ended:
            return Judgement(
                Trouble(NOT_CLOSED, "the connection stays open after our side ended it"), "open"
            )
        if found.trouble is None or found.trouble.violated == NONSENSE:
            return found
        return replace(found, of_opening=found.at < len(line.entered.owed))

    def _with_sentinel(
        self, line: _ConnectionState, seen: ConnectionResult, sentinel: Sentinel
    ) -> Judgement:
        """Judge the answer to the sentinel separately from the answers before it."""
        answers = seen.answers
        if answers and sentinel.answers(answers[-1]):
            return judge(line.expected, ConnectionResult(answers[:-1], "", seen.fault))
        found = judge(line.expected, seen)
        if found.trouble is not None:
            return found
        if any(owed.ends != "no" for owed in line.expected.owed):
            return found
        if not line.client.ended and len(answers) <= _mandatory(line.expected.owed):
            words = "a further request on the same connection gets no answer"
            return Judgement(Trouble(NO_ANSWER, words), NOTHING, len(line.expected.owed))
        what = answers[-1].kind if len(answers) > _mandatory(line.expected.owed) else CLOSED
        words = "a further request on the same connection gets a wrong answer"
        return Judgement(Trouble(WRONG_ANSWER, words), what, len(line.expected.owed))


def _mandatory(owed: Sequence[Owed]) -> int:
    return sum(not each.optional for each in owed)


def _pieces(step: Step) -> list[bytes]:
    if isinstance(step.style, SplitAt):
        return _cut(step.data, step.style.offsets)
    if isinstance(step.style, ByteByByte):
        return _cut(step.data, range(1, min(len(step.data), SINGLY)))
    return [step.data]


def _cut(data: bytes, offsets: Sequence[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(at for at in offsets if 0 < at < len(data))})
    return [data[start:end] for start, end in itertools.pairwise(edges)] or [data]
