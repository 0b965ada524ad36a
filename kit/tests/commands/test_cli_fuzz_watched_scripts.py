"""The scripts of findings that show in what the target keeps: memory, open files, clients."""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from cli_process import wireproof
from finding_scripts import NOBODY, address, find, finding_of, header, run_script, write_script

from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.fuzz.case import HALF_CLOSE, Case, Step
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.frame import request

pytestmark = [pytest.mark.process, pytest.mark.long]


def unknown_command(names: Mapping[str, str]) -> Case:
    """Send a command that no broker knows."""
    step = Step(b"NONE of it\n")
    return Case(0, "identified", "NONE", "name", "text", (step,), delimited=True)


def unknown_code(names: Mapping[str, str]) -> Case:
    """Send a code that no server knows."""
    step = Step(request(9999))
    return Case(0, "greeted", "ping", "code", "unknown", (step,), delimited=True)


def cut_inside_a_frame(names: Mapping[str, str]) -> Case:
    """End the connection inside a frame."""
    step = Step(request(commands.PING)[:-1], HALF_CLOSE)
    return Case(0, "greeted", "ping", "code", "cut", (step,), delimited=False)


@pytest.mark.parametrize(
    ("protocol", "fault", "violated", "make"),
    [
        ("nsq", "parser-unknown-hoards", "memory", unknown_command),
        ("iggy", "parser-refused-hoards", "memory", unknown_code),
        ("iggy", "parser-code-unknown-leaks", "files", unknown_code),
        ("iggy", "parser-cut-leaks", "lingers", cut_inside_a_frame),
    ],
)
def test_a_script_looks_at_what_the_target_keeps(
    protocol: str,
    fault: str,
    violated: str,
    make: Callable[[Mapping[str, str]], Case],
    tmp_path: Path,
) -> None:
    with closing(start_alone(protocol, ("--fault", fault))) as faulty:
        pid = faulty.process.pid
        script = write_script(
            tmp_path, find(faulty.url, violated, make, pid=pid), header(faulty.url)
        )
        of_the_faulty = run_script(script)
    with closing(start_alone(protocol)) as right:
        of_the_right = run_script(script, address(right.url))

    assert of_the_faulty.returncode == 0, of_the_faulty.stdout + of_the_faulty.stderr
    assert of_the_right.returncode == 1, of_the_right.stdout + of_the_right.stderr
    assert run_script(script, NOBODY).returncode == 2


def test_a_script_asks_for_a_process_that_it_cannot_see(tmp_path: Path) -> None:
    finding = finding_of([unknown_command({})], "memory")
    with closing(start_alone("nsq")) as right:
        script = write_script(tmp_path, finding, header(right.url))
        ended = run_script(script, address(right.url), "--pid", "0")
        found = run_script(script, address(right.url), "--pid", str(right.process.pid))

    assert (ended.returncode, "with --pid PID" in ended.stderr) == (3, True)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "--pid PID" in run_script(script, "--help").stdout


def test_replay_watches_the_process_that_is_named(tmp_path: Path) -> None:
    fault = ("--fault", "parser-unknown-hoards")
    with closing(start_alone("nsq", fault)) as faulty, closing(start_alone("nsq")) as right:
        finding = finding_of([unknown_command({})], "memory")
        known = header(faulty.url)
        (tmp_path / "b.jsonl").write_bytes(
            b"".join(msgspec.json.encode(each) + b"\n" for each in (known, finding))
        )
        to = ("replay", finding.id, "--bundle", "b.jsonl", "--to")
        unnamed = wireproof(*to, faulty.url, cwd=tmp_path)
        shown = wireproof(*to, faulty.url, "--pid", str(faulty.process.pid), cwd=tmp_path)
        not_shown = wireproof(*to, right.url, "--pid", str(right.process.pid), cwd=tmp_path)

    assert "with --pid PID" in unnamed.refused()
    assert shown.code == 0, shown.out + shown.err
    assert not_shown.code == 1, not_shown.out + not_shown.err
