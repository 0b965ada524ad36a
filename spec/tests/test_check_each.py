"""A test of a whole table fails for each row that is wrong, and names it."""

from pathlib import Path

import pytest
from check_each import check_each


@check_each([1, 2, 3], lambda row: f"row {row}")
def test_each_row_is_checked_with_fixtures(row: int, tmp_path: Path) -> None:
    (tmp_path / str(row)).touch()
    assert len([*tmp_path.iterdir()]) == row


def test_every_wrong_row_is_named() -> None:
    @check_each(["right", "unequal", "silent"])
    def check(row: str) -> None:
        assert row != "unequal"
        if row == "silent":
            with pytest.raises(ValueError, match="never"):
                pass

    with pytest.raises(
        BaseExceptionGroup, match="2 of 3 rows are wrong: unequal, silent"
    ) as caught:
        check()
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["row: unequal"],
        ["row: silent"],
    ]


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(AssertionError, match="checks nothing"):
        check_each([])
