"""The fork server of example clients: a client for each launcher that asks.

``python -m wireproof_kit.processes.client_forks PROTOCOL PATH`` listens at PATH, a Unix socket.
`client_launcher` is the program that the kit starts in a client's place: it hands its standard
streams over, and waits for the exit code. A case starts a client in milliseconds so; a new
interpreter would import for most of a second.
"""

import gc
import io
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import NoReturn, Self

from wireproof_kit.drivers.processor import join_session
from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.processes import client_launcher
from wireproof_kit.targets.interpreter import module_command
from wireproof_kit.targets.target import ON_CLIENTS
from wireproof_spec.protocol import Group, entry_point

MOST_BYTES = 1 << 16
READY = b"ready\n"
STREAMS = 3
END_WITHIN_S = 10.0
Main = Callable[[list[str]], int]


class ClientForkServer:
    """A process that has imported the example client of a protocol and forks clients quickly."""

    def __init__(self, protocol: str, folder: str) -> None:
        """Start the process; its socket is created in the folder.

        Raises:
            TargetUnreachable: the process does not start.
        """
        self._protocol = protocol
        self._path = Path(folder) / "clients"
        module = "wireproof_kit.processes.client_forks"
        self._process = subprocess.Popen(
            module_command(module, protocol, str(self._path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != READY:
            self.close()
            raise TargetUnreachable("the process that forks example clients did not start")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reference(
        self, options: Sequence[str] = (), *, parent: str | None = None
    ) -> Generator[str, None, None]:
        """Yield a target URL whose command starts an example client with these options."""
        words = (sys.executable, "-I", "-S", client_launcher.__file__, str(self._path), *options)
        yield f"{self._protocol}{ON_CLIENTS}:{' '.join(words)}"

    def close(self) -> None:
        """End the server and all clients that still run."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Forks:
    """The programs that a fork server has forked, each with its launcher's connection."""

    def __init__(self, run: Main, listener: socket.socket) -> None:
        self._run = run
        self._listener = listener
        self._launchers: dict[int, tuple[socket.socket, int, int]] = {}
        """By file number: a connection, its client's process, and the file that shows its end."""

    def serve(self) -> None:
        """Fork a program for each launcher that connects, until standard input ends."""
        while True:
            ends = [end for _, _, end in self._launchers.values()]
            watched = [0, self._listener.fileno(), *self._launchers, *ends]
            ready, _, _ = select.select(watched, [], [])
            if 0 in ready:
                return
            for number in tuple(self._launchers):
                _, _, end = self._launchers[number]
                if number in ready or end in ready:
                    self._end(number)
            if self._listener.fileno() in ready:
                self._admit()

    def close(self) -> None:
        """Kill the programs that still run."""
        for number in tuple(self._launchers):
            self._end(number)

    def _admit(self) -> None:
        launcher, _ = self._listener.accept()
        message, files, _, _ = socket.recv_fds(launcher, MOST_BYTES, STREAMS)
        if len(files) == STREAMS:
            pid = os.fork()
            if not pid:
                self._be_client(launcher, message, files)
            self._launchers[launcher.fileno()] = (launcher, pid, os.pidfd_open(pid))
        else:
            launcher.close()
        for file in files:
            os.close(file)

    def _be_client(self, launcher: socket.socket, message: bytes, files: list[int]) -> NoReturn:
        code = 1
        try:
            launcher.close()
            self._listener.close()
            for other, _, end in self._launchers.values():
                other.close()
                os.close(end)
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            code = self._run([each for each in message.decode().split("\0") if each])
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except Exception:
            traceback.print_exc()
        finally:
            with suppress(OSError, ValueError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)

    def _end(self, number: int) -> None:
        """Tell the launcher of the client's end, or end the client whose launcher is gone."""
        launcher, pid, end = self._launchers.pop(number)
        if not select.select([end], [], [], 0)[0]:
            os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(end)
        with suppress(OSError):
            launcher.send(str(code).encode())
        launcher.close()


def main(protocol: str, path: str) -> None:
    """Run the fork server of an example client on the socket ``path``, until stdin ends."""
    run: Main = entry_point(Group.CLIENTS, protocol).load()
    with redirect_stdout(io.StringIO()):
        run(["--list-faults"])  # imports all, so that the forks share it

    def run_measured(words: list[str]) -> int:
        launchers_session, *options = words
        join_session(int(launchers_session))
        return run(options)

    serve_forks(run_measured, path)


def serve_forks(run: Main, path: str) -> None:
    """Fork ``run`` for each launcher that connects to ``path``, until standard input ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(path)
        listener.listen(socket.SOMAXCONN)
        gc.collect()
        gc.freeze()  # memory that the collector never touches stays shared
        forks = Forks(run, listener)
        try:
            sys.stdout.buffer.write(READY)
            sys.stdout.buffer.flush()
            forks.serve()
        finally:
            forks.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
