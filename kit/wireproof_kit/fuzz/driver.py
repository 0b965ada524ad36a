"""What the fuzzing core needs of a protocol: cases out of its grammar, and what they are owed.

A protocol gives one function, `open_fuzz_session` of its `KitPart`. Nothing here
knows a byte of any protocol.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.http import Address

Ends: TypeAlias = Literal["no", "may", "must"]
"""Whether the target may, or must, end the connection over a request."""


End: TypeAlias = tuple[Address, int]
"""Where a connection went, and from which port of ours."""


class Answer(NamedTuple):
    """One whole answer: its class, such as ``ok`` or ``E_BAD_BODY``, and its bytes."""

    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Owed:
    """What one request is owed: an answer of one of these kinds, or, unless `ends` is no, a close.

    An `optional` answer may be missing. When a kind in `success` comes, it must hold `echo`, and
    each of `stored` must be delivered unchanged.
    """

    kinds: frozenset[str]
    ends: Ends = "no"
    optional: bool = False
    stored: tuple[bytes, ...] = ()
    success: frozenset[str] = frozenset()
    echo: bytes = b""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a connection's bytes are owed, request by request.

    Not `certain`: behind these, nobody can tell by the grammar what the rest of the bytes means,
    and any answers may come; `opaque`: nor can they be read. `waits`: the bytes end within a
    request. `moves`: the connection is not in the state it was in before.
    """

    owed: tuple[Owed, ...]
    certain: bool = True
    waits: bool = False
    moves: bool = False
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A request behind a case whose answer cannot be that of another."""

    data: bytes
    answers: Callable[[Answer], bool]


@dataclass(slots=True)
class Volume:
    """Bytes that were sent to be stored: one answer may tell all that a target keeps of them."""

    sent: int = 0


class AnswerReader(Protocol):
    """Answers out of what the target sends, whatever pieces it arrives in."""

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Take bytes, empty at the end of the stream; return what is whole now."""
        ...

    @property
    def fault(self) -> str:
        """Say what is wrong with the stream; empty while nothing is."""
        ...

    @property
    def pending(self) -> bytes:
        """The bytes of an answer that is not whole."""
        ...


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something a broker owes and did not do; `lost` is a message that was not delivered."""

    violated: str
    words: str
    lost: bytes = b""


class Listener(Protocol):
    """Knows what comes unasked."""

    def is_pushed(self, kind: str) -> bool:
        """Tell whether answers of a kind come unasked."""
        return False

    def unasked(self, answer: Answer) -> bytes:
        """Return what must be sent because of something that came unasked; often nothing."""
        return b""


class Oracle(Listener, Protocol):
    """Knows what a broker owes."""

    def address(self, case: Case) -> Address:
        """Return where a case goes."""
        ...

    def reader(self, case: Case) -> AnswerReader:
        """Return a reader for a new connection of a case."""
        ...

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return what is owed for bytes on a connection of a case, behind those that opened it.

        Without a case, the bytes are those that bring a connection into a state.
        """
        ...

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return what to send behind a case to see whether both sides are in step."""
        ...

    def watched(self, case: Case) -> Case:
        """Return the case under names by which what it stores is delivered to the kit."""
        return case


class Health(Protocol):
    """Bystanders of the cases: other clients, who must notice nothing."""

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Let neighbours and a fresh connection complete a round trip; say what went wrong.

        What takes its time to be delivered is waited for by a later check, unless `patient`.
        """
        ...

    def lingering(self, ends: Collection[End]) -> Collection[End]:
        """Return those of our ended connections that the target still tells of, if it tells."""
        return ()

    def begin_watch(self) -> Trouble | None:
        """Begin to receive what is stored under watched names."""
        return None

    def end_watch(self, stored: Sequence[bytes]) -> Trouble | None:
        """Wait until all these were delivered unchanged; say which was not."""
        return None

    def close(self) -> None:
        """End the bystanders' connections."""
        ...


class Generation(Protocol):
    """Cases out of a grammar: a pure function of seed and index."""

    def case(self, index: int) -> Case:
        """Make one case anew."""
        ...

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Make all cases from an index on, without end."""
        ...

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return what brings a connection into a state."""
        ...

    def right(self, case: Case) -> Case | None:
        """Return the frame that a case was made from, as it should be; None where none is."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Which cases are wanted; empty means all. `drawn`: Hypothesis draws each of them."""

    seed: int
    frames: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    drawn: bool = False


class FuzzSession(Protocol):
    """A target with what cases need on it."""

    @property
    def oracle(self) -> Oracle:
        """Who knows what is owed."""
        ...

    @property
    def health(self) -> Health:
        """Who watches the bystanders."""
        ...

    @property
    def patience_s(self) -> float:
        """Seconds after which an answer is overdue."""
        ...

    @property
    def patience(self) -> Patience:
        """What was measured of the target; good for it when it is opened again."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What the target says of itself."""
        ...

    @property
    def names(self) -> Mapping[str, str]:
        """What cases name on this target, by what it is."""
        ...

    def generation(self, choice: Choice) -> Generation:
        """Return the cases wanted, for the names on this target."""
        ...

    def close(self, *, leave: bool = False) -> None:
        """Delete what was made, unless told to leave it; end all connections."""
        ...


@dataclass(frozen=True, slots=True)
class FuzzSessionOptions:
    """How to talk to a target; `token` makes names unique to a campaign, the same on resuming.

    A `passing` target ends with the campaign, so that nothing need be cleaned up. What a target
    that died has kept must not meet it again: the names of each `opening` are others, as long.
    """

    token: str
    passing: bool = False
    timeout_s: float | None = None
    patience: Patience | None = None
    opening: int = 0
    topics: Mapping[str, str] = field(default_factory=dict[str, str])


OpenFuzzSession = Callable[[Target, FuzzSessionOptions], FuzzSession]
