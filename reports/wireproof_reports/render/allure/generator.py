"""Which Allure is on this machine: the third (npm, Node) or the second (npm or its own, Java)."""

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
    """No Allure that works was found; ``str()`` says how to get one."""


@dataclass(frozen=True, slots=True)
class Generator:
    """An Allure that answered: its command and its version."""

    command: str
    version: str

    @property
    def major(self) -> int:
        """2 or 3: the two have different commands."""
        return int(self.version.partition(".")[0])


def find_generator(environment: Mapping[str, str], folder: Path) -> Generator:
    """Return the first Allure that answers: the user's, the project's, the machine's.

    Looked for, in this order: ``$ALLURE_HOME/bin``, ``node_modules/.bin`` here, the PATH. The
    network is not asked.

    Raises:
        NoAllure: none was found, or none of those found works.
    """
    silent = ""
    for command in _places(environment, folder):
        version, said = _version(command, environment)
        if version.startswith(("2.", "3.")):
            return Generator(command, version)
        silent = silent or f"{command} does not work ({said}); "
    raise NoAllure(f"{silent or 'no Allure was found; '}{HOW_TO_GET_IT}")


def _places(environment: Mapping[str, str], folder: Path) -> Iterator[str]:
    home = environment.get("ALLURE_HOME")
    path = [str(Path(home) / "bin")] if home else []
    path += [str(folder / "node_modules" / ".bin"), environment.get("PATH", "")]
    for part in path:
        found = shutil.which("allure", path=part) if part else None
        if found:
            yield found


def _version(command: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the version, or nothing and what was said instead."""
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
    """Run Allure without its call home, and return what it said.

    Raises:
        OSError: it cannot be started.
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
