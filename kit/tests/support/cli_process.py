"""The command line as a process."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cli_forks import run_forked


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def refused(self) -> str:
        """Return the one sentence with which a command refused to work."""
        assert self.code == 2, (self.code, self.out, self.err)
        assert "Traceback" not in self.out + self.err
        told = self.err.strip().splitlines()
        lines = [line for line in told if not line.startswith("waiting ")]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("wireproof: "), self.err
        return lines[0].removeprefix("wireproof: ")


def wireproof(*arguments: str, cwd: Path | None = None, **variables: str) -> Done:
    environment = {**clean_environment(), **variables}
    return Done(*run_forked(arguments, cwd, environment))


def clean_environment() -> dict[str, str]:
    hidden = ("WIREPROOF_", "PYTEST_", "NO_COLOR", "COLUMNS", "HYPOTHESIS_STORAGE_DIRECTORY")
    return {name: value for name, value in os.environ.items() if not name.startswith(hidden)}


def python(
    code: str, *arguments: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=False,
    )
