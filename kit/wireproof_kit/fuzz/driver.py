"""The interface between the fuzzing core and a protocol: generated cases, and what they are owed.

A protocol provides one function, `open_fuzz_session` of its `KitPart`. Nothing in this module
depends on the bytes of a protocol.
"""

import socket
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from wireproof_kit.fuzz.case import Case, Step
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Step as Recorded
from wireproof_kit.wire.transcript import Transcript

Ends: TypeAlias = Literal["no", "may", "must"]
"""Whether the target may, or must, close the connection because of a request."""


End: TypeAlias = tuple[Address, int]
"""A connection by the target's address and our local port."""


class Answer(NamedTuple):
    """One complete answer: its class, such as ``ok`` or ``E_BAD_BODY``, and its bytes."""

    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Owed:
    """What one request is owed: an answer of one of `kinds`, or a close unless `ends` is ``no``.

    An `optional` answer may be missing. An answer of a kind in `success` must contain `echo`, and
    then each message of `stored` must be delivered unchanged.
    """

    kinds: frozenset[str]
    ends: Ends = "no"
    optional: bool = False
    stored: tuple[bytes, ...] = ()
    success: frozenset[str] = frozenset()
    echo: bytes = b""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the bytes of a connection are owed, request by request.

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
    """A request sent after a case, whose answer cannot be mistaken for another answer."""

    data: bytes
    answers: Callable[[Answer], bool]


@dataclass(slots=True)
class Volume:
    """The number of bytes sent to be stored; one answer may contain everything that is stored."""

    sent: int = 0


class AnswerReader(Protocol):
    """Splits the bytes that a target sends into answers, however the bytes are divided."""

    def feed(self, data: bytes) -> Sequence[Answer]:
        """Read bytes, or the end of the stream if empty; return the answers now complete."""
        ...

    @property
    def fault(self) -> str:
        """What is wrong with the stream; empty if nothing is."""
        ...

    @property
    def pending(self) -> bytes:
        """The bytes of an incomplete answer."""
        ...


@dataclass(frozen=True, slots=True)
class Trouble:
    """A rule that a broker violated, and how; `lost` is a message that was not delivered."""

    violated: str
    words: str
    lost: bytes = b""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A connection after its login: a socket in its place, and what is left of its opening bytes.

    `answers` are the answers to the opening bytes that the login took, `steps` what was exchanged.
    """

    sock: socket.socket
    unsent: bytes
    answers: tuple[Answer, ...] = ()
    steps: tuple[Recorded, ...] = ()


LogIn = Callable[[socket.socket, Address, bytes], LoggedIn]
"""Logs in a connection to an address that begins with the given bytes.

It raises a `KitError` or an `OSError` if the target does not let the connection in.
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
    """Knows what a broker owes for the bytes of a case."""

    @property
    def login(self) -> LogIn | None:
        """How connections of cases log in; None if they need not."""
        return None

    def address(self, case: Case) -> Address:
        """Return the address that a case is sent to."""
        ...

    def reader(self, case: Case) -> AnswerReader:
        """Return a new reader for the answers on one connection of a case."""
        ...

    def expect(self, case: Case | None, before: bytes, data: bytes) -> Expectation:
        """Return what `data` is owed on a connection of a case on which `before` was sent.

        Without a case, the bytes bring a connection into a state.
        """
        ...

    def sentinel(self, case: Case, number: int) -> Sentinel | None:
        """Return a request to send after a case; its answer shows that frame boundaries agree."""
        ...

    def use_watched_names(self, case: Case) -> Case:
        """Return the case with watched names, so that the kit receives the messages it stores."""
        return case


class Health(Protocol):
    """The bystanders of the cases: other clients, which the cases must not disturb."""

    def check(self, *, patient: bool = True) -> Trouble | None:
        """Let bystanders and a new connection complete a round trip; return what went wrong.

        If not `patient`, a delivery that takes long is awaited by a later check.
        """
        ...

    def find_lingering(self, ends: Collection[End]) -> Collection[End]:
        """Return those of our closed connections that the target still lists as clients."""
        return ()

    def exercise(self, what: str, until: float) -> Trouble | None:
        """Let the bystanders do one of `EXERCISES`, until then at most; return what is wrong."""
        return None

    def begin_watch(self) -> Trouble | None:
        """Start to receive the messages that are stored under watched names."""
        return None

    def end_watch(self, stored: Sequence[bytes]) -> Trouble | None:
        """Wait until all of these messages are delivered unchanged; return which one was not."""
        return None

    def close(self) -> None:
        """Close the connections of the bystanders."""
        ...


class Generation(Protocol):
    """The cases generated from a grammar: a pure function of seed and index."""

    def case(self, index: int) -> Case:
        """Return the case with this index."""
        ...

    def cases(self, first: int = 0) -> Iterator[Case]:
        """Yield the cases from an index on, without end."""
        ...

    def enter(self, state: str) -> tuple[Step, ...]:
        """Return the steps that bring a connection into a state."""
        ...

    def start(self, state: str) -> str | None:
        """Return the state that needs no steps, on the interface of a state; None without one."""
        ...

    def right(self, case: Case) -> Case | None:
        """Return the case with the valid frame it was made from; None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Which cases to generate; empty means all. `drawn`: Hypothesis draws every case.

    `excluded` are prefixes of kinds of frames of which there are none.
    """

    seed: int
    frames: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    drawn: bool = False
    excluded: tuple[str, ...] = ()


class FuzzSession(Protocol):
    """An open target together with the names that cases use on it."""

    @property
    def oracle(self) -> Oracle:
        """The oracle that knows what cases are owed."""
        ...

    @property
    def health(self) -> Health:
        """The health check with the bystanders."""
        ...

    @property
    def patience_s(self) -> float:
        """The seconds after which an answer is overdue."""
        ...

    @property
    def patience(self) -> Patience:
        """The waiting times measured for this target; they stay valid when it is opened again."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """The properties that the target reports."""
        ...

    @property
    def names(self) -> Mapping[str, str]:
        """The names that cases use on this target, by purpose."""
        ...

    def generation(self, choice: Choice) -> Generation:
        """Return the chosen cases, made for the names on this target."""
        ...

    def close(self, *, leave: bool = False) -> None:
        """Close all connections, and delete what the session created unless `leave`."""
        ...


@dataclass(frozen=True, slots=True)
class FuzzSessionOptions:
    """How to talk to a target; `token` makes names unique to a campaign, the same when it resumes.

    A `passing` target ends with the campaign, so nothing has to be deleted. Each `opening` uses
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
        """The seconds after which a client is stuck that has not come back to work."""
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


OpenClientFuzzSession = Callable[[Target, float | None], ClientFuzzSession]
OpenAdapterFuzzSession = Callable[
    [Target, FuzzSessionOptions, Callable[[], bool] | None], ClientFuzzSession
]
"""Opens a system behind an adapter, with what restarts it if the user gave that."""
