"""Exit codes of plain pytest with the kit's plug-in: what was not judged is never green."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.targets.embedded import EmbeddedReference, start_reference

pytestmark = [pytest.mark.process, pytest.mark.long]

SUITES = "wireproof_suites.nsq"
PUBLISH = f"{SUITES}.publish"
"""A part of the suites, as good as the whole for what a session ends with and sooner collected."""
CASE = "nsq/publish/ok"
NO_EXT = "--claim=ext=no"


@pytest.fixture(scope="module")
def reference() -> Iterator[EmbeddedReference]:
    found = start_reference("nsq")
    yield found
    found.close()


def plain(
    reference: EmbeddedReference, *options: str, folder: Path, package: str = PUBLISH
) -> tuple[int, list[str]]:
    """Return the exit code of plain pytest, and its last lines."""
    target = f"--broker-url={reference.url}"
    done = pytest_in(folder, target, f"--bundle={os.devnull}", *options, package=package)
    return done.returncode, done.stdout.splitlines()[-3:]


def pytest_in(
    folder: Path, *options: str, package: str = PUBLISH
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        [*command, "--pyargs", package, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ((), "ERROR: the cases need a target: give --broker-url URL"),
        (("--broker-url=nsq://127.0.0.1:1",), "ERROR: cannot reach nsq://127.0.0.1:1"),
    ],
    ids=["none", "dead"],
)
def test_without_a_target_the_session_is_a_usage_error(
    target: tuple[str, ...], sentence: str, workers: tuple[str, ...], tmp_path: Path
) -> None:
    done = pytest_in(tmp_path, *target, *workers)

    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith(sentence)
    assert "failed" not in done.stdout


def test_an_origin_that_no_must_has_is_a_usage_error(
    reference: EmbeddedReference, tmp_path: Path
) -> None:
    done = pytest_in(tmp_path, f"--broker-url={reference.url}", "--origin=text,law")

    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "--origin 'text,law': expected text, base, premise" in done.stderr


def test_judged_cases_are_good(reference: EmbeddedReference, tmp_path: Path) -> None:
    code, lines = plain(reference, f"--wireproof-select={CASE}", folder=tmp_path)

    assert code == pytest.ExitCode.OK, lines
    assert "passed" in lines[-1]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_breach_that_a_case_of_another_clause_shows_fails_the_session(
    workers: tuple[str, ...], tmp_path: Path
) -> None:
    chosen = ("nsq/consume/attempts-first/header", "nsq/dispatch/put-back")
    faulty = start_reference("nsq", ("--fault", "attempts-with-indicator-again"))
    try:
        done = pytest_in(
            tmp_path,
            *(f"--broker-url={faulty.url}", f"--bundle={tmp_path / 'b.jsonl'}", *workers),
            *(f"--wireproof-select={case}" for case in chosen),
            f"{SUITES}.dispatch",
            package=f"{SUITES}.consume",
        )
    finally:
        faulty.close()

    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    way = "nsq/passing/ext.consume.attempts/again"
    assert f"FAIL {way} (must ext.consume.attempts): " in done.stdout
    assert "2 passed" in done.stdout.splitlines()[-1]
    (broken,) = (each for each in read_bundle(tmp_path / "b.jsonl").ways if each.broken)
    assert (broken.result.case, broken.counted) == (way, True)


OWN = """
def test_our_own(broker, ext_topic):
    assert broker.publish(ext_topic, b"body", {"k": "v"}).data == b"OK"

def test_no_target_is_needed():
    pass
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_tests_of_ones_own_may_use_the_fixtures_without_any_case(
    reference: EmbeddedReference, workers: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "test_own.py").write_text(OWN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own.py"]
    done = subprocess.run(
        [*command, f"--broker-url={reference.url}", *workers],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr
    assert "2 passed" in done.stdout.splitlines()[-1]


def test_cases_that_were_all_left_out_are_not(
    reference: EmbeddedReference, tmp_path: Path
) -> None:
    code, lines = plain(reference, NO_EXT, "--wireproof-select=ext.publish", folder=tmp_path)

    assert code == pytest.ExitCode.NO_TESTS_COLLECTED, lines
    assert "wireproof: ext.publish NOT JUDGED" in lines[-2]
    assert "skipped" in lines[-1]


def test_nor_is_a_group_that_was_left_out_beside_another(
    reference: EmbeddedReference, tmp_path: Path
) -> None:
    both = (
        "--wireproof-select=ext.publish",
        "--wireproof-select=smart.connection.unknown-command",
    )
    code, lines = plain(reference, NO_EXT, *both, f"{SUITES}.connection", folder=tmp_path)

    assert code == pytest.ExitCode.TESTS_FAILED, lines
    assert "ext.publish NOT JUDGED" in lines[-2]
    assert "passed" in lines[-1]
    assert "failed" not in lines[-1]
