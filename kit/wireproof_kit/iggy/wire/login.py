"""The login of every connection in a session: none, or a name and a password.

The password is sent by one function, which keeps it out of the transcript.
"""

import os
import threading
from dataclasses import dataclass, field

from wireproof_kit.errors import UsageFault
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Answer
from wireproof_kit.iggy.wire.connection import Connection
from wireproof_kit.iggy.wire.http import HttpClient
from wireproof_kit.runner.patience import Wait
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.users import LoginUser
from wireproof_spec.step_notes import LOGIN

DEFAULT_NAME = DEFAULT_PASSWORD = "iggy"
"""The name and password of the first user of every tagged server."""
TOKEN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """The user name and password for a login."""

    name: str = DEFAULT_NAME
    password: str = field(default=DEFAULT_PASSWORD, repr=False)


@dataclass(slots=True)
class Login:
    """Logs in over TCP and HTTP where the server requires it."""

    credentials: Credentials = Credentials()
    is_required: bool = False
    _tokens: dict[Address, str] = field(default_factory=dict[Address, str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, connection: Connection, wait: Wait) -> Answer | None:
        """Log in if the server requires it; return the response, or None without a login."""
        if not self.is_required:
            return None
        return log_in(connection, self.credentials, wait)

    def token(self, address: Address) -> str:
        """Return the token for HTTP requests to an address; empty when the server issues none."""
        if not self.is_required:
            return ""
        with self._lock:
            if address not in self._tokens:
                self._tokens[address] = _token(address, self.credentials)
            return self._tokens[address]


def log_in(connection: Connection, credentials: Credentials, wait: Wait) -> Answer:
    """Log in on a connection; the transcript does not contain the credentials."""
    log_in_with(connection, credentials)
    return connection.receive(wait)


def log_in_with(connection: Connection, credentials: Credentials) -> None:
    """Send a login request without waiting for its response."""
    payload = LoginUser(credentials.name, credentials.password, "", "")
    connection.send_unrecorded(
        requests.request(commands.LOGIN_USER, payload, "tagged"),
        f"{LOGIN}{credentials.name}",
    )


def credentials_from(variable: str | None) -> Credentials:
    """Return the NAME:PASSWORD in an environment variable; without a variable, the defaults.

    Raises:
        UsageFault: the variable is not set, or holds no colon.
    """
    if variable is None:
        return Credentials()
    name, colon, password = os.environ.get(variable, "").partition(":")
    if not name or not colon:
        raise UsageFault(
            f"--auth-env {variable}: expected the environment variable to hold NAME:PASSWORD"
        )
    return Credentials(name, password)


def _token(address: Address, credentials: Credentials) -> str:
    client = HttpClient(address, transcript=Transcript(), seconds=TOKEN_SECONDS)
    body = {"username": credentials.name, "password": credentials.password}
    answer = client.post("/users/login", body)
    value = answer.json.value if answer.json is not None else None
    inner = value.get("access_token") if isinstance(value, dict) else None
    token = inner.get("token") if isinstance(inner, dict) else inner
    return token if isinstance(token, str) else ""
