"""Finds the Allure of this machine: version 3 (npm, Node) or 2 (npm or its own, Java)."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ANSWER_S = 60
HOW_TO_GET_IT = (
    "install Allure 3 with `npm install --global allure` (it needs Node), or Allure 2 with "
    "`npm install --global allure-commandline` (it needs Java); --html makes a page without either"
)


class NoAllure(Exception):
    """Raised if no working Allure was found; ``str()`` says how to get one."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A working installation of Allure: its command and its version."""

    command: str
    version: str

    @property
    def major(self) -> int:
        """The major version of Allure, 2 or 3; the two have different commands."""
        return int(self.version.partition(".")[0])


def find_generator(environment: Mapping[str, str]) -> Generator:
    """Return the first working installation of Allure.

    It is searched in ``$ALLURE_HOME/bin``, then on the PATH. The network is not used. What lies in
    ``node_modules`` of the current folder may be a stranger's, and is not run.

    Raises:
        NoAllure: no working Allure was found.
    """
    silent = ""
    for command in _places(environment):
        version, said = _version(command, environment)
        if version.startswith(("2.", "3.")):
            return Generator(command, version)
        silent = silent or f"{command} does not work ({said}); "
    raise NoAllure(f"{silent or 'no Allure was found; '}{HOW_TO_GET_IT}")


def _places(environment: Mapping[str, str]) -> Iterator[str]:
    home = environment.get("ALLURE_HOME")
    path = [str(Path(home) / "bin")] if home else []
    for part in (*path, environment.get("PATH", "")):
        found = shutil.which("allure", path=part) if part else None
        if found:
            yield found


def _version(command: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the version, or an empty text and the output instead."""
    try:
        done = ask([command, "--version"], environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines()]
    versions = [line for line in lines if re.fullmatch(r"\d+\.\d+\.\d+\S*", line)]
    if done.returncode == 0 and versions:
        return versions[0], ""
    return "", next((line for line in lines if line), f"exit code {done.returncode}")


def ask(
    command: Sequence[str], environment: Mapping[str, str], *, seconds: float = ANSWER_S
) -> subprocess.CompletedProcess[str]:
    """Run Allure with analytics switched off, and return the completed process.

    Raises:
        OSError: Allure cannot be started.
        subprocess.TimeoutExpired: it does not end in time.
    """
    quiet = {**os.environ, **environment, "ALLURE_NO_ANALYTICS": "true", "NO_COLOR": "1"}
    return subprocess.run(
        command,
        env=quiet,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )
