"""A session with one Apache Iggy server: objects for cases, probes, patience, ledger."""

import contextlib
import time
from collections.abc import Mapping
from typing import Final

from wireproof_kit.errors import (
    ArrangementFailed,
    TargetSilent,
    TargetUnreachable,
    UsageFault,
)
from wireproof_kit.iggy import patience
from wireproof_kit.iggy.apache import APACHE, batches, login
from wireproof_kit.iggy.apache.answers import Answer, Evicted, Replied
from wireproof_kit.iggy.apache.connection import Connection, connect_socket
from wireproof_kit.iggy.apache.ledger import ApacheLedger
from wireproof_kit.iggy.apache.observe import observe
from wireproof_kit.iggy.apache.probes import CAPABILITY_PROBES, READING_PROBES
from wireproof_kit.iggy.apache.server import Access, ApacheServer
from wireproof_kit.iggy.greeting import GREETING_SECONDS, name_of
from wireproof_kit.iggy.identifiers import Identifiers
from wireproof_kit.iggy.server_session import HTTP_SECONDS, ServerSession
from wireproof_kit.iggy.wire.login import Credentials, credentials_from
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.http import address_of
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.bodies.identifier import numeric

SERVER: Final = "apache"
TOPIC: Final = "apache_topic"


class ApacheSession(ServerSession[ApacheServer]):
    """An open session with an Apache Iggy server; thread-safe."""

    server_name = SERVER
    topic_name = TOPIC
    scope = " for this generation"

    def __init__(
        self, target: Target, options: SessionOptions, access: Access, so_far: float
    ) -> None:
        super().__init__(access.address, options, so_far, CAPABILITY_PROBES, READING_PROBES)
        self._access = access
        access.http = address_of(target.http) if target.http else None
        access.data = target.data
        access.http_seconds = options.timeout or HTTP_SECONDS

    def bind(self, readings: Mapping[str, str | None]) -> None:
        """Do nothing: no request depends on a reading."""

    def release(self, arguments: Mapping[str, object]) -> None:
        """Close what a case left open and delete what it created."""
        for argument in arguments.values():
            if isinstance(argument, ApacheServer):
                self._close(argument)

    def fingerprint(self) -> dict[str, str]:
        """Return what the server said of itself at the login."""
        entered = self._access.entered
        described = {} if self._access.envelope.verified else {"shapes": "known by description"}
        return {
            "name": "Apache Iggy",
            "generation": APACHE,
            "version": entered.server_version,
            "protocol": login.name_version(entered.server_protocol_version),
            **described,
        }

    def open_ledger(self) -> ApacheLedger:
        """Return what judges the messages of all cases of a run."""
        return ApacheLedger(self._access.envelope)

    def close(self) -> None:
        """Delete the stream of this run with all its topics."""
        home = self._access.home
        if home is not None and not self._options.passing and not self._delete(home[0]):
            self._left.append(home[1])

    def make_shared_again(self) -> None:
        """Have the stream of this run created again; one that outlived the restart is deleted."""
        home, self._access.home = self._access.home, None
        if home is not None:
            self._delete(home[0])

    def _delete(self, stream: int) -> bool:
        """Delete a stream with all its topics; return True if the server confirms it."""
        server = self._server(Transcript())
        is_deleted = False
        with contextlib.suppress(ArrangementFailed, TargetUnreachable):
            answer = server.delete(numeric(stream))
            is_deleted = observe(answer, framed=True).value == "ok"
        server.close(leave=True)
        return is_deleted

    def _server(self, transcript: Transcript) -> ApacheServer:
        return ApacheServer(self._access, transcript=transcript, patience=self.patience)

    def _time_ping(self, seconds: float) -> float:
        return time_ping(self._address, seconds)


