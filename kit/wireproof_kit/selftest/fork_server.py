"""Reference brokers started quickly one after another: a process that copies itself."""

import json
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Self

from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.targets.embedded import (
    first_line,
    memory_folder,
    reference_arguments,
    reference_url,
)
from wireproof_kit.targets.scratch import scratch

END_WITHIN_S = 10.0


class Nursery:
    """Keeps one process from which brokers are born, one at a time.

    Their data lie in a folder of their own in ``folder``, by default where memory is one.
    """

    def __init__(self, protocol: str, *, folder: str | None = None) -> None:
        self._protocol = protocol
        self._folder = folder or memory_folder()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "wireproof.running.fork_broker", protocol],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def reference(self, options: Sequence[str]) -> Generator[str, None, None]:
        """Run a reference with these options and give its URL.

        Raises:
            TargetUnreachable: it did not say in time that it is ready.
        """
        with scratch(self._folder) as folder:
            arguments = reference_arguments(self._protocol, folder, options)
            self._say(json.dumps(["--json", *arguments]))
            try:
                ready = json.loads(first_line(self._process, self._protocol))
                yield reference_url(self._protocol, ready)
            except ValueError as error:
                raise TargetUnreachable(f"the reference said no JSON: {error}") from error
            finally:
                self._say("")
                first_line(self._process, self._protocol)

    def close(self) -> None:
        """End the process and the broker it may still run."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(END_WITHIN_S)
        if self._process.stdout:
            self._process.stdout.close()

    def _say(self, line: str) -> None:
        if self._process.stdin is None:
            raise TargetUnreachable("the reference cannot be told anything")
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise TargetUnreachable("the process that makes references has ended") from error
