"""Judges answers by what was owed: pure functions without sockets or clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wireproof_kit.fuzz.driver import Answer, Expectation, Owed, Trouble
from wireproof_kit.fuzz.oracle.client_rules import CLIENT_MEANINGS

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
REDELIVERY: Final = "redelivery"
MEMORY: Final = "memory"
FILES: Final = "files"

MEANINGS: Final = {
    WRONG_ANSWER: "an answer that the grammar does not allow for this input",
    NO_ANSWER: "no answer in time",
    CLOSED: "the target closed the connection after valid input",
    NONSENSE: "the target sent bytes that are no answer of the protocol",
    NOT_CLOSED: "the target keeps a connection open after the client ended it",
    DEAD: "the target accepts no more connections",
    LINGERS: "the target still lists a client whose connection has ended",
    HUNG: "the target accepts connections and answers nobody",
    ROUND_TRIP: "a new connection cannot complete a round trip",
    DELIVERY: "an acknowledged message was not delivered unchanged",
    NEIGHBOUR: "another connection was disturbed",
    REDELIVERY: "a message that a client returned did not come again",
    MEMORY: "memory keeps growing",
    FILES: "the number of open files keeps growing",
    **CLIENT_MEANINGS,
}
"""What the violation of each rule means, in words for people."""

NOTHING: Final = "nothing"
MOST_WAYS: Final = 200
"""If more requests were sent on a connection, each answer goes to the first that allows it."""

MOST_NAMED: Final = 5
"""If more kinds of answers are valid, they are the errors: an accepted POST has five statuses."""


@dataclass(frozen=True, slots=True)
class ConnectionResult:
    """What arrived on a connection: its answers, how it ended, and why bytes were invalid.

    ``unfinished`` counts the bytes of an answer that is not complete.
    """

    answers: Sequence[Answer]
    ended: str = ""
    fault: str = ""
    unfinished: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The rule that the target violated on a connection, or none.

    `answer` is the class of the answer, `at` the index of its request. ``stored`` are the messages
    that must be delivered. `of_opening`: the request is one of those before the case, which bring
    the connection into its state.
    """

    trouble: Trouble | None = None
    answer: str = NOTHING
    at: int = 0
    stored: tuple[bytes, ...] = ()
    of_opening: bool = False


def judge(expected: Expectation, seen: ConnectionResult) -> Judgement:
    """Compare all answers on one connection with the valid ones.

    An answer that fits both an optional request and a later one is assigned so that no rule is
    violated, if that is possible.
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
        return _wrong(seen.answers[came], len(expected.owed), "expected no further answer")
    return Judgement(stored=tuple(stored))


class _Ways:
    """The possible assignments of answers to requests, some of which need no answer."""

    def __init__(self, expected: Expectation, seen: ConnectionResult) -> None:
        self._expected = expected
        self._seen = seen
        self._known: dict[tuple[int, int], bool] = {}

    def takes(self, at: int, came: int) -> bool:
        """Return True if the next answer belongs to this optional request."""
        answers = self._seen.answers
        if came == len(answers) or wrong_answer(self._expected.owed[at], answers[came]):
            return False
        if len(self._expected.owed) > MOST_WAYS:
            return True
        return self._is_right(at + 1, came + 1) or not self._is_right(at + 1, came)

    def _is_right(self, at: int, came: int) -> bool:
        """Return True if some assignment of the remaining answers leaves nothing wrong."""
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
    """Return the violation if an answer is not valid for its request, number `at`, else None."""
    if answer.kind not in owed.kinds:
        return _wrong(answer, at, _describe_due(owed))
    if answer.kind in owed.success and owed.echo not in answer.data:
        return _wrong(answer, at, f"expected an answer that contains {owed.echo.hex()}")
    return None


def owed_count(expected: Expectation) -> int:
    """Return how many answers must come on a connection."""
    return sum(not owed.optional for owed in expected.owed)


def _judge_missing(
    owed: Owed, at: int, seen: ConnectionResult, *, may_end: bool, stored: Sequence[bytes]
) -> Judgement:
    if not seen.ended:
        return Judgement(
            Trouble(NO_ANSWER, f"{_describe_due(owed)}, {_describe_lack(seen)}"), NOTHING, at
        )
    if may_end:
        return Judgement(stored=tuple(stored))
    return Judgement(Trouble(CLOSED, f"{_describe_due(owed)}, the connection closed"), CLOSED, at)


def _describe_lack(seen: ConnectionResult) -> str:
    """Return what came on a connection on which an answer is missing."""
    if seen.unfinished:
        return f"received {seen.unfinished} bytes of an answer that did not end"
    if not seen.answers:
        return "received nothing"
    count = len(seen.answers)
    before = f"the {count} answers" if count > 1 else "the answer"
    return f"received nothing behind {before} to what was sent before"


def _wrong(answer: Answer, at: int, due: str) -> Judgement:
    words = f"{due}, received {answer.kind}"
    return Judgement(Trouble(WRONG_ANSWER, words), answer.kind, at)


def _describe_due(owed: Owed) -> str:
    kinds = sorted(owed.kinds)
    shown = " or ".join(kinds) if len(kinds) <= MOST_NAMED else "an error"
    return f"expected {shown}" if kinds else "expected no answer"
