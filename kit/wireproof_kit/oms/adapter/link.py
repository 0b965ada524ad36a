"""The way to an adapter: a process that the kit starts, or an HTTP server."""

import contextlib
import itertools
import time
from typing import Final, Protocol

from wireproof_kit.drivers.child import split_command
from wireproof_kit.drivers.driver import ANSWER_WITHIN_S, START_WITHIN_S, Driver
from wireproof_kit.errors import TargetSilent, TargetUnreachable
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.address import Address
from wireproof_kit.wire.connection import accepts
from wireproof_kit.wire.http import ConnectionPool, request_bytes
from wireproof_spec.driver.lines import (
    CLOSE,
    OPEN,
    VERSION,
    Answer,
    Failure,
    Hello,
    LineFault,
    Members,
    Result,
    Unsupported,
    read_hello,
    read_line,
    request_line,
)
from wireproof_spec.strict_json import JsonValue

HELLO: Final = "hello"
HTTP_OK: Final = 200
KEEP: Final = (("Connection", "keep-alive"), ("Content-Type", "application/json"))
CLOSE_WITHIN_S: Final = 2.0


class NotAnswered(TargetUnreachable):
    """An HTTP server closed the connection, or sent something else, instead of an answer."""


class Link(Protocol):
    """A connection to an adapter; its methods are thread-safe."""

    name: str
    """The adapter's command or address, for error messages."""
    answer_within_s: float
    """Seconds that an answer may take, by what the adapter has shown so far."""

    @property
    def hello(self) -> Hello:
        """The adapter's greeting."""
        ...

    def request(self, op: str, fields: Members, *, within: float = ANSWER_WITHIN_S) -> Answer:
        """Send a request for an operation and return the answer.

        Raises:
            TargetUnreachable: the adapter has ended, or breaks the protocol.
            TargetSilent: the adapter does not answer in time.
        """
        ...

    def is_alive(self) -> bool:
        """Return True if the adapter runs and has not broken the protocol."""
        ...

    def describe_end(self) -> str:
        """Return how the adapter has ended, with its last words; empty while it runs."""
        ...

    def close(self) -> None:
        """Ask the adapter to close; end it if the kit has started it."""
        ...


class ExecLink:
    """A connection to an adapter program that the kit has started."""

    def __init__(self, command: str) -> None:
        self.name = command
        self.answer_within_s = ANSWER_WITHIN_S
        self._driver = Driver.start(split_command(command), within=START_WITHIN_S)

    @property
    def hello(self) -> Hello:
        """The adapter's greeting."""
        return self._driver.hello

    def request(self, op: str, fields: Members, *, within: float = ANSWER_WITHIN_S) -> Answer:
        """Send a request for an operation and return the answer."""
        return self._driver.request(op, fields, within=within)

    def is_alive(self) -> bool:
        """Return True if the adapter's process runs and has not broken the protocol."""
        return self._driver.is_alive()

    def describe_end(self) -> str:
        """Return how the process has ended, and what it wrote last."""
        child = self._driver.child
        if child.exit_code() is None:
            return ""
        written = child.kept["stderr"].data().decode("utf-8", "replace")
        return f"{child.last_words()}\n{written}"

    def close(self) -> None:
        """Ask the adapter to close, then end its process and all processes that it started."""
        self._driver.close(within=CLOSE_WITHIN_S)


class HttpLink:
    """A connection to an adapter behind an HTTP server; each request uses a new connection."""

    def __init__(self, address: Address, *, name: str) -> None:
        self.name = name
        self.answer_within_s = ANSWER_WITHIN_S
        self._address = address
        self._pool = ConnectionPool(address)
        self._numbers = itertools.count(1)
        self._hello = self._greet()

    @property
    def hello(self) -> Hello:
        """The adapter's greeting."""
        return self._hello

    def request(self, op: str, fields: Members, *, within: float = ANSWER_WITHIN_S) -> Answer:
        """Send a request for an operation and return the answer."""
        number = next(self._numbers)
        body = request_line(number, op, fields).rstrip()
        data = request_bytes("POST", "/", self._address, headers=KEEP, body=body)
        got = self._pool.transfer(data, seconds=within, method="POST")
        if got.failure == "silence":
            found = f"; {len(got.received)} bytes came that complete none" if got.received else ""
            raise TargetSilent(f"{self.name}: no answer to {op} within {within:g} s{found}")
        if got.failure is not None:
            where = "; is an adapter running there?" if op == HELLO and not self.is_alive() else ""
            raise NotAnswered(f"{self.name}: no answer to {op} ({got.failure}){where}")
        if got.status != HTTP_OK:
            raise TargetUnreachable(
                f"{self.name}: expected status 200 as the answer to {op}, found {got.status}"
            )
        return self._read(number, op, got.body)

    def is_alive(self) -> bool:
        """Return True if the adapter's server accepts a connection now."""
        return accepts(self._address)

    def describe_end(self) -> str:
        """Return that the server accepts no connections, if so."""
        return "" if self.is_alive() else f"{self.name} accepts no connection"

    def close(self) -> None:
        """Ask the adapter to close; its HTTP server keeps running."""
        with contextlib.suppress(TargetUnreachable, TargetSilent):
            self.request(CLOSE, {}, within=CLOSE_WITHIN_S)
        self._pool.close()

    def _greet(self) -> Hello:
        started = time.monotonic()
        answer = self.request(HELLO, {})
        if not isinstance(answer, Result):
            raise TargetUnreachable(f"{self.name}: expected ok as the answer to hello")
        hello = self._read_hello(answer.fields)
        left = ANSWER_WITHIN_S - (time.monotonic() - started)
        opened = self.request(OPEN, {"version": VERSION, "settings": {}}, within=max(left, 1.0))
        if not isinstance(opened, Result):
            raise TargetUnreachable(f"{self.name}: expected ok as the answer to open")
        return hello

    def _read_hello(self, fields: dict[str, JsonValue]) -> Hello:
        try:
            hello = read_hello(fields)
        except LineFault as fault:
            raise TargetUnreachable(f"{self.name}: the answer to hello: {fault}") from None
        if VERSION not in hello.versions:
            spoken = ", ".join(map(str, hello.versions))
            raise TargetUnreachable(
                f"{self.name}: speaks versions {spoken} of the driver protocol; the kit speaks "
                f"{VERSION}"
            )
        return hello

    def _read(self, number: int, op: str, body: bytes) -> Answer:
        try:
            answer = read_line(body.rstrip())
        except LineFault as fault:
            raise TargetUnreachable(f"{self.name}: the answer to {op}: {fault}") from None
        if not isinstance(answer, Result | Failure | Unsupported) or answer.id != number:
            raise TargetUnreachable(
                f"{self.name}: expected an answer with id {number} to {op}, found {answer}"
            )
        return answer


def open_link(target: Target) -> Link:
    """Start the adapter in a target's command, or connect to the one at its address.

    Raises:
        UsageFault: the command cannot be started.
        TargetUnreachable: the adapter ends, breaks the protocol, or cannot be reached.
        TargetSilent: the adapter does not greet or answer in time.
    """
    if target.adapter is not None:
        return ExecLink(target.adapter)
    return HttpLink((target.host, target.port), name=target.url)
