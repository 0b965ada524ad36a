"""What `--lf` remembers: the cases that failed when they were last run."""

from pathlib import Path

import pytest
from fake_session import instance
from small_law import CLAUSE, record

from wireproof.running.last_failed import (
    keep_last_failed,
    read_last_failed,
    write_last_failed,
)
from wireproof_kit.observation import observed
from wireproof_kit.runner.instance import Instance
from wireproof_spec.record import CaseRecord


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "failed.json"


def ended(case: str, verdict: str) -> CaseRecord:
    return record("ok,open", case=case, verdict=verdict)


def cases(*ids: str) -> tuple[Instance, ...]:
    return tuple(instance(lambda: observed("ok"), CLAUSE, case_id=each) for each in ids)


def test_what_failed_is_kept_until_it_passes_or_is_not_run(path: Path) -> None:
    verdicts = ("fail", "error", "inconclusive", "unstable", "pass", "known", "unsupported")
    write_last_failed(path, [ended(f"p/i/{verdict}", verdict) for verdict in verdicts])
    assert read_last_failed(path) == {f"p/i/{verdict}" for verdict in verdicts[:4]}

    write_last_failed(path, [ended("p/i/fail", "pass"), ended("p/i/error", "unsupported")])
    assert read_last_failed(path) == {"p/i/inconclusive", "p/i/unstable"}


def test_a_good_run_leaves_no_file(path: Path) -> None:
    write_last_failed(path, [ended("p/i/a", "pass")])

    assert not path.parent.exists()


@pytest.mark.parametrize("text", [None, "", "{", "[1]", '{"a": true}'])
def test_a_file_that_is_none_of_ours_remembers_nothing(path: Path, text: str | None) -> None:
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)

    assert read_last_failed(path) == frozenset()


def test_all_are_kept_where_none_is_known_to_have_failed(path: Path) -> None:
    write_last_failed(path, [ended("p/i/gone", "fail")])
    all_cases = cases("p/i/a", "p/i/b")

    assert keep_last_failed(path, all_cases, all_cases) == all_cases


def test_of_a_narrowed_collection_only_failed_cases_are_kept(path: Path) -> None:
    write_last_failed(path, [ended("p/i/a", "fail")])
    first, second = all_cases = cases("p/i/a", "p/i/b")

    assert keep_last_failed(path, all_cases, all_cases) == (first,)
    assert keep_last_failed(path, [second], all_cases) == ()


def test_a_place_without_rights_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")

    write_last_failed(tmp_path / "out" / "failed.json", [ended("p/i/a", "fail")])

    assert read_last_failed(tmp_path / "out" / "failed.json") == frozenset()
