"""The lock file of faults: a recording adds what turned red, and nothing else."""

import tomllib
from pathlib import Path

import pytest

from wireproof_kit.errors import UsageFault
from wireproof_kit.selftest.lock import FaultLock
from wireproof_kit.selftest.plan import FAULT, VARIANT, RedCase, Trial, TrialResult

DEEP = Trial("deep", FAULT, ("deep",), breaks=("a.own",), may_break=("a.rare",))
PLAIN = Trial("plain", FAULT, ("plain",), breaks=("a.own",))


def _red(clause: str, verdict: str = "fail") -> RedCase:
    return RedCase(f"nsq/x/{clause}", clause, verdict, "silence", "nothing came")


def _read(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_what_turned_red_besides_is_added_to_what_stood_there(tmp_path: Path) -> None:
    lock = FaultLock(tmp_path / "lock.toml", [PLAIN, DEEP])
    red = {"a.own": "nsq/x/own", "a.new": "nsq/x/new"}
    result = lock.record(TrialResult(DEEP, red=red, unexpected=(_red("a.new"),)))

    assert result.verdict == "died"
    assert lock.added == 1
    assert _read(lock.path) == {"deep": ["a.new", "a.rare"]}


def test_what_a_fault_turned_red_in_a_corner_is_added_to_the_whole_fault(tmp_path: Path) -> None:
    lock = FaultLock(tmp_path / "lock.toml", [PLAIN, DEEP])
    corner = Trial("a.own@path=http", FAULT, ("deep@path=http",), ("a.own",), ("a.rare",))
    lock.record(TrialResult(corner, red={"a.own": "nsq/x/own", "a.new": "nsq/x/new"}))

    assert _read(lock.path) == {"deep": ["a.new", "a.rare"]}


def test_entries_are_sorted_and_one_clause_stands_on_a_line(tmp_path: Path) -> None:
    lock = FaultLock(tmp_path / "lock.toml", [PLAIN, DEEP])
    lock.record(TrialResult(PLAIN, red={"b.two": "nsq/x/two", "b.one": "nsq/x/one"}))
    text = lock.path.read_text(encoding="utf-8")

    assert text.startswith("# What each fault turns red")
    assert text.endswith(
        '\ndeep = [\n    "a.rare",\n]\n\nplain = [\n    "b.one",\n    "b.two",\n]\n'
    )


def test_an_error_of_the_kit_is_no_entry_and_stays_an_alarm(tmp_path: Path) -> None:
    lock = FaultLock(tmp_path / "lock.toml", [PLAIN])
    result = lock.record(
        TrialResult(PLAIN, red={"a.own": "nsq/x/own"}, unexpected=(_red("b.one", "error"),))
    )

    assert result.verdict == "unexpected"
    assert lock.added == 0


def test_a_trial_without_a_fault_is_left_alone(tmp_path: Path) -> None:
    lock = FaultLock(tmp_path / "lock.toml", [PLAIN])
    result = TrialResult(Trial("gaps", VARIANT, ("gaps",)), unexpected=(_red("a.own"),))

    assert lock.record(result) is result


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageFault, match="cannot be written"):
        FaultLock(tmp_path / "no" / "lock.toml", [DEEP]).write()
