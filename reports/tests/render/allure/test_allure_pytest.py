"""Plain pytest with allure-pytest, in processes of its own, against the embedded reference."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from wireproof_reports.render.allure.case_result import CASE_LABEL, PAGE
from wireproof_reports.render.allure.folder import write

pytestmark = [pytest.mark.process, pytest.mark.long]

SELECTED = "nsq/publish/ok"
TIMED = {"uuid", "start", "stop"}
OWN = """
import allure
from hypothesis import HealthCheck, given, settings, strategies as st

# On a busy machine an example may take longer than Hypothesis allows.
SLOW = settings(
    max_examples=60,
    database=None,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_plain():
    allure.attach("kept", "kept")


@SLOW
@given(st.integers())
def test_one_example_is_wrong(n):
    with allure.step(f"step {n}"):
        allure.attach(str(n), "in the step")
    allure.attach(str(n), "in the test")
    assert n < 1000


@SLOW
@given(st.integers())
def test_every_example_is_right(n):
    with allure.step(f"step {n}"):
        allure.attach(str(n), "in the step")
"""

Json = dict[str, object]


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_own.py").write_text(OWN)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "WIREP"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--pyargs", "wireproof_suites.nsq", "test_own.py", "--broker-url", "reference"]
    command += ["--wireproof-select", SELECTED, "--alluredir", "results", *options]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def read(folder: Path) -> dict[str, Json]:
    found = [json.loads(path.read_text("utf-8")) for path in folder.glob("*-result.json")]
    return {cast(str, result["fullName"]): result for result in found}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    done = run(folder, "--bundle", "b.jsonl", "--seed", "7")
    assert done.returncode == 1, done.stdout + done.stderr
    return folder


def without_times(value: object) -> object:
    """Leave out what differs by when it was run and which process wrote it, and what is empty."""
    if isinstance(value, dict):
        kept = {
            key: without_times(item)
            for key, item in value.items()
            if key not in TIMED and item not in (None, [], {}, "", False) and key != "source"
        }
        return {key: item for key, item in kept.items() if item != {}}
    if isinstance(value, list):
        return [
            without_times(v)
            for v in value
            if not (isinstance(v, dict) and v.get("name") == "thread")
        ]
    return value


def test_a_case_is_told_as_its_bundle_tells_it(ran: Path) -> None:
    write(ran / "b.jsonl", ran / "rendered")
    rendered = read(ran / "rendered")
    told = {name: result for name, result in read(ran / "results").items() if name in rendered}

    assert len(told) == len(rendered) > 3
    for name, result in rendered.items():
        assert without_times(told[name]) == without_times(result), name


def test_cases_have_their_own_times(ran: Path) -> None:
    starts = {str(result["start"]) for result in read(ran / "results").values()}

    assert len(starts) > 1
    assert all(
        cast(int, r["stop"]) >= cast(int, r["start"]) for r in read(ran / "results").values()
    )


def test_attachments_lie_beside_the_results(ran: Path) -> None:
    for result in read(ran / "results").values():
        for attached in cast(list[dict[str, str]], result.get("attachments", [])):
            assert (ran / "results" / attached["source"]).stat().st_size


def test_only_the_owner_may_read_what_holds_an_exchange(ran: Path) -> None:
    for file in (ran / "results").glob("*-result.json"):
        result = json.loads(file.read_text("utf-8"))
        if result["fullName"].startswith("nsq/"):
            names = [file.name, *(each["source"] for each in result["attachments"])]
            assert len(names) > 1
            assert {(ran / "results" / name).stat().st_mode & 0o077 for name in names} == {0}


def test_of_hypothesis_only_the_last_failing_example_is_attached(ran: Path) -> None:
    results = read(ran / "results")
    wrong = results["test_own#test_one_example_is_wrong"]
    (step,) = cast(list[Json], wrong["steps"])
    (attached,) = cast(list[dict[str, str]], wrong["attachments"])

    assert step["name"] == "step 1000"
    assert (ran / "results" / attached["source"]).read_text() == "1000"
    right = results["test_own#test_every_example_is_right"]
    assert not right.get("steps")
    others = [
        path for path in (ran / "results").glob("*-attachment*") if "wireproof" not in path.name
    ]
    assert len(others) == 3


def test_no_result_names_the_machine(ran: Path) -> None:
    for path in (ran / "results").glob("*.json"):
        labels = json.loads(path.read_text("utf-8"))
        names = [item["name"] for item in labels.get("labels", [])] if "labels" in labels else []
        assert "host" not in names
        assert f'"{socket.gethostname()}"' not in path.read_text("utf-8")


def test_the_run_as_a_whole_is_told(ran: Path) -> None:
    environment = (ran / "results" / "environment.properties").read_text("ascii")

    assert "target=reference" in environment
    assert "statement=ext.publish (part)" in environment
    assert json.loads((ran / "results" / "categories.json").read_text("utf-8"))
    assert 'id="clause-ext.publish.ok-response"' in (ran / "results" / PAGE).read_text("utf-8")


def test_workers_write_the_same_without_a_bundle(ran: Path, tmp_path: Path) -> None:
    done = run(tmp_path, "-n", "1", "--seed", "7")
    assert done.returncode == 1, done.stdout + done.stderr
    names = {name for name in read(ran / "results") if name.startswith("nsq/")}

    assert {name for name in read(tmp_path / "results") if name.startswith("nsq/")} == names
    page = (tmp_path / "results" / PAGE).read_text("utf-8")
    assert 'id="clause-ext.publish.ok-response"' in page
    assert "--bundle" not in page.partition('id="repeat"')[2]


def test_without_alluredir_nothing_of_allure_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import sys\n\n\ndef test_it():\n"
        "    assert 'wireproof_reports.render.allure.joined' not in sys.modules\n"
        "    assert 'jinja2' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_own.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_without_the_kits_plug_in_nothing_is_joined(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_it():\n    pass\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:wireproof",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, "--alluredir", "results", "test_own.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert read(tmp_path / "results")["test_own#test_it"]["status"] == "passed"


def test_the_label_by_which_a_case_is_found_again(ran: Path) -> None:
    for name, result in read(ran / "results").items():
        labels = cast(list[dict[str, str]], result["labels"])
        found = [item["value"] for item in labels if item["name"] == CASE_LABEL]
        assert found == ([name] if name.startswith("nsq/") else [])
