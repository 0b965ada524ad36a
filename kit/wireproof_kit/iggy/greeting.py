"""The first contact with a target: whether it answers, how it counts lengths, and its login."""

import time
from dataclasses import dataclass, replace

from wireproof_kit.errors import TargetSilent
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Answer, Closed, Done, ErrorStatus, Nonsense, Silent
from wireproof_kit.iggy.wire.connection import Connection, connect_socket
from wireproof_kit.iggy.wire.login import Credentials, Login, log_in, log_in_with
from wireproof_kit.runner.patience import ANSWER, Patience
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Nothing
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE, STATUS_SIZE

GREETING_SECONDS = 4.0
_TWO_PINGS = "two pings"


@dataclass(frozen=True, slots=True)
class Greeting:
    """How to talk to a target, and the seconds from connecting to the answer of a ping.

    ``counts_status`` is True if the length of a success counts the status, too.
    """

    login: Login
    counts_status: bool
    seconds: float


def greet(address: Address, credentials: Credentials) -> Greeting:
    """Ping the server, find out whether it requires a login, and log in if so.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the server does not answer, or rejects the login.
    """
    started = time.monotonic()
    answer = _ping_twice(address, counts_status=False)[0]
    seconds = time.monotonic() - started
    counts_status = _may_count_status(answer) and _is_pinged(address, counts_status=True)
    if isinstance(answer, ErrorStatus | Closed):
        # What is refused may be served after a login, and then shows how lengths are counted.
        served = (each for each in (False, True) if _is_pinged(address, each, credentials))
        found = next(served, None)
        if found is None and isinstance(answer, Closed):
            raise _not_greeted(address, answer)
        counts_status = found or False
    elif not _is_answer(answer):
        raise _not_greeted(address, answer)
    contact = _Contact(address, credentials, counts_status)
    login = Login(credentials, is_required=contact.requires_login())
    return Greeting(login, counts_status, seconds)


def time_ping(
    address: Address, *, seconds: float | None = None, counts_status: bool = False
) -> float:
    """Connect and ping; return the seconds this took.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not answer like a server.
    """
    started = time.monotonic()
    with _connection(address, seconds, counts_status) as connection:
        answer = connection.ask(requests.ping())
    if _is_answer(answer):
        return time.monotonic() - started
    raise _not_greeted(address, answer)


@dataclass(frozen=True, slots=True)
class _Contact:
    """Asks for what a server gives with and without a login."""

    address: Address
    credentials: Credentials
    counts_status: bool

    def requires_login(self) -> bool:
        """Return True if the list of streams is refused until the kit has logged in.

        Raises:
            TargetSilent: the server refuses the list, and the login as well.
        """
        with self._connect() as connection:
            answer = connection.ask(requests.request(commands.GET_STREAMS, Nothing()))
        if not isinstance(answer, ErrorStatus | Closed):
            return False
        entered = self.enter()
        if isinstance(entered, Done):
            return True
        if isinstance(answer, Closed):
            return False
        raise TargetSilent(
            f"{name_of(self.address)} asks for a login and answers that of "
            f"{self.credentials.name!r} with {observe(entered).describe()}; name the environment "
            "variable that holds NAME:PASSWORD with --auth-env"
        )

    def enter(self) -> Answer:
        """Log in on a new connection and return the response."""
        with self._connect() as connection:
            return log_in(connection, self.credentials, ANSWER)

    def _connect(self) -> Connection:
        return _connection(self.address, None, self.counts_status)


def _is_pinged(
    address: Address, counts_status: bool, credentials: Credentials | None = None
) -> bool:
    """Return True if two pings are answered rightly, after a login with ``credentials``."""
    answers = _ping_twice(address, counts_status=counts_status, credentials=credentials)
    return all(answer == Done(b"") for answer in answers)


def _ping_twice(
    address: Address, *, counts_status: bool, credentials: Credentials | None = None
) -> tuple[Answer, Answer]:
    """Send two pings at once: the second response shows where the first one ended.

    With ``credentials``, a login is sent before; a refusal of it stands for both responses.
    """
    two = requests.ping() + requests.ping()
    with _connection(address, None, counts_status) as connection:
        # Sent without a wait: a response that seems too short waits for the bytes of the next one.
        if credentials:
            log_in_with(connection, credentials)
        connection.send(replace(two, what=_TWO_PINGS))
        entered = connection.receive() if credentials else None
        if entered is not None and not isinstance(entered, Done):
            return entered, entered
        first = connection.receive()
        # An odd first response is read anew, in the other form; what follows it says nothing.
        return first, connection.receive() if first == Done(b"") else first


def _may_count_status(answer: Answer) -> bool:
    """Return True if the first of two pings was answered as if the next status were its body."""
    return isinstance(answer, Done) and answer.body == bytes(STATUS_SIZE)


def _is_answer(answer: Answer) -> bool:
    """Return True if a server answered: at least a response header, whose length cases check."""
    has_head = isinstance(answer, Silent) and answer.partial >= RESPONSE_HEAD_SIZE
    return isinstance(answer, Done | ErrorStatus) or has_head


def _not_greeted(address: Address, answer: Answer) -> TargetSilent:
    name = name_of(address)
    if isinstance(answer, Silent):
        return TargetSilent(f"{name} accepts connections but {answer.describe('a ping')}")
    if isinstance(answer, Nonsense):
        return TargetSilent(f"{name} does not speak Iggy: {answer.fault}")
    seen = observe(answer).describe()
    return TargetSilent(f"{name} accepts connections but does not answer a ping (seen: {seen})")


def _connection(address: Address, seconds: float | None, counts_status: bool) -> Connection:
    limit = GREETING_SECONDS if seconds is None else seconds
    patience = Patience(answer=limit, push=limit, redelivery=limit)
    return Connection(
        connect_socket(address),
        transcript=Transcript(),
        patience=patience,
        address=address,
        counts_status=counts_status,
    )


def name_of(address: Address) -> str:
    """Return the URL of a server at an address."""
    return f"iggy://{address[0]}:{address[1]}"
