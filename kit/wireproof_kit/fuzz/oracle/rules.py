"""Judging answers by what was owed: pure functions, no sockets, no clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wireproof_kit.fuzz.driver import Answer, Expectation, Owed, Trouble

WRONG_ANSWER: Final = "answer"
NO_ANSWER: Final = "no-answer"
CLOSED: Final = "closed"
NONSENSE: Final = "nonsense"
NOT_CLOSED: Final = "not-closed"
DEAD: Final = "dead"
HUNG: Final = "hung"
LINGERS: Final = "lingers"
ROUND_TRIP: Final = "round-trip"
DELIVERY: Final = "delivery"
NEIGHBOUR: Final = "neighbour"
MEMORY: Final = "memory"
FILES: Final = "files"

MEANINGS: Final = {
    WRONG_ANSWER: "an answer that the grammar does not allow for that input",
    NO_ANSWER: "no answer within patience",
    CLOSED: "the connection was ended over something that is as it should be",
    NONSENSE: "what was sent back is no answer of the protocol",
    NOT_CLOSED: "the connection stays open though the other side has ended",
    DEAD: "the target accepts no connection any more",
    LINGERS: "a connection that has ended is still told among the clients",
    HUNG: "no answer beyond patience: the target accepts connections and answers nobody",
    ROUND_TRIP: "a fresh connection does not complete a round trip",
    DELIVERY: "what was acknowledged was not delivered unchanged",
    NEIGHBOUR: "another connection was disturbed",
    MEMORY: "memory climbs",
    FILES: "open files climb",
}
"""What may be violated, in the words of people."""

NOTHING: Final = "nothing"
MOST_WAYS: Final = 200
"""Requests on one connection, beyond which no ways are compared."""


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """What a connection came to: its answers, how it ended, what was wrong with the stream."""

    answers: Sequence[Answer]
    ended: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is violated, if anything; `answer` is the class of what came; `at` counts requests.

    ``stored`` is what must be delivered.
    """

    trouble: Trouble | None = None
    answer: str = NOTHING
    at: int = 0
    stored: tuple[bytes, ...] = ()


def judge(expected: Expectation, seen: ConnectionResult) -> Judgement:
    """Judge all that one connection was answered.

    Where an answer may be that to an optional request or to a later one, it is taken for
    whichever leaves nothing wrong.
    """
    if seen.fault and not expected.opaque:
        return Judgement(Trouble(NONSENSE, seen.fault), NONSENSE)
    stored: list[bytes] = []
    may_end = False
    came = 0
    ways = _Ways(expected, seen)
    for at, owed in enumerate(expected.owed):
        may_end = may_end or owed.ends != "no"
        if owed.optional and not ways.takes(at, came):
            continue
        if came == len(seen.answers):
            return _judge_missing(owed, at, seen, may_end=may_end, stored=stored)
        answer = seen.answers[came]
        if (wrong := wrong_answer(owed, answer, at)) is not None:
            return wrong
        came += 1
        stored += owed.stored if answer.kind in owed.success else ()
    if expected.certain and came < len(seen.answers):
        return _wrong(seen.answers[came], len(expected.owed), "no further answer was due")
    return Judgement(stored=tuple(stored))


class _Ways:
    """The ways in which answers may belong to requests, some of which may have none."""

    def __init__(self, expected: Expectation, seen: ConnectionResult) -> None:
        self._expected = expected
        self._seen = seen
        self._known: dict[tuple[int, int], bool] = {}

    def takes(self, at: int, came: int) -> bool:
        """Tell whether an optional request takes the answer that is next."""
        answers = self._seen.answers
        if came == len(answers) or wrong_answer(self._expected.owed[at], answers[came]):
            return False
        if len(self._expected.owed) > MOST_WAYS:
            return True
        return self._is_right(at + 1, came + 1) or not self._is_right(at + 1, came)

    def _is_right(self, at: int, came: int) -> bool:
        """Tell whether, from there on, nothing is wrong in some way."""
        found = self._known.get((at, came))
        if found is None:
            found = self._known[at, came] = self._look(at, came)
        return found

    def _look(self, at: int, came: int) -> bool:
        owed, answers = self._expected.owed, self._seen.answers
        if at == len(owed):
            return not self._expected.certain or came == len(answers)
        each = owed[at]
        if each.optional and self._is_right(at + 1, came):
            return True
        if came < len(answers):
            fits = wrong_answer(each, answers[came]) is None
            return fits and self._is_right(at + 1, came + 1)
        may_end = any(one.ends != "no" for one in owed[: at + 1])
        return not each.optional and bool(self._seen.ended) and may_end


def wrong_answer(owed: Owed, answer: Answer, at: int = 0) -> Judgement | None:
    """Judge one answer to one request; None when it is allowed."""
    if answer.kind not in owed.kinds:
        return _wrong(answer, at, _describe_due(owed))
    if answer.kind in owed.success and owed.echo not in answer.data:
        return _wrong(answer, at, f"an answer that holds {owed.echo.hex()} was due")
    return None


def owed_count(expected: Expectation) -> int:
    """Return how many answers must come."""
    return sum(not owed.optional for owed in expected.owed)


def _judge_missing(
    owed: Owed, at: int, seen: ConnectionResult, *, may_end: bool, stored: Sequence[bytes]
) -> Judgement:
    if not seen.ended:
        return Judgement(Trouble(NO_ANSWER, f"{_describe_due(owed)}, nothing came"), NOTHING, at)
    if may_end:
        return Judgement(stored=tuple(stored))
    return Judgement(Trouble(CLOSED, f"{_describe_due(owed)}, the connection ended"), CLOSED, at)


def _wrong(answer: Answer, at: int, due: str) -> Judgement:
    words = f"{due}, {answer.kind} came"
    return Judgement(Trouble(WRONG_ANSWER, words), answer.kind, at)


def _describe_due(owed: Owed) -> str:
    kinds = sorted(owed.kinds)
    shown = " or ".join(kinds[:3]) if len(kinds) < 4 else "an error"
    return f"{shown} was due" if kinds else "no answer was due"
