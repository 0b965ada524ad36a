"""The files for CI: their form, and their shell steps run against the embedded reference.

Everything runs as in the container file: from a wheel, in an environment of its own.
"""

import fcntl
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from xml.etree import ElementTree as etree

import pytest
import yaml
from cli_process import clean_environment
from ports import find_free_port

from wireproof.commands.setup.init import Answers, make_files

ROOT = Path(__file__).resolve().parents[3]
CONTAINER = ROOT / "examples" / "ci" / "Containerfile"
ACTION_FILE = ROOT / "examples" / "ci" / "action.yml"
FILES = ROOT / "kit" / "wireproof" / "commands" / "setup" / "ci"
"""What `wireproof init` writes for a CI."""
SOURCES = ("spec", "kit", "reference_impl", "suites", "reports", "share")
SELECTION = "nsq/publish/trace"
ACTION = re.compile(r"[\w.-]+/[\w./-]+@v\d+")
WRITTEN = {
    "run.jsonl",
    "junit.xml",
    "report.html",
    "allure",
    "badge.svg",
    "badge.json",
    "statement.md",
    "statement.html",
}

Json = dict[str, object]

pytestmark = [pytest.mark.process, pytest.mark.long]


@dataclass(frozen=True)
class Instruction:
    word: str
    rest: str


def github() -> Json:
    document: Json = yaml.safe_load((FILES / "github-actions.yml").read_text("utf-8"))
    return document


def gitlab() -> Json:
    document: dict[str, Json] = yaml.safe_load((FILES / "gitlab-ci.yml").read_text("utf-8"))
    return document["conformance"]


def container() -> list[Instruction]:
    text = CONTAINER.read_text("utf-8")
    lines = re.sub(r"\\\n\s*", " ", text).splitlines()
    kept = [line for line in lines if line.strip() and not line.startswith("#")]
    return [Instruction(*cast(tuple[str, str], line.split(None, 1))) for line in kept]


def job() -> Json:
    return cast(dict[str, Json], github()["jobs"])["conformance"]


def steps() -> list[dict[str, str]]:
    return cast(list[dict[str, str]], job()["steps"])


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml", "conformance.sh"])
def test_a_job_names_its_configuration(name: str) -> None:
    text = (FILES / name).read_text("utf-8").replace("\\\n", " ")
    judged = [
        each for each in re.split(r"\n\s*\n|\n(?=\s*wireproof )", text) if "wireproof run" in each
    ]

    assert judged
    assert all("--config wireproof.toml" in each for each in judged)


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the container file makes: a wheel, installed where nothing else of ours is.

    It is made once, however many processes run the tests.
    """
    base = tmp_path_factory.getbasetemp()
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "container"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "made").exists():
            make(place)
            (place / "made").touch()
    return place / "env" / "bin"


def make(place: Path) -> None:
    """Do what the container file's own instructions say, in a folder."""
    source = place / "src"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, source / name)
    for name in SOURCES:
        ignored = shutil.ignore_patterns("tests", "__pycache__")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    subprocess.run([sys.executable, "-m", "venv", str(place / "env")], check=True)
    places = {"/src": source, "/wheels": place / "wheels", "/out": place / "out"}
    for instruction in container():
        if instruction.word == "RUN":
            command = instruction.rest
            for name, path in places.items():
                command = command.replace(name, str(path))
            done = shell(command, source, {}, place / "env" / "bin")
            assert done.returncode == 0, done.stdout


