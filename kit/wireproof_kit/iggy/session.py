"""A session with one Iggy target: servers for cases, probes, patience."""

import contextlib
from collections.abc import Mapping

from wireproof_kit.errors import (
    ArrangementFailed,
    TargetUnreachable,
    UsageFault,
)
from wireproof_kit.iggy.access import Access
from wireproof_kit.iggy.binding import bind_forms
from wireproof_kit.iggy.forms import OWN_STORED_OFFSET, Forms
from wireproof_kit.iggy.greeting import Greeting, greet, time_ping
from wireproof_kit.iggy.identifiers import Identifiers
from wireproof_kit.iggy.ledger.ledger import IggyLedger
from wireproof_kit.iggy.observe.polled import HEAD_SIZES
from wireproof_kit.iggy.probes import CAPABILITY_PROBES, READING_PROBES, poll_head
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.server_session import HTTP_SECONDS, Probes, ServerSession
from wireproof_kit.iggy.topics import Stream
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.login import credentials_from
from wireproof_kit.observation import observed
from wireproof_kit.targets.session import Probe, SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.http import address_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.generation import GENERATIONS

SERVER = "server"
TOPIC = "topic"
FRAMED = "framed"
"""The probe of the generations that this session is for."""
POLL_HEAD = "iggy-poll-head"
STORED_OFFSET = "iggy-stored-offset"


class IggySession(ServerSession[Server]):
    """An open session with an Iggy target; thread-safe."""

    server_name = SERVER
    topic_name = TOPIC

    def __init__(self, target: Target, options: SessionOptions, greeting: Greeting) -> None:
        address = (target.host, target.port)
        super().__init__(address, options, greeting.seconds, CAPABILITY_PROBES, READING_PROBES)
        self._identifiers = Identifiers(options.run_token)
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

    def bind_forms(self, told: str | None) -> None:
        """Bind the forms of requests and the head of polls, which later probes depend on.

        ``told`` is the generation that the user named.

        Raises:
            TargetUnreachable: the target accepts no connection.
        """
        server = self._server(Transcript())
        try:
            bind_forms(
                server,
                next((generation for generation in GENERATIONS if generation == told), None),
            )
            with contextlib.suppress(ArrangementFailed):
                self._take_head(poll_head(server).value.removeprefix("head:"))
        finally:
            self._close(server)

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

    def release(self, arguments: Mapping[str, object]) -> None:
        """Close what a case left open and delete what it created."""
        for argument in arguments.values():
            if isinstance(argument, Server):
                self._close(argument)

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

    def _server(self, transcript: Transcript) -> Server:
        return Server(self._access, transcript=transcript, patience=self.patience)

    def _close(self, server: Server) -> None:
        with contextlib.suppress(ArrangementFailed, TargetUnreachable):
            server.close(leave=self._options.passing)
            self._left += server.left_behind

    def _probe(self, name: str, table: Probes[Server]) -> Probe:
        if name == FRAMED:
            return Probe(observed("ok", note="the server answered a ping"), Transcript())
        return super()._probe(name, table)

    def _time_ping(self, seconds: float) -> float:
        return time_ping(self._address, seconds=seconds, counts_status=self.forms.counts_status)


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
