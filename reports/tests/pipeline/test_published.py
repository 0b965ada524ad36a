"""What the newest published state of a history is, by the commits of its table ``runs``."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from pyspark.sql import SparkSession

from wireproof_reports.pipeline import history
from wireproof_reports.pipeline.history import FENCED, PUBLISHED, Entry, Note, read_published
from wireproof_reports.pipeline.place import HistoryFault

BEGAN = datetime(2026, 11, 21, 9, tzinfo=UTC)
SPARK = cast(SparkSession, None)
"""No Spark is asked: the commits are told."""


def commits(*notes: Note) -> Callable[..., list[Entry]]:
    """Return what tells the last commits of a table, newest first, as Delta does."""
    told = [
        Entry(version, BEGAN + timedelta(days=900), "WRITE", note, removed=0, written=0)
        for version, note in enumerate(notes)
    ][::-1]
    return lambda _spark, _history, _table, most: told[:most]


@pytest.mark.parametrize("killed", [0, 1, 199, 200, 5_000])
def test_a_state_is_found_however_many_attempts_were_killed_since(
    monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    published = Note(PUBLISHED, attempt=int(BEGAN.timestamp() * 1000), batch=1)
    monkeypatch.setattr(history, "entries", commits(published, *[Note(FENCED)] * killed))

    found = read_published(SPARK, "h")

    assert (found.version, found.when, found.note) == (0, BEGAN, published)


def test_a_history_of_which_all_attempts_were_killed_is_empty(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "entries", commits(*[Note(FENCED)] * 300))

    assert read_published(SPARK, "h").version == -1


def test_a_table_of_runs_without_any_publication_is_no_history(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(history, "entries", commits(*[Note("")] * 300))

    with pytest.raises(HistoryFault, match="no commit of its table runs is a publication"):
        read_published(SPARK, "h")
