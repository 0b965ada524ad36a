"""A session with one Iggy target: servers for cases, probes, patience."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wireproof_kit.errors import (
    ArrangementFailed,
    KitError,
    TargetSilent,
    TargetUnreachable,
    UsageFault,
)
from wireproof_kit.iggy import patience
from wireproof_kit.iggy.access import Access
from wireproof_kit.iggy.identifiers import Identifiers
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.observe.polled import COUNT, PARTITION_OFFSET_COUNT, Head
from wireproof_kit.iggy.probes import CAPABILITY_PROBES, READING_PROBES, UNAVAILABLE
from wireproof_kit.iggy.probes import Probe as ProbeFunction
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Answer, Done, ErrorStatus, Nonsense, Silent
from wireproof_kit.iggy.wire.connection import Connection, connect_socket
from wireproof_kit.iggy.wire.login import Credentials, Login, credentials_from, log_in
from wireproof_kit.observation import observed
from wireproof_kit.runner.patience import ANSWER, Patience
from wireproof_kit.targets.session import Control, Probe, SessionOptions, control_round_trip
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.connection import accepts
from wireproof_kit.wire.http import address_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.command_shapes import Nothing
from wireproof_spec.iggy.frame import RESPONSE_HEAD_SIZE

GREETING_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Greeting:
    """The login method of a target, and the seconds from connecting to the answer of a ping."""

    login: Login
    seconds: float


def greet(address: Address, credentials: Credentials) -> Greeting:
    """Ping the server, find out whether it requires a login, and log in if so.

    A server that answers without a login speaks the published generation of the protocol.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the server does not answer, or rejects the login.
    """
    seconds = time_ping(address)
    login = Login("published", credentials)
    with _connection(address, GREETING_SECONDS) as connection:
        answer = connection.ask(requests.request(commands.GET_STREAMS, Nothing()))
        if not isinstance(answer, ErrorStatus):
            return Greeting(login, seconds)
        entered = log_in(connection, credentials, ANSWER)
    if isinstance(entered, Done):
        return Greeting(Login("tagged", credentials), seconds)
    raise TargetSilent(
        f"{_name(address)} asks for a login and answers that of {credentials.name!r} with "
        f"{observe(entered).value}; name the environment variable that holds NAME:PASSWORD with "
        "--auth-env"
    )


def time_ping(address: Address, *, seconds: float | None = None) -> float:
    """Connect and ping; return the seconds this took.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not answer like a server.
    """
    started = time.monotonic()
    with _connection(address, GREETING_SECONDS if seconds is None else seconds) as connection:
        answer = connection.ask(requests.ping())
    if isinstance(answer, Done | ErrorStatus) or _has_head(answer):
        return time.monotonic() - started
    name = _name(address)
    if isinstance(answer, Silent):
        raise TargetSilent(f"{name} accepts connections but {answer.describe('a ping')}")
    if isinstance(answer, Nonsense):
        raise TargetSilent(f"{name} does not speak Iggy: {answer.fault}")
    seen = observe(answer).value
    raise TargetSilent(f"{name} accepts connections but does not answer a ping (seen: {seen})")


def _connection(address: Address, seconds: float) -> Connection:
    patience = Patience(answer=seconds, push=seconds, redelivery=seconds)
    sock = connect_socket(address)
    return Connection(sock, transcript=Transcript(), patience=patience, address=address)


def _has_head(answer: Answer) -> bool:
    """Return True if at least a response header arrived; cases check its length."""
    return isinstance(answer, Silent) and answer.partial >= RESPONSE_HEAD_SIZE


def _name(address: Address) -> str:
    return f"iggy://{address[0]}:{address[1]}"


SERVER = "server"
TOPIC = "topic"
HTTP_SECONDS = 5.0
POLL_HEAD = "iggy-poll-head"


class IggySession:
    """An open session with an Iggy target; thread-safe."""

    def __init__(self, target: Target, options: SessionOptions, greeting: Greeting) -> None:
        self._address = (target.host, target.port)
        self._options = options
        self._greeting = greeting
        self._identifiers = Identifiers(options.run_token)
        self._head: Head = COUNT
        if greeting.login.generation == "tagged":
            self._head = PARTITION_OFFSET_COUNT
        token, _, control = (target.control or "").rpartition("@")
        self._access = Access(
            address=self._address,
            login=greeting.login,
            identifiers=self._identifiers,
            head=lambda: self._head,
            http=address_of(target.http) if target.http else None,
            control=address_of(control) if control else None,
            control_token=token,
            data=target.data,
            http_seconds=options.timeout or HTTP_SECONDS,
        )
        self.patience = patience.BEFORE_MEASURING
        if options.timeout is not None:
            self.patience = patience.make_fixed(options.timeout)
        elif options.patience is not None:
            self.patience = options.patience
        self._measuring = threading.Lock()
        self._is_measured = options.timeout is not None or options.patience is not None

    def begin(self, kinds: Counter[str]) -> None:
        """Do nothing: Iggy creates topics without delay, so none is prepared."""

    def probe_capability(self, name: str) -> Probe:
        """Find out by a probe (a short exchange) whether the target has a capability."""
        self._measure()
        return self._probe(name, CAPABILITY_PROBES)

    def probe_reading(self, name: str) -> Probe:
        """Find out by a probe which reading of an ambiguous text the target follows."""
        return self._probe(name, READING_PROBES)

    def bind(self, readings: Mapping[str, str | None]) -> None:
        """Store which reading of each ambiguous text the target follows, such as the poll head."""
        head = readings.get(POLL_HEAD)
        if head == COUNT:
            self._head = COUNT
        elif head == PARTITION_OFFSET_COUNT:
            self._head = PARTITION_OFFSET_COUNT

    def prepare(self, kinds: Counter[str]) -> None:
        """Measure the target's time limits; the cases create their topics themselves."""
        self._measure()

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the objects that a case asks for by name, new for one run: server and topic.

        Raises:
            ArrangementFailed: the topic could not be made.
            KitError: the kit has no such object.
        """
        missing = [name for name in names if name not in (SERVER, TOPIC)]
        if missing:
            raise KitError(f"the kit has no object called {missing[0]}")
        server = self._server(transcript)
        arguments: dict[str, object] = {SERVER: server}
        try:
            if TOPIC in names:
                arguments[TOPIC] = server.new_topic()
        except KitError:
            self._close(server)
            raise
        return {name: arguments[name] for name in names}

    def release(self, arguments: Mapping[str, object]) -> None:
        """Close what a case left open and delete what it created."""
        for argument in arguments.values():
            if isinstance(argument, Server):
                self._close(argument)

    def control(self) -> Control:
        """Ping on a new connection, to show that the target still answers; return the result."""

        def trip(seconds: float) -> float:
            return time_ping(self._address, seconds=seconds)

        return control_round_trip(trip, self.patience)

    def is_alive(self) -> bool:
        """Return True if the target accepts a connection now."""
        return accepts(self._address)

    def fingerprint(self) -> dict[str, str]:
        """Return what identifies the target: the generation it speaks."""
        generation = self._greeting.login.generation
        return {"name": f"Iggy, {generation} generation", "generation": generation}

    def close(self) -> None:
        """Delete the stream of this run with all its topics."""
        home = self._identifiers.home
        if home is None or self._options.passing:
            return
        server = self._server(Transcript())
        with contextlib.suppress(ArrangementFailed, TargetUnreachable):
            server.delete_stream(home)
        server.close(leave=True)

    def _server(self, transcript: Transcript) -> Server:
        return Server(self._access, transcript=transcript, patience=self.patience)

    def _close(self, server: Server) -> None:
        with contextlib.suppress(ArrangementFailed, TargetUnreachable):
            server.close(leave=self._options.passing)

    def _probe(self, name: str, table: Mapping[str, ProbeFunction]) -> Probe:
        transcript = Transcript()
        function = table.get(name)
        if function is None:
            return Probe(observed(UNAVAILABLE, note=f"there is no probe {name}"), transcript)
        server = self._server(transcript)
        try:
            observation = function(server)
        except (ArrangementFailed, TargetUnreachable, TargetSilent) as error:
            observation = observed(UNAVAILABLE, note=str(error))
        finally:
            self._close(server)
        return Probe(observation, transcript)

    def _measure(self) -> None:
        with self._measuring:
            if not self._is_measured:
                self._is_measured = True
                self.patience = patience.measure(self._round_trip, self._greeting.seconds)

    def _round_trip(self) -> float:
        try:
            return time_ping(self._address)
        except (TargetUnreachable, TargetSilent):
            return GREETING_SECONDS


def open_session(target: Target, options: SessionOptions) -> IggySession:
    """Open a session with a target, which must answer.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target accepts connections, but does not speak Iggy within seconds, or
            does not let the kit in.
        UsageFault: the user named topics, or gave no usable credentials.
    """
    if options.topics:
        raise UsageFault("--topic cannot be used with an Iggy server; leave it out")
    credentials = credentials_from(target.auth_env)
    return IggySession(target, options, greet((target.host, target.port), credentials))
