"""The interface between the fuzzing core and a protocol: generated cases, and what they are owed.

A protocol provides one function, `open_fuzz_session` of its `KitPart`. Nothing in this module
depends on the bytes of a protocol.
"""

import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Step as Recorded
from wireproof_kit.wire.transcript import Transcript

Ends: TypeAlias = Literal["no", "may", "must"]
"""Whether a request makes the target close the connection: never, perhaps, or always."""


FLAWS_APART: Final = "; "
"""Separates the flaws of one case; a target that violates a rule by one does so by all of them."""

End: TypeAlias = tuple[Address, int]
"""The kit's end of a connection: the target's address, and the local port."""


class Answer(NamedTuple):
    """One complete answer from the target: its kind, such as ``E_BAD_BODY``, and its bytes."""

    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Owed:
    """The valid responses to one request.

    The target answers with one of `kinds`, or closes the connection unless `ends` is ``no``. An
    `optional` answer may be missing. An answer of a kind in `success` must contain `echo`, and
    then each message of `stored` must be delivered unchanged. `flaw` says what is wrong in the
    request; it is the same text for all requests that are wrong in the same way.
    """

    kinds: frozenset[str]
    ends: Ends = "no"
    optional: bool = False
    stored: tuple[bytes, ...] = ()
    success: frozenset[str] = frozenset()
    echo: bytes = b""
    flaw: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The valid responses to the bytes sent on a connection, request by request (`owed`).

    If it is not `certain`, the grammar does not say what the remaining bytes mean, so any answers
    may follow. `opaque`: the answers that follow cannot be read at all. `waits`: the bytes end
    inside a request. `moves`: the requests change the state of the connection.
    """

    owed: tuple[Owed, ...]
    certain: bool = True
    waits: bool = False
    moves: bool = False
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Sentinel:
    """A request sent after a case, to find out whether the target still answers correctly.

    `answers` returns True for its answer, which no other request has.
    """

    data: bytes
    answers: Callable[[Answer], bool]


@dataclass(slots=True)
class Volume:
    """Counts the bytes sent to be stored: one answer may hold them all, and its limit follows."""

    sent: int = 0


class AnswerReader(Protocol):
    """Splits the bytes received on a connection into answers, wherever they are cut."""

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Add received bytes, empty at the end of the stream; return the complete answers."""
        ...

    @property
    def fault(self) -> str:
        """The reason why the received bytes are invalid; empty if they are valid."""
        ...

    @property
    def pending(self) -> bytes:
        """The received bytes that do not form a complete answer yet."""
        ...


@dataclass(frozen=True, slots=True)
class Trouble:
    """A rule that was violated, and in words how; `lost` is the undelivered message, if any."""

    violated: str
    words: str
    lost: bytes = b""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The result of a login on a connection.

    `sock` replaces the connection's socket, `unsent` is the rest of the case's opening bytes.
    `answers` are the answers to the opening bytes that the login sent, `steps` what was exchanged.
    """

    sock: socket.socket
    unsent: bytes
    answers: tuple[Answer, ...] = ()
    steps: tuple[Recorded, ...] = ()


LogIn = Callable[[socket.socket, Address, bytes], LoggedIn]
"""Logs in a connection to an address, whose first bytes are to be the given ones.

It raises a `KitError` or an `OSError` if the target does not accept the login.
"""


class Listener(Protocol):
    """Handles frames that a target sends without a request, such as heartbeats and messages."""

    def is_pushed(self, kind: str) -> bool:
        """Return True if the target sends frames of this kind without a request."""
        return False

    def reply_to_unrequested(self, answer: Answer) -> bytes:
        """Return the bytes that must be sent in reply to an unrequested frame; often none."""
        return b""


class Oracle(Listener, Protocol):
    """Knows which responses of a broker to the bytes of a case are valid."""

    @property
    def login(self) -> LogIn | None:
        """The function that logs in the connections of cases; None if no login is needed."""
        return None

    def address(self, case: Case) -> Address:
        """Return the address of the target that a case is sent to."""
        ...

    def reader(self, case: Case) -> AnswerReader:
        """Return a new reader for the answers on one connection of a case."""
        ...

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return the valid responses to `data`, sent on a connection after `before`.

        Without a case, the bytes bring a connection into a state.
        """
        ...

    def flaw_of(self, case: Case) -> str:
        """Return what is wrong in the requests of a case; empty if nothing is known to be.

        Violations of a rule by cases with the same flaw have the same cause. Several flaws of a
        case are separated by `FLAWS_APART`.
        """
        return ""

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return a request to send after a case, or None.

        Its answer shows that the target and the kit agree where frames begin.
        """
        ...

    def use_watched_names(self, case: Case) -> Case:
        """Return the case with names of topics or streams from which the kit receives messages."""
        return case

    def body_of(self, stored: bytes) -> bytes:
        """Return the body of a message from the bytes that identify it when it is stored."""
        return stored


class Health(Protocol):
    """The kit's own clients during fuzz cases, which no case may disturb."""

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Let the kit's own clients and a new connection each complete a round trip.

        Return what went wrong, or None. If not `patient`, a slow delivery is left to a later
        check.
        """
        ...

    def find_lingering(self, ends: Collection[End]) -> Collection[End]:
        """Return which of the kit's closed connections the target still lists as clients."""
        return ()

    def exercise(self, what: str, until: float) -> Trouble | None:
        """Let the kit's own clients do one of `EXERCISES` for a time; return what went wrong."""
        return None

    def begin_watch(self) -> Trouble | None:
        """Start to receive messages from the watched topics or streams; return what went wrong."""
        return None

    def end_watch(self, stored: Sequence[bytes]) -> Trouble | None:
        """Wait until all of these messages are delivered unchanged; return which one was not."""
        return None

    def close(self) -> None:
        """Close the connections of the kit's own clients."""
        ...


