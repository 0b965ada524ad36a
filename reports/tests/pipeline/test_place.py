"""Where a history may lie, looked at before anybody waits for Spark."""

from collections.abc import Callable
from pathlib import Path

import pytest

from wireproof_reports import job
from wireproof_reports.pipeline.place import (
    HistoryFault,
    check_readable,
    check_writable,
    is_history,
    root_of,
)


def test_a_folder_is_named_with_its_signs_as_they_are(tmp_path: Path) -> None:
    assert root_of(str(tmp_path / "a b%[1]")) == f"file://{tmp_path}/a b%[1]"
    assert root_of("s3a://bucket/history/") == "s3a://bucket/history"


@pytest.mark.parametrize("name", ["notes.txt", "other/x.parquet"])
def test_a_folder_with_something_else_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "h" / name).parent.mkdir(parents=True)
    (tmp_path / "h" / name).write_text("mine")

    with pytest.raises(HistoryFault, match=f"is no history: it holds {name.partition('/')[0]}"):
        check_writable(str(tmp_path / "h"))


def test_a_submitted_job_leaves_a_folder_with_something_else_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "h").mkdir()
    (tmp_path / "h" / "notes.txt").write_text("mine")

    assert job.main([str(tmp_path / "h"), "--ingest", str(tmp_path)]) == 2
    assert "h is no history: it holds notes.txt" in capsys.readouterr().err
    assert [entry.name for entry in (tmp_path / "h").iterdir()] == ["notes.txt"]


def test_a_history_that_was_begun_may_be_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "h" / "results" / "_delta_log").mkdir(parents=True)

    check_writable(str(tmp_path / "h"))
    assert not is_history(tmp_path / "h")
    with pytest.raises(HistoryFault, match="is no history: it has no table runs"):
        check_readable(str(tmp_path / "h"))


def test_a_file_is_no_place_for_a_history(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("mine")

    with pytest.raises(HistoryFault, match=r"cannot be written \(.*\); it is as it was before"):
        check_writable(str(tmp_path / "h"))


@pytest.mark.parametrize("check", [check_readable, check_writable])
def test_an_old_history_is_named_with_the_command_that_migrates_it(
    tmp_path: Path, check: Callable[[str], None]
) -> None:
    (tmp_path / "history.json").write_text("{}")

    with pytest.raises(HistoryFault, match=r"older version.*`wireproof migrate .* --history NEW`"):
        check(str(tmp_path))