def shell(
    script: str, folder: Path, environment: Mapping[str, str], binaries: Path
) -> subprocess.CompletedProcess[str]:
    """Run a step as CI does: a shell that stops at the first command that fails."""
    own = {**clean_environment(), "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environment}
    own["PATH"] = f"{binaries}:{os.environ['PATH']}"
    own.pop("PYTHONPATH", None)
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The examples' variables, with ports that are free and a part of the cases."""
    tcp, http = find_free_port(), find_free_port()
    answers = Answers(f"nsq://127.0.0.1:{tcp}?http=127.0.0.1:{http}", "must", "none")
    for name, text in make_files(answers).items():
        (tmp_path / name).write_text(text, "utf-8")
    yield {
        "BROKER": f"127.0.0.1:{tcp}",
        "BROKER_HTTP": f"127.0.0.1:{http}",
        "BROKER_URL": f"nsq://127.0.0.1:{tcp}?http=127.0.0.1:{http}",
        "SELECTION": SELECTION,
        "PROFILE": "must",
        "WIREPROOF": "wireproof",  # installed already, from the wheel
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    pid = tmp_path / "broker.pid"
    if pid.exists():
        end(int(pid.read_text()))


def end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return


def test_a_workflow_has_the_form_that_github_asks_for() -> None:
    document = cast(dict[object, object], github())

    assert document["name"] == "conformance"
    events = cast(dict[str, object], document[True])  # YAML 1.1 reads the key `on` so
    assert set(events) <= {"push", "pull_request", "schedule", "workflow_dispatch"}
    assert events
    assert job()["runs-on"]
    for step in steps():
        assert set(step) <= {"name", "if", "uses", "with", "run"}, step
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert ACTION.fullmatch(step["uses"])
        if "if" in step:
            assert re.fullmatch(r"\$\{\{ .+ \}\}", step["if"])
        assert "${{" not in step.get("run", ""), "no expression may become part of a script"


def test_a_job_has_the_form_that_gitlab_asks_for() -> None:
    found = gitlab()

    known = {"stage", "image", "timeout", "variables", "cache", "artifacts"}
    assert set(found) == known | {"before_script", "script", "after_script"}
    for name in ("before_script", "script", "after_script"):
        assert all(isinstance(line, str) for line in cast(list[object], found[name])), name
    assert cast(dict[str, object], found["artifacts"])["reports"] == {"junit": "out/junit.xml"}
    variables = cast(dict[str, object], found["variables"])
    assert all(isinstance(value, str) for value in variables.values())


def test_both_ask_for_the_same() -> None:
    assert cast(dict[str, str], gitlab()["variables"]) == job()["env"]


def test_the_container_file_has_only_known_instructions() -> None:
    words = [instruction.word for instruction in container()]

    assert words[0] == "FROM"
    assert set(words) <= {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENTRYPOINT", "CMD"}
    assert words.count("ENTRYPOINT") == words.count("CMD") == 1


@pytest.mark.parametrize("protocol", ["nsq", "iggy"])
def test_the_wheel_has_the_dissector(protocol: str, binaries: Path) -> None:
    found = binaries.parent.glob(f"lib/*/site-packages/**/wireproof-{protocol}.lua")
    assert len(list(found)) == 1


def test_what_the_container_runs_by_itself_judges_the_references(
    binaries: Path, tmp_path: Path
) -> None:
    last = {i.word: i.rest for i in container() if i.word in ("ENTRYPOINT", "CMD")}
    words = [*yaml.safe_load(last["ENTRYPOINT"]), *yaml.safe_load(last["CMD"])]
    done = shell(shlex.join([*words, SELECTION]), tmp_path, {}, binaries)

    assert done.returncode == 0, done.stdout
    assert "NO FAILURE up to level must" in done.stdout
    assert (tmp_path / "report.html").exists()


def run_github(
    folder: Path, environment: Mapping[str, str], binaries: Path, *, without: str = ""
) -> dict[str, int]:
    """Run the workflow's own steps as GitHub would, and return how each ended."""
    codes: dict[str, int] = {}
    for step in steps():
        if "run" not in step or step["name"] == without:
            continue
        if any(codes.values()) and "always()" not in step.get("if", ""):
            continue
        codes[step["name"]] = shell(step["run"], folder, environment, binaries).returncode
    return codes


def test_the_steps_of_github_judge_keep_compare_and_fail_for_a_fault(
    binaries: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Two runs: a right broker and a faulty one; GitLab's job compares two of a right one."""
    codes = run_github(tmp_path, environment, binaries)
    assert set(codes.values()) == {0}, codes

    assert {path.name for path in (tmp_path / "out").iterdir()} - {".last-failed.json"} == WRITTEN
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.count("# Compatibility statement") == 1
    assert len(list(etree.parse(tmp_path / "out" / "junit.xml").iter("testcase"))) > 10

    serve = next(step for step in steps() if step.get("name") == "Start the broker")["run"]
    faulty = serve.replace("serve nsq", "serve nsq --fault trace-little-endian")
    assert shell(faulty, tmp_path, environment, binaries).returncode == 0
    codes = run_github(tmp_path, environment, binaries, without="Start the broker")

    assert codes["Judge"] == 1
    assert codes["What changed since the run before"] == 1
    assert codes["Reports"] == codes["Keep the bundle for the next run"] == 0
    failed = list(etree.parse(tmp_path / "out" / "junit.xml").iter("failure"))
    assert failed


def test_the_action_judges_writes_its_outputs_and_ends_as_the_verdict_does(
    binaries: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    action = cast(Json, yaml.safe_load(ACTION_FILE.read_text("utf-8")))
    inputs = cast(dict[str, dict[str, str]], action["inputs"])
    runs = cast(dict[str, list[dict[str, Json]]], action["runs"])["steps"]
    given = {"url": environment["BROKER_URL"], "install": "wireproof", "selection": SELECTION}
    given = {**{name: each.get("default", "") for name, each in inputs.items()}, **given}
    outputs = tmp_path / "outputs"

    def act() -> dict[str, int]:
        codes: dict[str, int] = {}
        for step in runs:
            script = cast(str, step["run"])
            assert "${{" not in script, "no expression may become part of a script"
            variables = {
                name: given[cast(str, value).split("inputs.")[1].split()[0]]
                for name, value in step["env"].items()
            }
            own = {**environment, **variables, "GITHUB_OUTPUT": str(outputs)}
            codes[cast(str, step["name"])] = shell(script, tmp_path, own, binaries).returncode
        return codes

    serve = next(step for step in steps() if step.get("name") == "Start the broker")["run"]
    faulty = serve.replace("serve nsq", "serve nsq --fault trace-little-endian")
    assert shell(faulty, tmp_path, environment, binaries).returncode == 0

    assert act() == {"Install": 0, "Judge": 1, "Reports": 0}

    assert outputs.read_text("utf-8") == "exit-code=1\nbundle=out/run.jsonl\n"
    summary = (tmp_path / "summary.md").read_text("utf-8")
    assert summary.count("# Compatibility statement") == 1
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written >= {"run.jsonl", "junit.xml", "report.html", "statement.md", "badge.svg"}


def gitlab_script(name: str) -> str:
    return "\n".join(cast(list[str], gitlab()[name]))


def run_gitlab(folder: Path, environment: Mapping[str, str], binaries: Path) -> int:
    """Run the job: GitLab joins before_script and script in one shell."""
    whole = "\n".join([gitlab_script("before_script"), gitlab_script("script")])
    done = shell(whole, folder, environment, binaries)
    shell(gitlab_script("after_script"), folder, environment, binaries)
    return done.returncode


def test_the_job_of_gitlab_judges_keeps_and_compares(
    binaries: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    assert run_gitlab(tmp_path, environment, binaries) == 0
    assert run_gitlab(tmp_path, environment, binaries) == 0

    assert {path.name for path in (tmp_path / "out").iterdir()} - {".last-failed.json"} == WRITTEN
    assert (tmp_path / "previous" / "run.jsonl").exists()


def test_the_job_of_gitlab_ends_as_the_verdict_does(
    binaries: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    nothing = {**environment, "SELECTION": "nsq/no-such-interface"}

    assert run_gitlab(tmp_path, nothing, binaries) != 0


def test_the_script_for_any_ci_judges_keeps_and_ends_as_the_verdict_does(
    binaries: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    answers = Answers(environment["BROKER_URL"], "must", "plain")
    script = make_files(answers)["conformance.sh"].replace(
        'SELECTION=""', f"SELECTION={SELECTION}"
    )
    faulty = script.replace("serve nsq", "serve nsq --fault trace-little-endian")

    assert shell(script, tmp_path, {}, binaries).returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} - {".last-failed.json"} == WRITTEN
    assert shell(faulty, tmp_path, {}, binaries).returncode == 1