class Generation(Protocol):
    """Fuzz cases generated from a grammar: each depends only on the seed and its index."""

    def case(self, index: int) -> Case:
        """Return the fuzz case with this index."""
        ...

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Yield the fuzz cases from the index `first` on, without end."""
        ...

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return the steps that bring a new connection into a state."""
        ...

    def start(self, state: str) -> str | None:
        """Return the initial state on the interface of `state`, if a new connection has one."""
        ...

    def right(self, case: Case) -> Case | None:
        """Return the case that sends the valid frame from which a case was mutated, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Which fuzz cases to generate, by kinds of frames and states; empty means all.

    If `drawn`, Hypothesis draws every case. `excluded` are prefixes of kinds of frames to leave
    out.
    """

    seed: int
    frames: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    drawn: bool = False
    excluded: tuple[str, ...] = ()


CheckChoice = Callable[[Choice, bool], None]
"""Raises a `UsageFault` if nothing can be sent by a choice, to clients if the second is True."""


class FuzzSession(Protocol):
    """An open target, with the topics or streams that fuzz cases use on it."""

    @property
    def oracle(self) -> Oracle:
        """The oracle, which knows the valid responses to cases."""
        ...

    @property
    def health(self) -> Health:
        """The health check: whether fuzz cases disturbed the kit's own clients."""
        ...

    @property
    def patience_s(self) -> float:
        """The seconds after which an answer is overdue."""
        ...

    @property
    def patience(self) -> Patience:
        """The time limits measured for this target; they stay valid when it is opened again."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The properties that identify the target, such as its version."""
        ...

    @property
    def names(self) -> Mapping[str, str]:
        """The names that cases use on this target, such as topics, by purpose."""
        ...

    def generation(self, choice: Choice) -> Generation:
        """Return the chosen cases, with the names that exist on this target."""
        ...

    def close(self, *, leave: bool = False) -> None:
        """Close all connections, and delete what the session created unless `leave`."""
        ...


@dataclass(frozen=True, slots=True)
class FuzzSessionOptions:
    """How to open a target for fuzzing; times are in seconds.

    `token` makes names unique to a campaign, and is the same when the campaign resumes. A
    `passing` target ends with the campaign, so nothing has to be deleted. Each `opening` uses
    other names of the same length: messages that a restarted target kept from before could crash
    it again.
    """

    token: str
    passing: bool = False
    timeout_s: float | None = None
    patience: Patience | None = None
    opening: int = 0
    topics: Mapping[str, str] = field(default_factory=dict[str, str])


OpenFuzzSession = Callable[[Target, FuzzSessionOptions], FuzzSession]


class ClientFuzzSession(Protocol):
    """A program that is started again and again: a client with its peers, or an adapter."""

    @property
    def patience_s(self) -> float:
        """The seconds after which a client counts as stuck if it has not resumed its work."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What is known of the program."""
        ...

    def generation(self, choice: Choice) -> Generation:
        """Return the chosen cases, in the states that the program plays."""
        ...

    def arrange(self, cases: Sequence[Case]) -> Sequence[Case]:
        """Return the cases in an order in which few programs have to be started."""
        ...

    def perform(
        self, cases: Sequence[Case], is_stopped: Callable[[], bool]
    ) -> "Iterator[ClientRunResult]":
        """Try cases with one program after the other; yield what came of each."""
        ...

    def record(self, cases: Sequence[Case], is_stopped: Callable[[], bool]) -> Transcript:
        """Try cases once more, with one program, and return the exchange."""
        ...

    def revive(self) -> bool:
        """Return True if the next cases can be tried: the program runs, or can be started."""
        ...

    def close(self) -> None:
        """End every program that still runs."""
        ...


@dataclass(frozen=True, slots=True)
class ClientRunResult:
    """What came of one program: the cases tried, and the rule that it violated in the last one.

    ``key`` identifies a death by where in the program it happened; ``log`` are its last words.
    """

    cases: tuple[Case, ...]
    trouble: Trouble | None = None
    key: str = ""
    log: str = ""


OpenClientFuzzSession = Callable[
    [Target, float | None, Callable[[], bool]], ClientFuzzSession | None
]
OpenAdapterFuzzSession = Callable[
    [Target, FuzzSessionOptions, Callable[[], bool] | None], ClientFuzzSession
]
"""Opens a system behind an adapter, with what restarts it if the user gave that."""
