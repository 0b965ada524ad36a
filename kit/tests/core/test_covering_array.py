"""Covering arrays of the suites: every two values that can be combined meet in some row."""

from pathlib import Path

import pytest

import wireproof_suites
from wireproof_kit.covering_array import (
    DIMENSIONS,
    ROWS,
    read_rows,
    read_table,
)

(SUITES,) = map(Path, wireproof_suites.__path__)
FOLDERS = {
    str(path.parent.relative_to(SUITES)): path.parent for path in sorted(SUITES.rglob(DIMENSIONS))
}
ALL = pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)


@ALL
def test_all_that_can_be_combined_meets(folder: Path) -> None:
    table, rows = read_table(folder), read_rows(folder)
    missing = table.meetings() - table.meetings_of(rows.values())
    assert sorted(map(sorted, missing)) == []


@ALL
def test_no_row_combines_what_is_excluded(folder: Path) -> None:
    table = read_table(folder)
    assert [name for name, row in read_rows(folder).items() if table.is_excluded(row)] == []


@ALL
def test_each_row_has_its_own_id(folder: Path) -> None:
    lines = (folder / ROWS).read_text(encoding="utf-8").splitlines()
    assert len(read_rows(folder)) == len(lines) - 1


def test_a_row_is_named_by_its_unusual_values(tmp_path: Path) -> None:
    (tmp_path / DIMENSIONS).write_text(
        'seed = "1"\n'
        'dimension.path = {title = "path", values = ["tcp", "http"]}\n'
        'dimension.batch = {title = "batch", values = ["one", "many"]}\n'
        'excluded = [{reason = "no", values = {path = ["http"], batch = ["many"]}}]\n'
    )
    (tmp_path / ROWS).write_text("path batch\ntcp  one\nhttp one\ntcp  many\n")

    assert list(read_rows(tmp_path)) == ["usual", "http", "many"]
    table = read_table(tmp_path)
    assert table.meetings() == table.meetings_of(read_rows(tmp_path).values())
