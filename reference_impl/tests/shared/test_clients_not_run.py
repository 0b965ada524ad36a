"""Scenarios of real clients that cannot run are named, and nothing run is no success."""

import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import clean_environment

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[3]
SCENARIOS = "reference_impl/clients/tests"


def scenarios(path: Path, *selected: str) -> subprocess.CompletedProcess[str]:
    """Run scenarios where the PATH holds nothing but what a folder does."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", SCENARIOS, *selected],
        cwd=ROOT,
        env={**clean_environment(), "PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_without_go_names_it_and_is_not_green(tmp_path: Path) -> None:
    done = scenarios(tmp_path, "-k", "test_go_nsq and batches")
    line = "not run: go-nsq scenarios (Go was not found and could not be installed: "
    assert sum(each.startswith(line) for each in done.stdout.splitlines()) == 1, done.stdout
    assert "passed" not in done.stdout
    assert done.returncode == 5


def test_modules_that_cannot_be_fetched_are_named(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text(
        "#!/bin/sh\n"
        '[ "$1" = version ] && echo go version go1.26.8 linux/amd64 && exit 0\n'
        "echo no route to host >&2\nexit 1\n"
    )
    go.chmod(0o755)
    done = scenarios(tmp_path, "-k", "test_go_nsq and batches")
    line = "not run: go-nsq scenarios (its modules could not be fetched: no route to host)"
    assert done.stdout.splitlines().count(line) == 1, done.stdout
    assert done.returncode == 5
