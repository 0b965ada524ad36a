"""The embedded reference: an example broker in its own process, reached by its URL."""

import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Protocol, cast

from wireproof_kit.drivers.processor import HELPERS
from wireproof_kit.errors import TargetUnreachable
from wireproof_kit.processes.watch import STARTS
from wireproof_kit.protocols import kit_part
from wireproof_kit.targets.interpreter import module_command
from wireproof_kit.targets.scratch import scratch
from wireproof_kit.wire.waiting import Deadline
from wireproof_spec.protocol import Group, entry_point, package_of
from wireproof_spec.wording import show_value

READY_WITHIN_S = 20.0
WIDTH = 60
END_WITHIN_S = 5.0
MEMORY = "/dev/shm"
LEAST_FREE_BYTES = 1 << 28
LIFE = ("--json", "--until-input-ends")
"""Options of every reference: report in JSON when it is ready, and exit when stdin ends."""


class BrokerProcess(Protocol):
    """The interface of a running reference, like `subprocess.Popen`, whether started or forked."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended and return the exit code."""
        ...

    def terminate(self) -> None:
        """Send SIGTERM to the process."""
        ...

    def kill(self) -> None:
        """Kill the process."""
        ...


@dataclass(slots=True)
class EmbeddedReference:
    """A running reference server; ``url`` addresses it like any other target."""

    url: str
    process: BrokerProcess
    folder: tempfile.TemporaryDirectory[str]

    def close(self) -> None:
        """End the reference's process and remove its data."""
        self.end()
        self.folder.cleanup()

    def end(self) -> None:
        """End the reference's process and keep its data."""
        HELPERS.discard(self.process.pid)
        if self.process.stdin:
            self.process.stdin.close()
        self.process.terminate()
        try:
            self.process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_WITHIN_S)
        if self.process.stdout:
            self.process.stdout.close()


def start_reference(
    protocol: str,
    options: Sequence[str] = (),
    *,
    start: Callable[[Sequence[str]], BrokerProcess] | None = None,
    parent: str | None = None,
) -> EmbeddedReference:
    """Start the reference of a protocol on free loopback ports and wait until it is ready.

    ``start`` starts a process with the options of a reference, by default a new interpreter. The
    data are in a new folder in ``parent``, by default in a memory file system.

    Raises:
        TargetUnreachable: the process ended, or did not report in time that it is ready.
    """
    folder = scratch(parent or memory_folder())
    arguments = reference_arguments(protocol, folder.name, options)
    process = start(arguments) if start else start_child(protocol, arguments)
    return await_ready(protocol, process, folder)


def await_ready(
    protocol: str, process: BrokerProcess, folder: tempfile.TemporaryDirectory[str]
) -> EmbeddedReference:
    """Wait until a reference is ready; ``folder`` holds its data and is deleted with it.

    Raises:
        TargetUnreachable: the process ended, or did not report in time that it is ready.
    """
    HELPERS.add(process.pid)
    try:
        ready = _read_ready(first_line(process, protocol))
    except TargetUnreachable as error:
        EmbeddedReference("", process, folder).close()
        package = package_of(Group.SERVERS, protocol)
        whose = f"of the package {package} " if package else ""
        raise TargetUnreachable(
            f"the embedded {protocol} reference {whose}did not start: {error}"
        ) from error
    return EmbeddedReference(reference_url(protocol, ready), process, folder)


def _read_ready(line: bytes) -> Mapping[str, str | list[str] | None]:
    try:
        ready: object = json.loads(line)
    except ValueError:
        ready = None
    if isinstance(ready, dict):
        return cast(Mapping[str, str | list[str] | None], ready)
    found = show_value(line.strip(), width=WIDTH)
    raise TargetUnreachable(
        f"expected a JSON object with its addresses as the first line of its output, found {found}"
    )


def start_child(
    protocol: str, arguments: Sequence[str], *, mute: bool = False
) -> subprocess.Popen[bytes]:
    """Start a reference that exits when this process exits, for whatever reason.

    Its own module is run: what `wireproof serve` does around it takes a fifth of the start. It
    runs in its own session, since Ctrl-C goes to every process of a terminal's session: a
    reference in the kit's own would end before the kit does, and three of five interrupted runs
    reported that as the broker's death.
    """
    module = entry_point(Group.SERVERS, protocol).module
    with STARTS:
        process = subprocess.Popen(
            module_command(module, *LIFE, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if mute else None,
            start_new_session=True,
        )
        HELPERS.add(process.pid)
    return process


def memory_folder() -> str | None:
    """Return a folder in memory (tmpfs); None without one, or when it is nearly full.

    A reference's data are temporary, and thousands of small files on a disk cost more than all its
    other work.
    """
    if not os.access(MEMORY, os.W_OK | os.X_OK):
        return None
    return MEMORY if shutil.disk_usage(MEMORY).free >= LEAST_FREE_BYTES else None


def reference_arguments(protocol: str, folder: str, options: Sequence[str]) -> list[str]:
    """Return the options of a reference that offers every capability, plus the given ones.

    The data folder is passed only to a reference that reports where its data are, and nothing that
    the reference does not offer with one of the given options.
    """
    known = kit_part(protocol)
    data = ("--data", folder) if "data" in known.keys else ()
    usual = (*known.reference, *data)
    pairs = zip(usual[::2], usual[1::2], strict=True)
    unfit = {name for option in options for name in known.unfit.get(option, ())}
    return [*(each for pair in pairs if pair[0] not in unfit for each in pair), *options]


def reference_url(protocol: str, ready: Mapping[str, str | list[str] | None]) -> str:
    """Return the URL of a reference from its ready message; null entries are left out.

    If the URL is not of the form `protocol://HOST:PORT`, the message contains it.
    """
    keys = kit_part(protocol).keys
    told = ((key, ready.get(said)) for key, said in keys.items())
    query = "&".join(f"{key}={_join_value(value)}" for key, value in told if value is not None)
    url = ready["url"] if "url" in ready else f"{protocol}://{ready['tcp']}"
    return f"{url}?{query}" if query else f"{url}"


def _join_value(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def first_line(process: BrokerProcess, protocol: str) -> bytes:
    """Return the next line that a reference writes to stdout.

    Raises:
        TargetUnreachable: the reference wrote no line in time, or ended.
    """
    stream = process.stdout
    if stream is None:
        raise TargetUnreachable("its output is not connected")
    deadline = Deadline(READY_WITHIN_S)
    line = b""
    while not line.endswith(b"\n"):
        if not (left := deadline.left()):
            raise TargetUnreachable(f"no ready line within {READY_WITHIN_S:g} s")
        if not select.select([stream], [], [], left)[0]:
            continue
        chunk = os.read(stream.fileno(), 65536)
        if not chunk:
            raise TargetUnreachable(
                f"`wireproof serve {protocol}` ended before it was ready; where standard error "
                "does not say why, that command with the same options does"
            )
        line += chunk
    return line
