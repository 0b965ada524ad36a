"""The login: a name and a password under a protocol number, and what the server answers.

A login goes out unrecorded, so that no transcript has a password.
"""

from dataclasses import dataclass
from typing import Final, Literal

from wireproof_kit.errors import TargetSilent
from wireproof_kit.iggy.apache import requests
from wireproof_kit.iggy.apache.answers import Answer, Evicted, Replied
from wireproof_kit.iggy.apache.connection import Connection
from wireproof_kit.iggy.apache.observe import observe
from wireproof_kit.iggy.wire.login import Credentials
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH, Wait
from wireproof_kit.version import KIT_VERSION
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.envelope import Envelope, LoggedIn, unpack_version
from wireproof_spec.iggy.apache.envelopes import ENVELOPES
from wireproof_spec.iggy.apache.evictions import INCOMPATIBLE_PROTOCOL
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.step_notes import LOGIN
from wireproof_spec.wire_error import WireError

SDK_NAME: Final = "wireproof"
SDK_VERSION: Final = KIT_VERSION
_SECTION: Final = bytes(4)

Place = Literal["bare", "result-section"]
"""Where the login's own fields stand in the body of its reply."""


@dataclass(frozen=True, slots=True)
class Entered:
    """What a server answered to a login."""

    fields: LoggedIn
    place: Place


def login_body(
    credentials: Credentials,
    envelope: Envelope,
    *,
    version: int | None = None,
    sdk_name: str = SDK_NAME,
    sdk_version: str = SDK_VERSION,
    context: str = "",
) -> bytes:
    """Return the body of a login; ``version`` is the packed protocol version."""
    body = envelope.make_login(
        protocol_version=envelope.version if version is None else version,
        sdk_name=sdk_name,
        sdk_version=sdk_version,
        username=credentials.name,
        password=credentials.password,
        context=context,
    )
    return encode(envelope.login, body)


def login_header(connection: Connection) -> RequestHeader:
    """Return the header of a login, which has neither a session nor a number."""
    return RequestHeader(client=connection.client, operation=operations.REGISTER)


def ask_login(
    connection: Connection,
    envelope: Envelope,
    body: bytes,
    user: str,
    wait: Wait = PUSH,
    *,
    client: int | None = None,
) -> Answer:
    """Send a login with any body on a connection, and return the answer.

    The session of an accepted login becomes that of the connection.
    """
    if client is not None:
        connection.client = client
    outgoing = requests.frame(login_header(connection), body)
    connection.send_unrecorded(outgoing, f"{LOGIN}{user}")
    answer = connection.receive(wait)
    entered = read_entered(envelope, answer)
    if entered is not None:
        connection.session = entered.fields.session
    return answer


def log_in(connection: Connection, credentials: Credentials, envelope: Envelope) -> Answer:
    """Log in on a connection, and return the answer."""
    body = login_body(credentials, envelope)
    return ask_login(connection, envelope, body, credentials.name)


def read_entered(envelope: Envelope, answer: Answer) -> Entered | None:
    """Return what an accepted login was answered, wherever it stands; None for other answers."""
    if not isinstance(answer, Replied) or not answer.is_accepted:
        return None
    bodies: tuple[tuple[Place, bytes], ...] = (("bare", answer.body),)
    if answer.body.startswith(_SECTION):
        bodies = (("result-section", answer.body[len(_SECTION) :]), *bodies)
    for place, body in bodies:
        try:
            return Entered(decode(envelope.login_reply, body), place)
        except WireError:
            continue
    return None


def observe_login(envelope: Envelope, answer: Answer) -> Observation:
    """Return the observation of the answer to a login; a rejection stands in a result section."""
    is_entered = read_entered(envelope, answer) is not None
    return observed("ok").on(answer) if is_entered else observe(answer, framed=True)


def name_version(version: int) -> str:
    """Return a packed protocol version as text."""
    return ".".join(map(str, unpack_version(version)))


def find_envelope(version: int, server: str) -> Envelope:
    """Return the shapes of the number that a server speaks.

    Raises:
        TargetSilent: the kit does not know the number.
    """
    major, minor, _ = unpack_version(version)
    envelope = ENVELOPES.get(f"{major}.{minor}")
    if envelope is None:
        raise TargetSilent(
            f"{server} speaks protocol {name_version(version)} of Apache Iggy, and this kit knows "
            f"{', '.join(ENVELOPES)}; use a kit that knows it"
        )
    return envelope


def window_of(answer: Answer) -> tuple[int, int] | None:
    """Return the lowest and the highest version that a server accepts, if an answer has them."""
    if not isinstance(answer, Evicted) or answer.header.reason != INCOMPATIBLE_PROTOCOL:
        return None
    header = answer.header
    return header.server_protocol_version_min, header.server_protocol_version
