"""Where a history may lie, looked at before anybody waits for Spark."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest
from pyarrow import parquet

from wireproof_reports import job
from wireproof_reports.pipeline.place import (
    HistoryFault,
    check_inside,
    check_own,
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
    (tmp_path / "h" / "kind=run" / "protocol=nsq").mkdir(parents=True)

    check_writable(str(tmp_path / "h"))
    assert not is_history(tmp_path / "h")
    with pytest.raises(HistoryFault, match="is no history: it has no Delta table"):
        check_readable(str(tmp_path / "h"))


def test_a_file_is_no_place_for_a_history(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("mine")

    with pytest.raises(HistoryFault, match=r"cannot be written \(.*\); it is as it was before"):
        check_writable(str(tmp_path / "h"))


@pytest.mark.parametrize("check", [check_readable, check_writable])
@pytest.mark.parametrize("name", ["history.json", "runs/_delta_log/0.json"])
def test_an_old_history_is_named_with_the_command_that_migrates_it(
    tmp_path: Path, check: Callable[[str], None], name: str
) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("{}")

    with pytest.raises(HistoryFault, match=r"older version.*`wireproof migrate .* --history NEW`"):
        check(str(tmp_path))


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A history without a commit of its own: what is checked before Spark starts."""
    folder = tmp_path / "h"
    (folder / "_delta_log").mkdir(parents=True)
    (folder / "kind=run" / "protocol=nsq" / "day=2026-11-21").mkdir(parents=True)
    (folder / "kind=run" / "protocol=nsq" / "day=2026-11-21" / "part-0.parquet").touch()
    (folder / "_partials" / "counts" / "_delta_log").mkdir(parents=True)
    return folder


