"""Many cases on one connection, sent without waiting for answers; all answers are judged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wireproof_kit.fuzz.case import Case, Together, Whole
from wireproof_kit.fuzz.driver import Expectation, Oracle, Owed, Trouble
from wireproof_kit.fuzz.oracle.rules import (
    CLOSED,
    NO_ANSWER,
    NONSENSE,
    NOTHING,
    Judgement,
    wrong_answer,
)
from wireproof_kit.fuzz.send.connection import CaseConnection

LONGEST = 2_000
"""How many cases share one connection before a new one is opened."""


class PipelinedCase(NamedTuple):
    """A case sent on a shared connection: its bytes, and the valid answers to each request."""

    case: Case
    data: bytes
    owed: tuple[Owed, ...]


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """The result of cases on a shared connection.

    How many were executed, the messages that must be delivered, and the last case's violation.
    """

    executed: int
    stored: list[bytes]
    wrong: Judgement | None = None


def is_pipeable(case: Case, expected: Expectation) -> bool:
    """Return True if a case leaves its connection usable and each request must be answered.

    The target may also close the connection because of the case, as long as it need not.
    """
    if len(case.steps) != 1 or not expected.certain or not expected.owed:
        return False
    step = case.steps[0]
    if step.connection or not isinstance(step.style, Whole | Together):
        return False
    if expected.waits or expected.moves or expected.opaque:
        return False
    return all(owed.ends != "must" and not owed.optional for owed in expected.owed)


@dataclass(slots=True)
class Pipeline:
    """A connection in one protocol state that many cases share, sent in a row without waiting."""

    oracle: Oracle
    patience_s: float
    before: bytes
    client: CaseConnection | None = None
    _used: int = 0
    _skip: int = 0
    _due: int = 0
    _cases: list[PipelinedCase] = field(default_factory=list[PipelinedCase])

    def begin(self, cases: Sequence[PipelinedCase]) -> None:
        """Start to send cases; bytes that the socket does not accept yet go out later."""
        self._cases = list(cases)
        if not self._cases:
            return
        if self.client is not None:
            self.client.read()  # it may have been ended for having been silent
        if self.client is None or self.client.ended or self._used >= LONGEST:
            self._open(self._cases[0].case)
        assert self.client is not None, "it was just opened"
        self._used += len(self._cases)
        self._due = self._skip + sum(len(case.owed) for case in self._cases)
        self.client.send(b"".join(case.data for case in self._cases))

    def clients(self) -> list[CaseConnection]:
        """Return a list with the connection while answers are missing, else an empty list."""
        is_waiting = self.client is not None and not self.client.ended and not self.is_done
        return [self.client] if is_waiting and self.client is not None else []

    @property
    def is_done(self) -> bool:
        """Return True if all answers have come or no more can come."""
        client = self.client
        if client is None or not self._cases:
            return True
        return bool(client.ended or client.fault) or len(client.answers) >= self._due

    def finish(self) -> PipelineResult:
        """Judge the answers; close the connection unless exactly the expected ones came."""
        stored: list[bytes] = []
        client = self.client
        if client is None or not self._cases:
            return PipelineResult(0, stored)
        at = self._skip
        answers = client.answers
        for executed, piped in enumerate(self._cases):
            for number, owed in enumerate(piped.owed):
                if at >= len(answers):
                    return self._cut_short(executed, number, stored)
                wrong = wrong_answer(owed, answers[at], number)
                if wrong is not None:
                    self.close()
                    return PipelineResult(executed + 1, stored, wrong)
                if answers[at].kind in owed.success:
                    stored += owed.stored
                at += 1
        if len(answers) > at or client.fault:
            extra = answers[at].kind if len(answers) > at else NONSENSE
            trouble = Trouble(NONSENSE, f"unrequested answer {extra}")
            self.close()
            return PipelineResult(len(self._cases), stored, Judgement(trouble, extra))
        client.answers.clear()
        self._skip = 0
        return PipelineResult(len(self._cases), stored)

    def _cut_short(self, executed: int, number: int, stored: list[bytes]) -> PipelineResult:
        """Return the result when answers are missing.

        If the target was allowed to close the connection because of a later request, the close may
        have destroyed answers to earlier ones. Nothing is wrong then, and the rest is sent again.
        """
        client = self.client
        self.close()
        rest = self._cases[max(executed - 1, 0) :]
        if client is not None and client.ended and not client.fault and any(map(may_end, rest)):
            return PipelineResult(executed, stored)
        return PipelineResult(executed + 1, stored, self._judge_missing(client, number))

    def close(self) -> None:
        """Close the connection."""
        if self.client is not None:
            self.client.close()
        self.client = None

    def _open(self, case: Case) -> None:
        self.close()
        reader = self.oracle.reader(case)
        # Prompt: otherwise a target that gathers small writes holds each answer back for 40 ms.
        self.client = CaseConnection(
            self.oracle.address(case),
            reader,
            self.oracle,
            prompt=True,
            opening=self.before,
            login=self.oracle.login,
        )
        self._used = 0
        expected = self.oracle.expect(case, b"", self.before) if self.before else Expectation(())
        self._skip = sum(not owed.optional for owed in expected.owed)
        self.client.send(self.client.unsent)

    def _judge_missing(self, client: CaseConnection | None, number: int) -> Judgement:
        if client is not None and client.fault:
            return Judgement(Trouble(NONSENSE, client.fault), NONSENSE, number)
        if client is None or client.ended:
            words = "the connection closed after a valid request"
            return Judgement(Trouble(CLOSED, words), CLOSED, number)
        words = f"expected an answer within {self.patience_s:g} s, received none"
        return Judgement(Trouble(NO_ANSWER, words), NOTHING, number)


def may_end(piped: PipelinedCase) -> bool:
    """Return True if the target may close the connection because of a case."""
    return any(owed.ends != "no" for owed in piped.owed)
