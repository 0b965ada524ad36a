"""Running: the embedded reference judged through the command line, and every wrong call."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree as etree

import pytest
from cli_process import Done, clean_environment, wireproof
from waits import until

from wireproof.commands import run as run_module
from wireproof.main import main
from wireproof.options.config import Settings
from wireproof.options.target_choice import named_target
from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.errors import KitError

pytestmark = [pytest.mark.process, pytest.mark.long]

SMALL = "nsq/publish/ok"
COMMAND = (sys.executable, "-m", "wireproof")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    """One small run with everything written."""
    folder = tmp_path_factory.mktemp("run")
    done = wireproof(
        *("run", "--reference", SMALL, "--seed", "7", "--bundle", "b.jsonl"),
        *("--html", "r.html", "--junit", "r.xml", "--allure", "allure", "--badge", "r.svg"),
        cwd=folder,
    )
    return done, folder


def test_a_run_tells_its_cases_and_what_it_comes_to(ran: tuple[Done, Path]) -> None:
    done, folder = ran
    bundle = read_bundle(folder / "b.jsonl")

    assert done.code == 0, done.out + done.err
    assert done.err == ""
    assert bundle.footer is not None
    assert bundle.footer.exit == 0
    lines = done.out.splitlines()
    assert "seed 7" in lines[0]
    assert len(bundle.cases) > 3
    assert not any(line.startswith("PASS ") for line in lines)
    assert f"nsq/publish  {len(bundle.cases)} pass" in lines
    assert lines[-1].startswith("NO FAILURE up to level must")
    assert "seed 7" in lines[-1]


def test_a_run_writes_what_was_asked_for_and_nothing_else(ran: tuple[Done, Path]) -> None:
    _, folder = ran

    written = ["allure", "b.jsonl", "r.html", "r.json", "r.svg", "r.xml"]
    assert sorted(path.name for path in folder.iterdir()) == written


def test_the_times_of_a_run_in_junit_add_up_to_its_own(ran: tuple[Done, Path]) -> None:
    _, folder = ran
    footer = read_bundle(folder / "b.jsonl").footer
    root = etree.fromstring((folder / "r.xml").read_bytes())

    assert footer is not None
    assert footer.duration_us > 0
    times = [float(test.get("time", "")) for test in root.iter("testcase")]
    assert sum(times) == pytest.approx(footer.duration_us / 1e6, abs=len(times) * 1e-6)


def test_a_run_writes_the_badge_that_shields_io_reads(ran: tuple[Done, Path]) -> None:
    _, folder = ran
    badge = json.loads((folder / "r.json").read_text("utf-8"))

    assert set(badge) == {"schemaVersion", "label", "message", "color"}
    assert (folder / "r.svg").read_text("utf-8").startswith("<svg ")


def test_a_run_leaves_allure_results_of_every_case(ran: tuple[Done, Path]) -> None:
    _, folder = ran
    bundle = read_bundle(folder / "b.jsonl")
    found = [json.loads(p.read_text()) for p in (folder / "allure").glob("*-result.json")]

    assert sorted(item["fullName"] for item in found) == sorted(c.case for c in bundle.cases)
    assert "target=reference" in (folder / "allure" / "environment.properties").read_text()


def test_the_bundle_says_the_command_that_repeats_it(ran: tuple[Done, Path]) -> None:
    _, folder = ran

    header = read_bundle(folder / "b.jsonl").header
    assert header.command == f"wireproof run --reference {SMALL} --seed 7"


def test_events_end_with_the_verdict_and_the_bundle_has_a_name_of_its_own(tmp_path: Path) -> None:
    done = wireproof("run", "--reference", SMALL, "--json", "-q", cwd=tmp_path)

    events = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0
    assert (events[0]["event"], events[-1]["event"]) == ("header", "verdict")
    assert events[-1]["exit"] == 0
    (bundle,) = (tmp_path / "out").glob("run-*.jsonl")
    assert events[-1]["bundle"] == str(bundle.relative_to(tmp_path))
    assert len(done.err.splitlines()) == 1


def test_a_fault_of_the_reference_ends_with_1_and_can_be_replayed(tmp_path: Path) -> None:
    text = '[target]\nurl = "nsq://127.0.0.1:1"\n[run]\nprofile = "must"\n'
    (tmp_path / "wireproof.toml").write_text(text)

    with served(tmp_path, "--dialect", "deployed") as url:
        done = wireproof(
            *("run", url, SMALL, "--reading", "published", "--repeat-failed", "2", "-x"),
            *("--bundle", "b.jsonl"),
            cwd=tmp_path,
        )
        assert done.code in (0, 1), done.err
        bundle = read_bundle(tmp_path / "b.jsonl")
        replayed = wireproof("replay", bundle.cases[0].case, "--bundle", "b.jsonl", cwd=tmp_path)

    assert bundle.header.target.url == url
    assert replayed.code == 0, replayed.out + replayed.err
    assert replayed.out.splitlines()[-1] == "1 of 1 rounds as recorded"


class served:
    """The reference broker as a target of its own."""

    def __init__(self, folder: Path, *options: str, tcp: str = "127.0.0.1:0") -> None:
        addresses = ("--tcp", tcp, "--http", "127.0.0.1:0", "--data", str(folder / "d"))
        command = [sys.executable, "-m", "wireproof", "serve", "nsq", "--json"]
        self._process = subprocess.Popen(
            [*command, *addresses, *options],
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(),
        )

    def __enter__(self) -> str:
        assert self._process.stdout is not None
        ready = json.loads(self._process.stdout.readline())
        return f"nsq://{ready['tcp']}?http={ready['http']}"

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()


def test_a_target_of_ipv6_is_judged_and_replayed(tmp_path: Path) -> None:
    with served(tmp_path, tcp="[::1]:0") as whole:
        url = whole.partition("?")[0]  # where HTTP is, is then found from host and port
        case = "nsq/publish/trace/one"
        done = wireproof("run", url, case, "--bundle", "b.jsonl", cwd=tmp_path)
        replayed = wireproof("replay", case, "--bundle", "b.jsonl", cwd=tmp_path)

    assert url.startswith("nsq://[::1]:")
    assert done.code == 0, done.out + done.err
    assert replayed.code == 0, replayed.out + replayed.err


def test_a_reader_who_goes_away_does_not_end_the_run(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*COMMAND, "run", "--reference", SMALL, "--bundle", "b.jsonl"],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=clean_environment(),
            check=False,
        )
    finally:
        os.close(writer)

    bundle = read_bundle(tmp_path / "b.jsonl")
    assert (done.returncode, done.stderr) == (0, b"")
    assert bundle.footer is not None
    assert bundle.footer.exit == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_from_outside_closes_the_bundle(number: int, tmp_path: Path) -> None:
    out = tmp_path / "o.txt"
    with out.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "wireproof", "run", "--reference", "--bundle", "b.jsonl"],
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            env=clean_environment(),
        )
        bundle = tmp_path / "b.jsonl"

        def has_begun() -> bool:
            assert process.poll() is None, out.read_text()
            return bundle.exists() and bundle.read_bytes().count(b"\n") >= 5

        until(has_begun, "first cases in the bundle")
        process.send_signal(number)
        _, err = process.communicate()

    assert process.returncode == 130
    assert "finishing the case in progress" in err
    assert "Traceback" not in err
    read = read_bundle(bundle)
    assert read.footer is not None
    assert read.footer.exit == 130
    assert out.read_text().splitlines()[-1].startswith("INTERRUPTED")


def test_a_dead_port_is_one_sentence_with_the_next_step(dead_port: int, tmp_path: Path) -> None:
    url = f"nsq://127.0.0.1:{dead_port}"

    done = wireproof("run", url, cwd=tmp_path)

    assert done.refused() == (
        f"cannot reach {url} (connection refused). Is the broker running? "
        f"Try: wireproof doctor {url}"
    )
    assert done.out == ""
    assert not list(tmp_path.glob("out/run-*"))


@pytest.mark.parametrize("command", ["run", "fuzz"])
def test_a_device_for_a_bundle_is_not_removed(
    command: str, dead_port: int, tmp_path: Path
) -> None:
    device = tmp_path / "nothing"
    device.symlink_to(os.devnull)

    done = wireproof(
        command, f"nsq://127.0.0.1:{dead_port}", "--bundle", str(device), cwd=tmp_path
    )

    assert done.code == 2
    assert device.is_symlink()


def test_a_dead_port_is_an_event_too(dead_port: int, tmp_path: Path) -> None:
    done = wireproof("run", f"nsq://127.0.0.1:{dead_port}", "--json", cwd=tmp_path)

    event = json.loads(done.out)
    assert (done.code, event["event"], event["exit"]) == (2, "verdict", 2)
    assert event["fault"].startswith("cannot reach")


def test_the_name_of_another_protocol_is_told_apart_from_a_typo() -> None:
    done = wireproof("run", "nsq://127.0.0.1:1", "iggy")

    assert "'iggy' is of protocol iggy, the target of nsq" in done.refused()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ext.publsh"], "nearest: ext.publish"),
        (["nsq/none"], "selects no case"),
        ([SMALL, "--exclude", SMALL], "everything in it is excluded"),
        (["--exclude", "nsq/none"], "selects no case"),
        ([SMALL, "--claim", "magic=true"], "claim 'magic' is unknown"),
        ([SMALL, "--claim", "ext=perhaps"], "expected true, false or probe"),
        ([SMALL, "--topic", "ext"], "expected KIND=NAME"),
        ([SMALL, "-k", "a b"], "Wrong expression passed to '-k'"),
        ([SMALL, "-k", "nothing_is_called_so"], "-k 'nothing_is_called_so' selects no case"),
        ([SMALL, "--baseline", "none.toml"], "cannot be read"),
        ([SMALL, "--spec-rev", "0"], "--spec-rev"),
        ([SMALL, "--spec-rev", "1"], "revision 1 of the law of nsq was withdrawn"),
        ([SMALL, "--spec-rev", "1", "--dry-run"], "was withdrawn"),
        ([SMALL, "--origin", "text,law"], "found 'law'"),
        ([SMALL, "--origin", "", "--dry-run"], "--origin '': expected text, base, premise"),
        ([SMALL, "--spec-rev", "99"], "this kit knows nsq up to revision 3"),
        ([SMALL, "--spec-rev", "99", "--dry-run"], "this kit knows nsq up to revision 3"),
    ],
)
def test_what_only_the_run_can_know_gets_one_sentence_too(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    done = wireproof("run", "--reference", *arguments, cwd=tmp_path)

    assert sentence in done.refused()
    assert not list(tmp_path.glob("out/run-*"))


def test_settings_of_other_pytest_users_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (tmp_path / "conftest.py").write_text("raise SystemExit('not here')\n")

    done = wireproof(
        *("run", "--reference", SMALL, "-q"),
        cwd=tmp_path,
        PYTEST_ADDOPTS="--no-such-option",
        PYTEST_PLUGINS="no_such_plugin",
    )

    assert done.code == 0, done.out + done.err


def test_dry_run_talks_to_nobody(dead_port: int, tmp_path: Path) -> None:
    done = wireproof("run", f"nsq://127.0.0.1:{dead_port}", SMALL, "--dry-run", cwd=tmp_path)

    assert done.code == 0, done.err
    assert all(line.startswith(SMALL) for line in done.out.splitlines())
    assert f"{len(done.out.splitlines())} cases would run" in done.err


def test_a_failing_reset_stops_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = f"{sys.executable} -c 'raise SystemExit(\\\"no docker\\\")'"
    Path("wireproof.toml").write_text(f'[target]\nurl = "nsq://a:1"\nreset = "{command}"\n')

    assert main(["run", "--config", "wireproof.toml"]) == 2
    assert "failed with 1: no docker" in capsys.readouterr().err


def test_a_second_bundle_in_one_second_gets_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    places: list[Path] = []
    for _ in range(3):
        places.append(run_module.bundle_place(None, Settings()))
        places[-1].parent.mkdir(exist_ok=True)
        places[-1].touch()

    assert len(set(places)) == 3
    assert all(place.parent == Path("out") for place in places)


def test_a_full_disk_ends_the_run_with_one_sentence_and_a_readable_bundle(tmp_path: Path) -> None:
    command = ["run", "--reference", SMALL, "-q", "--bundle", "b.jsonl"]
    run = " ".join([sys.executable, "-m", "wireproof", *command])

    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 100; trap '' XFSZ; exec {run}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(),
        check=False,
    )

    told = Done(done.returncode, done.stdout, done.stderr).refused()
    assert told.startswith("--bundle b.jsonl: cannot be written (File too large); it ends after ")
    assert read_bundle(tmp_path / "b.jsonl").footer is None


def test_two_runs_at_once_do_not_share_a_bundle(tmp_path: Path) -> None:
    command = ("run", "--reference", "nsq/publish", "--bundle", "b.jsonl")
    with ThreadPoolExecutor() as pool:
        started = [pool.submit(wireproof, *command, cwd=tmp_path) for _ in range(2)]
    ended = [each.result() for each in started]

    assert sorted(done.code for done in ended) == [0, 2]
    assert any("another run is writing this file; name another" in done.err for done in ended)
    assert read_bundle(tmp_path / "b.jsonl").footer is not None


def test_only_the_kits_own_environment_is_hidden(tmp_path: Path) -> None:
    before = dict(os.environ)

    named_target(["nsq://a:1"], Settings())

    assert dict(os.environ) == before
    assert not list(tmp_path.iterdir())


def test_a_report_that_cannot_be_written_after_the_run_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(name: str, bundle: Path, path: Path) -> None:
        raise KitError(f"--{name} {path}: the disk is full")

    monkeypatch.setattr(run_module, "write_report", write)
    bundle = tmp_path / "run.jsonl"
    arguments = ["run", "--reference", SMALL, "--bundle", str(bundle)]
    code = main([*arguments, "--html", str(tmp_path / "x.html")])
    said = capsys.readouterr()
    assert code == 2
    assert "exit 2" in said.out
    assert "exit 0" not in said.out
    assert "the disk is full" in said.err
    footer = read_bundle(bundle).footer
    assert footer is not None
    assert footer.exit == 0
