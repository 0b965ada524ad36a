"""The kit's side of the fork server: a broker that looks like the process the kit would start."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

HERE = Path(__file__).resolve().parent
LIFE = "--until-input-ends"
"""What no forked broker is told: it has no input of its own, and ends with its server."""


@dataclass
class ForkServer:
    """One fork server; ``memory``, ``mutant`` and ``trace`` hold for the brokers it starts."""

    tree: Path
    process: "subprocess.Popen[str]"
    mutant: object = None
    trace: Path | None = None
    memory: bool = False
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @classmethod
    def begin(cls, tree: Path) -> "ForkServer":
        process = subprocess.Popen(
            [sys.executable, str(HERE / "fork_server.py"), str(tree)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(tree)},
            text=True,
        )
        return cls(tree, process)

    def ask(self, **request: object) -> int | None:
        """Return the answer to one request; answers nobody waited for are skipped."""
        number = f"{os.getpid()}-{next(self._numbers)}"
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({**request, "of": number}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            said = json.loads(line)
            if said["of"] == number:
                return said["answer"]  # type: ignore[no-any-return]
        raise RuntimeError("the fork server is gone")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class ForkedBroker:
    """Stands in for ``subprocess.Popen`` where the kit starts its embedded reference."""

    server: ForkServer
    stdin: IO[bytes] | None = None

    def __init__(self, command: Sequence[str], **_options: object) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="wireproof-mutation-")
        fifo = Path(self._folder.name) / "out"
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        pid = self.server.ask(
            do="start",
            argv=[word for word in command[command.index("-m") + 2 :] if word != LIFE],
            out=str(fifo),
            mutant=self.server.mutant,
            memory=self.server.memory,
            trace=str(self.server.trace) if self.server.trace else None,
        )
        assert pid is not None
        self.pid = pid
        os.set_blocking(reader, True)
        self.stdout: IO[bytes] = os.fdopen(reader, "rb")

    def poll(self) -> int | None:
        return self.server.ask(do="status", pid=self.pid)

    def wait(self, timeout: float | None = None) -> int:
        return 0

    def terminate(self) -> None:
        self.server.ask(do="stop", pid=self.pid)
        self._folder.cleanup()

    def kill(self) -> None:
        """Nothing is left to kill once it was told to end."""


def wait_until_dumped(path: Path, within_s: float = 5.0) -> dict[str, object]:
    """Return what a traced broker wrote down, and take the file away."""
    end = time.monotonic() + within_s
    while not path.exists():
        if time.monotonic() > end:
            raise TimeoutError(f"{path} was not written")
        time.sleep(0.002)
    found: dict[str, object] = json.loads(path.read_text())
    path.unlink()
    return found
