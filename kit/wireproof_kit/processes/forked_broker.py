"""Access to brokers of a fork server, for the process that started it and its forks."""

import itertools
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import IO, Self

from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.processes.fork_server import MOST_BYTES
from wireproof_kit.targets.embedded import LIFE, start_reference
from wireproof_kit.targets.interpreter import module_command

END_WITHIN_S = 10.0
POLL_S = 0.005
GONE = "the process that forks reference brokers has ended"


class BrokerForkServer:
    """A process that has imported the reference of a protocol and forks a broker per request.

    ``setup`` names a function, ``module:name``, that each broker calls before it serves. Its
    arguments are the ``setup`` given to `BrokerClient.start`, and the broker's options, which it
    may change.
    """

    def __init__(
        self, protocol: str, *, setup: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        self._protocol = protocol
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        module = "wireproof_kit.processes.fork_server"
        with theirs:
            self._process = subprocess.Popen(
                module_command(module, protocol, setup),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,  # as a reference that is started: Ctrl-C is not for it
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> "BrokerClient":
        """Return a new connection to the fork server; each process needs its own.

        Raises:
            TargetUnreachable: the server has ended.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                socket.send_fds(self._control, [b"c"], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise TargetUnreachable(GONE) from error
        return BrokerClient(ours)

    @contextmanager
    def reference(
        self, options: Sequence[str] = (), *, parent: str | None = None
    ) -> Generator[str, None, None]:
        """Start a reference with these options and yield its URL; its data are in ``parent``.

        Raises:
            TargetUnreachable: the reference did not report in time that it is ready.
        """
        with self.connect() as client:
            running = start_reference(self._protocol, options, start=client.start, parent=parent)
            with closing(running):
                yield running.url

    def close(self) -> None:
        """End the server and all brokers that still run."""
        self._control.shutdown(socket.SHUT_RDWR)  # forks of this process may hold it open
        self._control.close()
        try:
            self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class BrokerClient:
    """One connection to a fork server; the brokers started on it end when it is closed."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the server kills the brokers that were started on it."""
        self._connection.close()

    def start(
        self, options: Sequence[str], *, mute: bool = False, setup: object = None
    ) -> "ForkedBroker":
        """Fork a broker with these options; ``mute`` discards its stderr.

        Raises:
            TargetUnreachable: the server has ended.
        """
        reader, writer = os.pipe()
        stdout = os.fdopen(reader, "rb", buffering=0)
        request = {"do": "start", "options": [*LIFE, *options], "mute": mute, "setup": setup}
        try:
            pid = self._ask(request, writer)
        except TargetUnreachable:
            stdout.close()
            raise
        finally:
            os.close(writer)
        assert pid is not None, "a start is answered with a process id"
        return ForkedBroker(self, pid, stdout)

    def exit_code(self, pid: int) -> int | None:
        """Return the exit code of a broker of this connection; None while it runs.

        Raises:
            TargetUnreachable: the server has ended.
        """
        return self._ask({"do": "poll", "pid": pid})

    def _ask(self, request: Mapping[str, object], *files: int) -> int | None:
        with self._lock:
            number = next(self._numbers)
            message = json.dumps({**request, "of": number}).encode()
            try:
                socket.send_fds(self._connection, [message], files)
                answer = self._connection.recv(MOST_BYTES)
            except OSError as error:
                raise TargetUnreachable(GONE) from error
        if not answer:
            raise TargetUnreachable(GONE)
        said: dict[str, int | None] = json.loads(answer)
        return said["answer"]


class ForkedBroker:
    """A forked broker with the interface of `subprocess.Popen`.

    The server collects its exit code only when asked to, so its process id is not reused before.
    """

    stdin: IO[bytes] | None = None

    def __init__(self, client: BrokerClient, pid: int, stdout: IO[bytes]) -> None:
        self._client = client
        self.pid = pid
        self.stdout: IO[bytes] | None = stdout
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the broker's exit code, negative for a signal; None while it runs."""
        if self._code is None:
            self._code = self._client.exit_code(self.pid)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the broker has ended, and return its exit code.

        Raises:
            subprocess.TimeoutExpired: the broker still runs.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked broker", timeout or 0.0)
            time.sleep(POLL_S)
        return code

    def terminate(self) -> None:
        """Send SIGTERM to the broker."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the broker."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)
