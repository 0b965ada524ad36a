"""Real Iggy clients, judged through the drivers in `examples/clients`: nothing else fails."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wireproof_kit.bundle.file import read_bundle

pytestmark = [pytest.mark.process]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "clients"
PANICS = {
    f"iggy/client-hostile/body/{name}"
    for name in ("first-cut", "headers-length-beyond", "headers-length-largest", "header-cut")
}
"""What is wrong with the crate; docs/peers/iggy-clients.md explains each."""


@pytest.fixture(scope="module")
def crate_driver(iggy_crate_program: Path) -> Path:
    """The driver of crate iggy, built beside the program that needs the same crates."""
    folder = iggy_crate_program.parents[1]
    built = subprocess.run(
        ["cargo", "build", "--locked", "--offline"],
        cwd=EXAMPLES / "rust" / "iggy",
        env={**os.environ, "CARGO_TARGET_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder / "debug" / "iggy_crate_driver"


def failures(command: str, bundle: Path) -> set[str]:
    """Judge a client, and return the cases that fail."""
    words = [sys.executable, "-m", "wireproof", "client", "--protocol", "iggy", "--exec", command]
    done = subprocess.run(
        [*words, "--profile", "may", "-n", "2", "--bundle", str(bundle)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert bundle.exists(), done.stderr
    cases = read_bundle(bundle).cases
    assert sum(case.verdict == "pass" for case in cases) > len(PANICS), done.stdout
    return {case.case for case in cases if case.verdict == "fail"}


def test_iggy_py_fails_nothing(tmp_path: Path) -> None:
    driver = EXAMPLES / "python" / "iggy_py_driver.py"
    assert failures(f"{sys.executable} {driver}", tmp_path / "run.jsonl") == set()


def test_crate_iggy_fails_where_it_panics(crate_driver: Path, tmp_path: Path) -> None:
    assert failures(str(crate_driver), tmp_path / "run.jsonl") == PANICS
