"""Commands in forks of a process that has imported the kit and collected the cases.

`wireproof run` in a new interpreter takes two seconds of processor time, nearly all of it imports
and collection; in a fork it takes what the run takes. Each process that runs tests has one such
process. As a program this module is that process: ``python cli_forks.py SOCKET``.
"""

import atexit
import functools
import json
import os
import pkgutil
import resource
import socket
import subprocess
import sys
import tempfile
from array import array
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from wireproof_kit.processes.client_forks import READY, serve_forks

CODE_BYTES = 16


def run_forked(
    arguments: tuple[str, ...],
    folder: Path | None,
    environment: Mapping[str, str],
    memory_bytes: int = 0,
) -> tuple[int, str, str]:
    """Run a command in a fork; return its exit code and what it wrote to stdout and stderr.

    ``memory_bytes`` limits the address space of the command, unless it is 0.
    """
    request = {
        "folder": str(folder or Path.cwd()),
        "environment": dict(environment),
        "memory_bytes": memory_bytes,
    }
    message = json.dumps({**request, "arguments": arguments}).encode()
    with (
        open(os.devnull, "rb") as nothing,
        tempfile.TemporaryFile("w+b") as out,
        tempfile.TemporaryFile("w+b") as err,
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server,
    ):
        server.connect(_server_path())
        files = array("i", [each.fileno() for each in (nothing, out, err)])
        server.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        code = int(server.recv(CODE_BYTES))
        for file in (out, err):
            file.seek(0)
        return code, out.read().decode(), err.read().decode()


@functools.cache
def _server_path() -> str:
    """Start the process that forks, and return the path of its socket."""
    folder = tempfile.TemporaryDirectory(prefix="wireproof-forks-")
    path = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, __file__, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    assert stdout.readline() == READY
    stdout.close()

    def end() -> None:
        stdin.close()
        process.wait()
        folder.cleanup()

    atexit.register(end)
    return path


def _run(words: list[str]) -> int:
    from wireproof.main import main

    request = json.loads(words[0])
    os.chdir(request["folder"])
    if most := request["memory_bytes"]:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["wireproof", *request["arguments"]]
    return main()


def _import_and_collect() -> None:
    from wireproof_kit.protocols import known_protocols
    from wireproof_kit.runner.collect import collect

    commands = import_module("wireproof.commands")
    for found in pkgutil.walk_packages(commands.__path__, f"{commands.__name__}."):
        import_module(found.name)
    collect()
    for protocol in known_protocols():
        collect(protocol)


if __name__ == "__main__":
    _import_and_collect()
    serve_forks(_run, sys.argv[1])
