"""A session with one Iggy target: servers for cases, probes, patience."""

import contextlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence

from wireproof_kit.errors import (
    ArrangementFailed,
    KitError,
    TargetSilent,
    TargetUnreachable,
    UsageFault,
)
from wireproof_kit.iggy import patience
from wireproof_kit.iggy.access import Access
from wireproof_kit.iggy.binding import bind_forms
from wireproof_kit.iggy.forms import OWN_STORED_OFFSET, Forms
from wireproof_kit.iggy.greeting import GREETING_SECONDS, Greeting, greet, time_ping
from wireproof_kit.iggy.identifiers import Identifiers
from wireproof_kit.iggy.ledger.ledger import IggyLedger
from wireproof_kit.iggy.observe.polled import HEAD_SIZES
from wireproof_kit.iggy.probes import CAPABILITY_PROBES, READING_PROBES, UNAVAILABLE, poll_head
from wireproof_kit.iggy.probes import Probe as ProbeFunction
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Stream
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.login import credentials_from
from wireproof_kit.observation import observed
from wireproof_kit.targets.session import Control, Probe, SessionOptions, control_round_trip
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.connection import accepts
from wireproof_kit.wire.http import address_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.generation import GENERATIONS

SERVER = "server"
TOPIC = "topic"
FRAMED = "framed"
"""The probe of the generations that this session is for."""
HTTP_SECONDS = 5.0
POLL_HEAD = "iggy-poll-head"
STORED_OFFSET = "iggy-stored-offset"


class IggySession:
    """An open session with an Iggy target; thread-safe."""

    def __init__(self, target: Target, options: SessionOptions, greeting: Greeting) -> None:
        self._address = (target.host, target.port)
        self._options = options
        self._greeting = greeting
        self._identifiers = Identifiers(options.run_token)
        self._left: list[str] = []
        self.forms = Forms(counts_status=greeting.counts_status)
        token, _, control = (target.control or "").rpartition("@")
        self._access = Access(
            address=self._address,
            login=greeting.login,
            identifiers=self._identifiers,
            forms=self.forms,
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

    def bind_forms(self, told: str | None) -> None:
        """Bind the forms of requests and the head of polls, which later probes depend on.

        ``told`` is the generation that the user named.

        Raises:
            TargetUnreachable: the target accepts no connection.
        """
        server = self._server(Transcript())
        try:
            bind_forms(server, next((each for each in GENERATIONS if each == told), None))
            with contextlib.suppress(ArrangementFailed):
                self._take_head(poll_head(server).value.removeprefix("head:"))
        finally:
            self._close(server)

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
        self._take_head(readings.get(POLL_HEAD))
        for form in OWN_STORED_OFFSET.values():
            if readings.get(STORED_OFFSET) == form:
                self.forms.stored_offset = form

    def _take_head(self, name: str | None) -> None:
        for head in HEAD_SIZES:
            if head == name:
                self.forms.head = head

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
            counts_status = self.forms.counts_status
            return time_ping(self._address, seconds=seconds, counts_status=counts_status)

        return control_round_trip(trip, self.patience)

    def is_alive(self) -> bool:
        """Return True if the target accepts a connection now."""
        return accepts(self._address)

    def fingerprint(self) -> dict[str, str]:
        """Return what identifies the target: the generation it speaks."""
        generation = self.forms.generation
        return {"name": f"Iggy, {generation} generation", "generation": generation}

    def open_ledger(self) -> IggyLedger:
        """Return what judges the messages of all cases of a run, in the forms bound for it."""
        return IggyLedger(self.forms)

    def close(self) -> None:
        """Delete the stream of this run with all its topics."""
        home = self._identifiers.home
        if home is not None and not self._options.passing and not self._delete(home):
            self._left.append(home.name)

    def make_shared_again(self) -> None:
        """Have the stream of this run created again; one that outlived the restart is deleted."""
        home = self._identifiers.home
        self._identifiers.forget_home()
        if home is not None:
            self._delete(home)

    def _delete(self, stream: Stream) -> bool:
        """Delete a stream with all its topics; return True if the server confirms it."""
        server = self._server(Transcript())
        is_deleted = False
        with contextlib.suppress(ArrangementFailed, TargetUnreachable):
            is_deleted = isinstance(server.delete_stream(stream), Done)
        server.close(leave=True)
        return is_deleted

    def left_behind(self) -> list[str]:
        """Return the streams that the target keeps, once the session is closed."""
        return [f"stream {name}" for name in self._left]

    def _server(self, transcript: Transcript) -> Server:
        return Server(self._access, transcript=transcript, patience=self.patience)

    def _close(self, server: Server) -> None:
        with contextlib.suppress(ArrangementFailed, TargetUnreachable):
            server.close(leave=self._options.passing)
            self._left += server.left_behind

    def _probe(self, name: str, table: Mapping[str, ProbeFunction]) -> Probe:
        transcript = Transcript()
        if name == FRAMED:
            return Probe(observed("ok", note="the server answered a ping"), transcript)
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
            return time_ping(self._address, counts_status=self.forms.counts_status)
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
    session = IggySession(target, options, greet((target.host, target.port), credentials))
    try:
        session.bind_forms(target.generation)
    except BaseException:
        session.close()
        raise
    return session
