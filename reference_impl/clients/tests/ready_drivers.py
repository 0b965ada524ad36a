"""The ready-made drivers of `examples/clients/`: how each is built, and its command."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "clients"
BUILT = ROOT / "out" / "clients"


class CannotFetch(Exception):
    """What a driver is built from is not there and cannot be fetched."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver; `compiler` is empty if Python alone is needed."""

    build: Callable[[], str]
    compiler: str = ""


def run(folder: Path, *words: str, **environment: str) -> None:
    """Run one step of a build.

    Raises:
        CannotFetch: the step failed; its last line says why.
    """
    done = subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotFetch(done.stderr.strip().rpartition("\n")[2] or f"{words} failed")


def python(name: str, *options: str) -> Driver:
    """Return a driver of a package that is installed beside the kit."""
    words = [sys.executable, str(EXAMPLES / "python" / f"{name}_driver.py"), *options]
    return Driver(lambda: shlex.join(words))


def go(name: str) -> Driver:
    """Return a driver that Go builds."""

    def build() -> str:
        program, own = BUILT / name, {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
        run(EXAMPLES / "go", "go", "build", "-o", str(program), f"./{name}", **own)
        return shlex.quote(str(program))

    return Driver(build, "Go")


def tokio_nsq() -> str:
    """Build the driver of tokio-nsq; its crates are kept, for the first build takes minutes."""
    target = BUILT / "rust"
    folder = EXAMPLES / "rust" / "tokio_nsq"
    run(folder, "cargo", "build", "--locked", CARGO_TARGET_DIR=str(target))
    return shlex.quote(str(target / "debug" / "wireproof-driver-tokio-nsq"))


def nsqjs() -> str:
    """Install nsqjs beside a copy of its driver."""
    folder = BUILT / "nsqjs"
    shutil.copytree(EXAMPLES / "javascript", folder, dirs_exist_ok=True)
    if not (folder / "node_modules" / "nsqjs").is_dir():
        run(folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    return shlex.join(["node", str(folder / "nsqjs_driver.js")])


DRIVERS: Mapping[str, Driver] = {
    "youzan": go("youzan"),
    "nsqio": go("nsqio"),
    "pynsq": python("pynsq"),
    "gnsq": python("gnsq"),
    # With lookup servers ansq finds nothing: docs/peers/nsq-clients.md.
    "ansq": python("ansq", "--nsqd"),
    "nsqjs": Driver(nsqjs, "Node.js"),
    "tokio_nsq": Driver(tokio_nsq, "Rust"),
}