def time_ping(address: Address, seconds: float) -> float:
    """Connect and ping; return the seconds this took.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the target does not answer the ping.
    """
    started = time.monotonic()
    with _connect(address, seconds) as connection:
        state = connection.goes_on()
    # One that is refused is an answer, too: whether pings need a login is a question of a case.
    if state not in ("open", "broken"):
        raise TargetSilent(f"{name_of(address)} does not answer a ping of 256 bytes ({state})")
    return time.monotonic() - started


def open_apache_session(target: Target, options: SessionOptions) -> ApacheSession:
    """Open a session with a server of generation apache, which must let the kit in.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the server does not answer, refuses the login, or speaks a protocol number
            that the kit does not know.
        UsageFault: the user named topics, or gave no usable credentials.
    """
    if options.topics:
        raise UsageFault("--topic cannot be used with an Iggy server; leave it out")
    address = (target.host, target.port)
    seconds = time_ping(address, GREETING_SECONDS)
    credentials = credentials_from(target.auth_env)
    access = enter(address, credentials, Identifiers(options.run_token))
    session = ApacheSession(target, options, access, seconds)
    if not access.envelope.verified:
        _refuse_unless_served(access)
    return session


def enter(address: Address, credentials: Credentials, identifiers: Identifiers) -> Access:
    """Log in under the kit's own protocol number, or under the server's if it names another.

    Raises:
        TargetSilent: see `open_apache_session`.
    """
    envelope, name, why = OWN, name_of(address), ""
    for _ in range(2):
        with _connect(address, GREETING_SECONDS) as connection:
            answer = login.log_in(connection, credentials, envelope)
        entered = login.read_entered(envelope, answer)
        if entered is not None:
            version = entered.fields.server_protocol_version
            known = login.find_envelope(version, name)
            return Access(address, credentials, known, identifiers, entered.fields)
        why = _why_not_entered(answer, credentials)
        window = login.window_of(answer)
        if window is None:
            break
        envelope = login.find_envelope(window[1], name)
    if not envelope.verified:
        raise _not_served(name, envelope.version)
    raise TargetSilent(f"{name} {why}")


def _why_not_entered(answer: Answer, credentials: Credentials) -> str:
    if isinstance(answer, Replied) and answer.is_accepted:
        return (
            f"accepts the login with a reply of {len(answer.body)} bytes, in which this kit "
            "does not find the user id, the session, and the server's protocol version and version"
        )
    seen = observe(answer, framed=True).value
    if not isinstance(answer, Replied | Evicted):
        return f"answers the login with {seen}, so that it may not be a server of Apache Iggy"
    return (
        f"answers the login of {credentials.name!r} with {seen}; name the environment variable "
        "that holds NAME:PASSWORD with --auth-env"
    )


def _refuse_unless_served(access: Access) -> None:
    """Refuse a server of a number whose shapes nobody has recorded, if it serves no message."""
    limit = patience.make_fixed(GREETING_SECONDS)
    server = ApacheServer(access, transcript=Transcript(), patience=limit)
    try:
        topic = server.new_topic()
        is_served = len(server.sent_and_polled(topic, batches.message()).frames) == 1
        # What stands last in a login may be of any length: without a word in it, a login that has
        # one field less would be read with the empty rest left over.
        body = login.login_body(access.credentials, access.envelope, context="wireproof")
        connection = server.connect(enter=False)
        answer = login.ask_login(connection, access.envelope, body, access.credentials.name)
        is_served &= login.read_entered(access.envelope, answer) is not None
    except ArrangementFailed:
        is_served = False
    finally:
        server.close()
    if not is_served:
        raise _not_served(name_of(access.address), access.entered.server_protocol_version)


def _not_served(server: str, version: int) -> TargetSilent:
    return TargetSilent(
        f"{server} speaks protocol {login.name_version(version)} of Apache Iggy, which this kit "
        "cannot judge: it knows its messages from a description, not from a server"
    )


def _connect(address: Address, seconds: float) -> Connection:
    return Connection(
        connect_socket(address),
        transcript=Transcript(),
        patience=Patience(answer=seconds, push=seconds, redelivery=seconds),
        address=address,
    )