CHECKS = [check_readable, check_writable, lambda history: check_inside(Path(history))]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "place",
    ["kind=run/protocol=nsq/day=2026-11-22", "_delta_log/0.json", "_partials/days", "_lock"],
)
def test_a_history_with_a_link_is_left_alone(
    tmp_path: Path, history: Path, check: Callable[[str], None], place: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (history / place).symlink_to(other)

    with pytest.raises(
        HistoryFault, match=f"{place} is a symbolic link, which a history must not"
    ):
        check(str(history))


def test_the_folder_of_a_history_may_itself_be_a_link(tmp_path: Path, history: Path) -> None:
    (tmp_path / "link").symlink_to(history)

    check_readable(str(tmp_path / "link"))


OUTSIDE = [
    "/etc/passwd",
    "file:/etc/passwd",
    "s3a://other/part-0.parquet",
    "../other/part-0.parquet",
    "kind=run/../../other/part-0.parquet",
    "%2e%2e/other/part-0.parquet",
    "%2Fetc/passwd",
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("action", ["add", "remove", "cdc", "sidecar"])
@pytest.mark.parametrize("path", OUTSIDE)
def test_a_log_that_names_a_file_elsewhere_is_refused(
    history: Path, check: Callable[[str], None], action: str, path: str
) -> None:
    commit = history / "_delta_log" / "00000000000000000000.json"
    commit.write_text('{"metaData":{}}\n' + json.dumps({action: {"size": 1, "path": path}}) + "\n")

    with pytest.raises(HistoryFault, match=r"00\.json names a file outside of the history"):
        check(str(history))


@pytest.mark.parametrize(
    "line",
    [
        r'{"add" : { "path" : "\u002e\u002e/other" }}',
        '{"add":{"path":"a","deletionVector":{"storageType":"p","pathOrInlineDv":"file:/x"}}}',
    ],
)
def test_a_log_that_hides_a_file_elsewhere_is_refused(history: Path, line: str) -> None:
    (history / "_partials" / "counts" / "_delta_log" / "0.json").write_text(f"{line}\n")

    with pytest.raises(HistoryFault, match="names a file outside of the history"):
        check_readable(str(history))


GENERATED = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "string", "metadata": {"comment": "kept"}},
        {
            "name": "b",
            "type": {"type": "array", "elementType": {"type": "struct", "fields": []}},
            "metadata": {"delta.generationExpression": "reflect('java.lang.System','load','/x')"},
        },
    ],
}
NESTED = {"fields": [{"name": "c", "type": GENERATED, "metadata": {}}]}
ACTING = {
    "generated": {"schemaString": json.dumps(GENERATED)},
    "nested": {"schemaString": json.dumps(NESTED)},
    "default": {"schemaString": json.dumps(GENERATED).replace("delta.generation", "CURRENT_")},
    "constraint": {"configuration": {"delta.constraints.x": "reflect('a','b')"}},
    "service": {"configuration": {"delta.coordinatedCommits.commitCoordinator-preview": "x"}},
    "elsewhere": {"configuration": {"delta.redirectReaderWriter-preview": "{}"}},
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("table", ACTING.values(), ids=ACTING)
@pytest.mark.parametrize("part", ["0.json", "0.crc", "_last_checkpoint", "1.checkpoint.parquet"])
def test_a_table_that_has_delta_compute_or_call_something_is_refused(
    history: Path, check: Callable[[str], None], table: dict[str, object], part: str
) -> None:
    file = history / "_delta_log" / part
    written = {
        "0.json": {"metaData": table},
        "0.crc": {"metadata": table},
        "_last_checkpoint": {"v2Checkpoint": {"nonFileActions": [{"metaData": table}]}},
    }
    if part in written:
        file.write_text(json.dumps(written[part]).replace("metaData", r"met\u0061Data"))
    else:
        settings = cast(dict[str, str], table.get("configuration", {}))
        row = {"schemaString": table.get("schemaString"), "configuration": list(settings.items())}
        kind = pa.struct(
            [("schemaString", pa.string()), ("configuration", pa.map_(pa.string(), pa.string()))]
        )
        parquet.write_table(pa.table({"metaData": pa.array([row], kind)}), file)

    with pytest.raises(HistoryFault, match=f"{part} has Delta act by "):
        check(str(history))


def test_a_checksum_that_names_a_file_elsewhere_is_refused(history: Path) -> None:
    file = history / "_delta_log" / "0.crc"
    file.write_text('{"allFiles": [{"path": "../other"}]}')

    with pytest.raises(HistoryFault, match=r"0\.crc names a file outside"):
        check_readable(str(history))
    file.write_bytes(b"")
    check_readable(str(history))


def test_a_checkpoint_that_names_a_file_elsewhere_is_refused(history: Path) -> None:
    rows = [{"add": {"path": "kind=run/part-0.parquet"}}, {"add": {"path": "../other"}}]
    file = history / "_delta_log" / "00000000000000000010.checkpoint.parquet"
    parquet.write_table(pa.Table.from_pylist(rows[:1]), file)
    check_readable(str(history))
    parquet.write_table(pa.Table.from_pylist(rows), file)

    with pytest.raises(HistoryFault, match=r"checkpoint\.parquet names a file outside"):
        check_readable(str(history))


def test_damaged_counts_are_left_to_those_who_count_anew(history: Path) -> None:
    log = history / "_partials" / "counts" / "_delta_log" / "0.json"
    log.write_bytes(b"{")
    check_readable(str(history))
    log.write_text('{"add":{"path":5}}')

    with pytest.raises(HistoryFault, match="is damaged"):
        check_readable(str(history))


@pytest.mark.parametrize("name", ["0.json", "0.checkpoint.parquet"])
def test_a_damaged_log_is_one_sentence(history: Path, name: str) -> None:
    (history / "_delta_log" / name).write_bytes(b"\0\0 not a log\n")

    with pytest.raises(HistoryFault, match=rf"{name} is damaged \(.*\); restore") as fault:
        check_readable(str(history))

    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    "name", ["notes.txt", "kind=run/notes.txt", "kind=run/other/part-0.parquet", "old/part-0"]
)
def test_a_history_with_files_of_somebody_else_is_not_vacuumed(history: Path, name: str) -> None:
    check_own(history)
    (history / name).parent.mkdir(parents=True, exist_ok=True)
    (history / name).write_text("mine")

    with pytest.raises(HistoryFault, match="is not of the history, and a vacuum would delete it"):
        check_own(history)
