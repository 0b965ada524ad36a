"""One case on connections of its own: step by step, each behind the answers to the one before."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from wireproof_kit.fuzz.case import (
    ByteByByte,
    Case,
    HalfClose,
    Slow,
    SplitAt,
    Step,
    Together,
)
from wireproof_kit.fuzz.driver import End, Expectation, Oracle, Owed, Sentinel, Trouble
from wireproof_kit.fuzz.oracle.rules import (
    CLOSED,
    NO_ANSWER,
    NOT_CLOSED,
    NOTHING,
    WRONG_ANSWER,
    Judgement,
    Seen,
    judge,
    owed_count,
)
from wireproof_kit.fuzz.send.connection import REFUSED, CaseConnection
from wireproof_kit.wire.transcript import Transcript

SINGLY = 96
"""Bytes at the beginning of a step that are sent one by one at most; the rest in larger pieces."""


@dataclass(slots=True)
class _Line:
    """One connection of the case: what was sent behind what opened it, what is owed so far."""

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
    """A case under way. `advance` is called after anything happened, until it is over."""

    case: Case
    oracle: Oracle
    enter: Sequence[Step]
    patience_s: float
    number: int = 0
    transcript: Transcript | None = None
    deadline: float = 0.0
    wake: float = 0.0
    over: bool = False
    _lines: dict[int, _Line] = field(default_factory=dict[int, _Line])
    _next: int = 0
    _slow: list[bytes] = field(default_factory=list[bytes])
    _ending: bool = False

    def start(self) -> None:
        """Open the connections and send the first step."""
        for connection in sorted({step.connection for step in self.case.steps}):
            self._line(connection)
        self._refresh()
        self.advance()

    def clients(self) -> list[CaseConnection]:
        """Return the connections on which something may still happen."""
        return [line.client for line in self._lines.values() if not line.client.ended]

    def advance(self) -> None:
        """Send what is next once what was owed has come; end when everything has."""
        if self._slow:
            self._go_on_slowly()
        while not (self.over or self._slow) and self._is_settled():
            if self._next < len(self.case.steps):
                self._step(self.case.steps[self._next])
                self._next += 1
            elif not self._ending:
                self._end()
            else:
                self.over = True

    def expire(self) -> None:
        """Wait no longer."""
        if not self._ending and not self._lacks_answers():
            self._end()
            self._refresh()
        else:
            self.over = True

    def close(self) -> None:
        """End all connections."""
        for line in self._lines.values():
            line.client.close()

    def judgement(self) -> Judgement:
        """Judge what came on all connections; the first thing violated stands for all."""
        stored: tuple[bytes, ...] = ()
        for line in self._lines.values():
            found = self._judged(line)
            if found.trouble is not None:
                return found
            stored += found.stored
        return Judgement(stored=stored)

    @property
    def is_complete(self) -> bool:
        """Tell whether the target was seen to have read everything: it answered, or ended."""
        return all(self._has_answered(line) for line in self._lines.values())

    @property
    def is_refused(self) -> bool:
        """Tell whether a connection was refused."""
        return any(line.client.ended == REFUSED for line in self._lines.values())

    @property
    def ends(self) -> list[End]:
        """Return where its connections went, and from which port."""
        address = self.oracle.address(self.case)
        return [(address, line.client.port) for line in self._lines.values()]

    @property
    def is_slow(self) -> bool:
        """Tell whether pieces are held back until `wake`."""
        return bool(self._slow)

    def _line(self, connection: int) -> _Line:
        line = self._lines.get(connection)
        if line is None:
            client = CaseConnection(
                self.oracle.address(self.case),
                self.oracle.reader(self.case),
                self.oracle,
                transcript=self.transcript,
            )
            steps = [step for step in self.enter if step.connection == connection]
            before = b"".join(step.data for step in steps or self.enter)
            entered = self.oracle.expect(self.case, b"", before) if before else Expectation(())
            line = self._lines[connection] = _Line(client, before, entered, unsent=before)
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

    def _go_on_slowly(self) -> None:
        if time.monotonic() < self.wake:
            return
        step = self.case.steps[self._next - 1]
        assert isinstance(step.style, Slow), "only slow steps leave pieces behind"
        self._line(step.connection).client.send(self._slow.pop(0))
        self.wake = time.monotonic() + step.style.seconds
        self._refresh()

    def _expect(self, line: _Line, data: bytes) -> None:
        line.sent += data
        entered = line.entered
        after = self.oracle.expect(self.case, line.before, line.sent)
        line.expected = Expectation(
            entered.owed + after.owed, after.certain, after.waits, after.moves, after.opaque
        )
        line.due = owed_count(line.expected)

    def _end(self) -> None:
        """Ask once more where that is clear, end our side, and let the target end its own."""
        self._ending = True
        for line in self._lines.values():
            self._ask_once_more(line)
            line.client.half_close()
        self._refresh()

    def _ask_once_more(self, line: _Line) -> None:
        expected = line.expected
        in_doubt = not expected.certain or expected.waits or expected.opaque
        if in_doubt or line.client.half_closed or line.client.ended:
            return
        line.sentinel = self.oracle.sentinel(self.case, self.number)
        if line.sentinel is not None:
            line.client.send(line.sentinel.data)

    def _is_settled(self) -> bool:
        if self._ending:
            return all(line.client.ended for line in self._lines.values())
        return all(self._has_all(line) for line in self._lines.values())

    def _has_all(self, line: _Line) -> bool:
        client = line.client
        return bool(client.ended) or (client.is_sent and len(client.answers) >= line.due)

    def _has_answered(self, line: _Line) -> bool:
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

    def _judged(self, line: _Line) -> Judgement:
        client = line.client
        answers = client.answers
        seen = Seen(answers, client.ended, client.fault)
        if line.sentinel is None:
            found = judge(line.expected, seen)
        else:
            found = self._with_sentinel(line, seen, line.sentinel)
        if found.trouble is None and not client.ended:
            return Judgement(
                Trouble(NOT_CLOSED, "it stays open though our side has ended"), "open"
            )
        return found

    def _with_sentinel(self, line: _Line, seen: Seen, sentinel: Sentinel) -> Judgement:
        """Judge the answer to the last request apart from the others."""
        answers = seen.answers
        if answers and sentinel.answers(answers[-1]):
            return judge(line.expected, Seen(answers[:-1], "", seen.fault))
        found = judge(line.expected, seen)
        if found.trouble is not None:
            return found
        if any(owed.ends != "no" for owed in line.expected.owed):
            return found
        if not line.client.ended and len(answers) <= _mandatory(line.expected.owed):
            words = "one more request on the same connection is not answered"
            return Judgement(Trouble(NO_ANSWER, words), NOTHING, len(line.expected.owed))
        what = answers[-1].kind if len(answers) > _mandatory(line.expected.owed) else CLOSED
        words = "one more request on the same connection is not answered as it should be"
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
