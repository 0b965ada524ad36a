"""The fork server: a process that has imported a reference broker and forks one per request.

``python -m wireproof_kit.processes.fork_server PROTOCOL [SETUP]`` has a socket as its stdin. Each
message on it carries one end of a new connection, for one client. A request is a message of JSON
on such a connection: ``start`` holds the broker's options and carries its stdout, and is answered
with its process id; ``poll`` holds a process id and is answered with its exit code, or null. When
a connection ends, so do its brokers. The end of stdin ends everything. SETUP names a function,
``module:name``, that each broker calls with the ``setup`` of its request before it serves.

A fork takes milliseconds where a start takes most of a second, nearly all of it imports.
"""

import gc
import json
import os
import pkgutil
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import NoReturn, cast

from wireproof_kit.protocols import resolve, server

MOST_BYTES = 1 << 18
# Objects of a broker live long or are freed by reference count, so a garbage collection finds
# next to nothing and touches every page that is shared with the parent.
COLLECT_EVERY = 50_000

Serve = Callable[[list[str]], int]
Setup = Callable[[object, list[str]], None]
Request = Mapping[str, object]


class ForkServer:
    """Forks brokers on request; it knows the running brokers of each of its clients."""

    def __init__(self, serve: Serve, setup: Setup | None, control: socket.socket) -> None:
        self._serve = serve
        self._setup = setup
        self._control = control
        self._clients: dict[socket.socket, dict[int, int | None]] = {}
        # Every broker's stdin: it ends with this process, however that comes to its end.
        self._input, self._life = os.pipe()

    def run(self) -> None:
        """Serve requests until the control socket is closed."""
        while True:
            for ready in select.select([self._control, *self._clients], [], [])[0]:
                if ready is not self._control:
                    self._hear(ready)
                elif not self._admit():
                    for client in list(self._clients):
                        self._drop(client)
                    return

    def _admit(self) -> bool:
        """Accept a new connection; return False at the end of the control socket."""
        _, files, _, _ = socket.recv_fds(self._control, 1, 1)
        if files:
            self._clients[socket.socket(fileno=files[0])] = {}
        return bool(files)

    def _hear(self, client: socket.socket) -> None:
        try:
            message, files, _, _ = socket.recv_fds(client, MOST_BYTES, 1)
        except ConnectionResetError:
            message, files = b"", []
        if not message:
            self._drop(client)
            return
        request = json.loads(message)
        brokers = self._clients[client]
        if request["do"] == "start":
            pid = self._fork(request, files[0])
            brokers[pid] = None
            answer: int | None = pid
            os.close(files[0])
        else:
            answer = _exit_code(request["pid"], brokers)
        with suppress(BrokenPipeError):  # the next look at the client drops it
            client.send(json.dumps({"of": request["of"], "answer": answer}).encode())

    def _drop(self, client: socket.socket) -> None:
        """Kill the brokers of a client that has disconnected."""
        brokers = self._clients.pop(client)
        running = [pid for pid in brokers if _exit_code(pid, brokers) is None]
        for pid in running:
            os.kill(pid, signal.SIGKILL)
        for pid in running:
            os.waitpid(pid, 0)
        client.close()

    def _fork(self, request: Request, out: int) -> int:
        pid = os.fork()
        if not pid:
            self._be_broker(request, out)
        return pid

    def _be_broker(self, request: Request, out: int) -> NoReturn:
        code = 1
        try:
            os.close(self._life)
            for client in (self._control, *self._clients):
                client.close()
            os.dup2(self._input, 0)
            os.dup2(out, 1)
            os.close(out)
            if request["mute"]:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            options = cast(list[str], request["options"])
            if self._setup is not None:
                self._setup(request["setup"], options)
            code = self._serve(options)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        finally:
            with suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)


def _exit_code(pid: int, brokers: dict[int, int | None]) -> int | None:
    """Return the exit code of a broker, negative for a signal; None while it runs."""
    if brokers[pid] is None:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            brokers[pid] = os.waitstatus_to_exitcode(status)
    return brokers[pid]


def _import_all(package: str) -> None:
    """Import all modules of a package, so that the forked brokers share their memory."""
    for found in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        if not found.name.endswith(".__main__"):
            import_module(found.name)


def main(protocol: str, setup: str = "") -> None:
    """Run the fork server of a protocol's reference until the end of standard input."""
    serve = server(protocol)
    if package := serve.__module__.rpartition(".")[0]:
        _import_all(package)
    prepare = cast(Setup, resolve(setup)) if setup else None
    gc.collect()
    gc.freeze()  # memory that the collector never touches stays shared with the brokers
    gc.set_threshold(COLLECT_EVERY)
    ForkServer(serve, prepare, socket.socket(fileno=os.dup(0))).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
