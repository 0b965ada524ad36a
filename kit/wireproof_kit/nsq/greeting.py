"""The first round trip with a target: it shows whether the target answers, and how."""

import time
from dataclasses import dataclass

from wireproof_kit.decoding.json_text import json_object
from wireproof_kit.errors import TargetSilent
from wireproof_kit.nsq.broker import connect_socket
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.services import text_of
from wireproof_kit.nsq.topics.topic import Address
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Nonsense, Response, Silent
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.login import FEATURES, Login
from wireproof_kit.runner.patience import PUSH, Patience
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript

HTTP_AS_SIZES = {str(int.from_bytes(each, "big")) for each in (b"HTTP", b"<!DO", b"<htm")}
"""What the first bytes of an answer in HTTP, or of a page without a head, are as a size."""
GREETING_SECONDS = 4.0
OPEN = Login()


@dataclass(frozen=True, slots=True)
class Greeting:
    """The response to IDENTIFY, and the seconds from connecting to that response."""

    data: bytes
    seconds: float


def greet(address: Address, *, seconds: float | None = None, login: Login = OPEN) -> Greeting:
    """Connect, send the magic and IDENTIFY, and return the response.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: the server does not answer with a response frame, or rejects the login.
    """
    seconds = GREETING_SECONDS if seconds is None else seconds
    started = time.monotonic()
    patience = Patience(answer=seconds, push=seconds, redelivery=seconds)
    sock = connect_socket(address)
    transcript = Transcript()
    with Connection(sock, transcript=transcript, patience=patience, address=address) as connection:
        connection.send(frames.magic())
        answer = login.enter(connection, {FEATURES: True}, PUSH)
    if isinstance(answer, Response):
        return Greeting(answer.data, time.monotonic() - started)
    name = f"nsq://{address[0]}:{address[1]}"
    if isinstance(answer, Silent):
        raise TargetSilent(f"{name} accepts connections but {answer.describe('IDENTIFY')}")
    if isinstance(answer, Nonsense) and answer.fault.found in HTTP_AS_SIZES:
        raise TargetSilent(
            f"{name} answers in HTTP: give the port of the TCP protocol, and this one as --http"
        )
    if isinstance(answer, Nonsense):
        raise TargetSilent(f"{name} does not speak NSQ: {answer.fault}")
    seen = observe(answer).describe()
    raise TargetSilent(f"{name} accepts connections but does not answer IDENTIFY (seen: {seen})")


def greet_target(target: Target, login: Login) -> Greeting:
    """Return the greeting of a target.

    Raises:
        TargetUnreachable: it accepts no connection.
        TargetSilent: it does not speak NSQ, rejects the login, or asks for a secret that is
            not given.
    """
    greeting = greet((target.host, target.port), login=login)
    if login.secret is None and json_object(greeting.data).get("auth_required") is True:
        place = text_of((target.host, target.port))
        raise TargetSilent(
            f"nsq://{place} asks for AUTH; name the environment variable "
            "that holds the secret with --auth-env"
        )
    return greeting
