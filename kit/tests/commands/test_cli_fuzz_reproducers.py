"""The scripts of findings that need several clients at once, or a restart of the target."""

import contextlib
import os
import signal
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from finding_scripts import NOBODY, address, finding_of, header, run_script, write_script
from ports import find_free_port
from secured_broker import SECRET, VARIABLE, Papers, guarded, served

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.fuzz.case import CROWD, GRANTED, RESTART, RETURNED, WHOLE, Case, Step
from wireproof_kit.fuzz.generate.held_cases import nothing_in
from wireproof_kit.targets.interpreter import module_command
from wireproof_spec.fuzz_record import FindingRecord

pytestmark = [pytest.mark.process, pytest.mark.slow]

STARTS_AGAIN = """
import os, signal, subprocess, sys
pid, command = sys.argv[1], sys.argv[2:]
with open(pid) as file:
    old = int(file.read())
try:
    os.kill(old, signal.SIGKILL)
except ProcessLookupError:
    pass
process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
with open(pid, "w") as file:
    file.write(str(process.pid))
"""


@pytest.mark.parametrize(
    ("fault", "exercise", "violated"),
    [
        ("parser-trace-buffer-shared", CROWD, "neighbour"),
        ("history-every-seventh-lost", RETURNED, "redelivery"),
        ("finish-by-anybody", GRANTED, "neighbour"),
        ("ready-allows-one-more", GRANTED, "neighbour"),
        ("parser-split-at-feed-halts", RETURNED, "dead"),
    ],
)
def test_several_clients_at_once_are_a_script(
    fault: str, exercise: str, violated: str, tmp_path: Path
) -> None:
    with closing(start_alone("nsq", ("--fault", fault))) as faulty:
        script = write_script(tmp_path, exercise_finding(exercise, violated), header(faulty.url))
        of_the_faulty = run_script(script)
    with closing(start_alone("nsq")) as right:
        of_the_right = run_script(script, *address(right.url).split(":"))

    assert not list(script.parent.glob("*.hex"))
    assert of_the_faulty.returncode == 0, of_the_faulty.stdout + of_the_faulty.stderr
    assert of_the_right.returncode == 1, of_the_right.stdout + of_the_right.stderr
    assert run_script(script, NOBODY).returncode == 2
    assert "Exit code: 0" in run_script(script, "--help").stdout


def test_several_clients_log_in_where_the_target_demands_it(tmp_path: Path) -> None:
    papers = Papers(tmp_path)
    with served(*guarded(papers), "--fault", "parser-trace-buffer-shared") as url:
        known = header(url, "tls", "cacert", "auth_env")
        script = write_script(tmp_path, exercise_finding(CROWD, "neighbour"), known)
        login = ("--cacert", str(papers.authority), "--auth-env", VARIABLE)
        done = run_script(script, *login, **{VARIABLE: SECRET})
        assert done.returncode == 0, done.stdout + done.stderr
        assert run_script(script, *login[:2]).returncode == 2


def exercise_finding(exercise: str, violated: str) -> FindingRecord:
    nothing = Case(0, "fresh", "", "", "", (), delimited=True)
    return finding_of([nothing_in(nothing, "fresh", exercise, WHOLE)], violated)


def test_a_restart_is_a_script_that_asks_for_the_command(tmp_path: Path) -> None:
    body = b"PUB wp_f1 0\n" + (2).to_bytes(4) + b"x\0"
    stores = Case(0, "magic-sent", "PUB", "body", "NUL", (Step(body),), delimited=True)
    finding = finding_of([stores, replace(stores, field=RESTART)], "dead")
    script = write_script(tmp_path, finding, header("nsq://127.0.0.1:1"))

    for extra, code in ((("--fault", "parser-stored-nul-keeps-down"), 0), ((), 1)):
        with restartable(tmp_path / f"of-{code}", extra) as (place, restart):
            without = run_script(script, place)
            done = run_script(script, place, "--restart", restart)
        assert done.returncode == code, done.stdout + done.stderr
        assert (without.returncode, "--restart CMD" in without.stderr) == (2, True)
    assert "--restart CMD" in run_script(script, "--help").stdout


@contextmanager
def restartable(folder: Path, extra: tuple[str, ...]) -> Generator[tuple[str, str]]:
    """Run a reference; yield its address, and a command that restarts it with its data there."""
    # A port of the system's choice could be another program's when the broker comes back.
    at = ("--tcp", f"127.0.0.1:{find_free_port()}")
    with closing(start_alone("nsq", (*at, *extra))) as running:
        place, data = address(running.url), folder / "data"
        data.mkdir(parents=True)
        pid, again = folder / "pid", folder / "again.py"
        pid.write_text(str(running.process.pid))
        again.write_text(STARTS_AGAIN)
        serve = ("serve", "nsq", *at, "--data", running.folder.name, *extra)
        words = [*(sys.executable, str(again), str(pid)), *module_command("wireproof", *serve)]
        try:
            yield place, " ".join(words)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid.read_text()), signal.SIGKILL)
