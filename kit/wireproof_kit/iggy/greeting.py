"""The first round trips with a target: they show its generation and whether it answers."""

import time
from dataclasses import dataclass

from wireproof_kit.errors import TargetSilent
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Answer, Done, ErrorStatus, Nonsense, Silent
from wireproof_kit.iggy.wire.connection import Connection, connect_socket
from wireproof_kit.iggy.wire.login import Credentials, Login, log_in
from wireproof_kit.runner.patience import ANSWER, Patience
from wireproof_kit.wire.http import Address
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

    A server that answers without a login is a published one.

    Raises:
        TargetUnreachable: the target accepts no connection.
        TargetSilent: it does not answer, or does not let the kit in.
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
        TargetSilent: it does not answer as a server would.
    """
    started = time.monotonic()
    with _connection(address, GREETING_SECONDS if seconds is None else seconds) as connection:
        answer = connection.ask(requests.ping())
    if isinstance(answer, Done | ErrorStatus) or _has_head(answer):
        return time.monotonic() - started
    name = _name(address)
    if isinstance(answer, Silent):
        raise TargetSilent(f"{name} accepts connections but leaves a ping without an answer")
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
