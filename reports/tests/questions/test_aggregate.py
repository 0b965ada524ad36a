"""What a site is left as when a history cannot be asked, without waiting for Spark."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest
from history_fixture import tree, write_commit

from wireproof_reports.pipeline.jars import SparkFault
from wireproof_reports.pipeline.place import HistoryFault
from wireproof_reports.pipeline.table import Extent, State
from wireproof_reports.site import analysis as module
from wireproof_reports.site.analysis import AnalysisRequest, aggregate
from wireproof_reports.site.answers import Answer, question
from wireproof_spec.history import VIEWS


@pytest.fixture
def wish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AnalysisRequest:
    """A wish whose history is there, and a Spark that answers at once."""
    write_commit(tmp_path / "history", {}, {"wireproof": "added"})

    @contextmanager
    def session(*_: object, **__: object) -> Iterator[None]:
        yield

    def answers(_tables: object, names: list[str], _tell: object) -> Iterator[Answer]:
        yield from (Answer(name, question(name), [[name]]) for name in names)

    monkeypatch.setattr(module, "session", session)
    monkeypatch.setattr(module, "open_tables", lambda *_, **__: Mock())
    monkeypatch.setattr(module, "state_of", lambda *_: State(1))
    monkeypatch.setattr(module, "read_table", lambda *_: None)
    monkeypatch.setattr(module, "measure", lambda _: Extent(dict.fromkeys(VIEWS, 1), None, None))
    monkeypatch.setattr(module, "all_answers", answers)
    return AnalysisRequest(str(tmp_path / "history"), tmp_path / "site", names=("flips", "causes"))


def test_all_answers_are_replaced_at_once(wish: AnalysisRequest) -> None:
    aggregate(wish)
    (wish.out / "data" / "old.json").write_text("{}")

    lines = aggregate(wish)

    assert set(tree(wish.out)) == {"data/flips.json", "data/causes.json", "data/index.json"}
    assert [line["question"] for line in lines] == ["flips", "causes"]


@pytest.mark.parametrize("name", ["data/users.csv", "answers/1.txt", "assets/a.png", "index.html"])
def test_a_folder_with_something_else_is_left_alone(wish: AnalysisRequest, name: str) -> None:
    (wish.out / name).parent.mkdir(parents=True)
    (wish.out / name).write_text("mine")

    with pytest.raises(HistoryFault, match=r"exists and was not written by wireproof.*--out"):
        aggregate(wish)

    assert set(tree(wish.out)) == {name}


def test_a_full_disk_leaves_the_site_as_it_was(
    wish: AnalysisRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregate(wish)
    before = tree(wish.out)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "write_index", full)
    with pytest.raises(HistoryFault, match=r"No space left on device.*as it was before"):
        aggregate(wish)

    assert tree(wish.out) == before


def test_a_folder_that_cannot_be_moved_leaves_the_site_as_it_was(
    wish: AnalysisRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregate(wish)
    before = tree(wish.out)
    rename = Path.rename

    def refused(self: Path, target: Path) -> Path:
        if self.name == "data.new":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(HistoryFault, match=r"Input/output error.*as it was before"):
        aggregate(wish)

    assert tree(wish.out) == before


def test_a_spark_that_fails_leaves_the_site_as_it_was(
    wish: AnalysisRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregate(wish)
    before = tree(wish.out)

    def failing(*_: object) -> Iterator[Answer]:
        yield Answer("flips", question("flips"), [["new"]])
        raise SparkFault("no more workers")

    monkeypatch.setattr(module, "all_answers", failing)
    with pytest.raises(SparkFault):
        aggregate(wish)

    assert tree(wish.out) == before


def test_a_site_is_written_by_one_aggregate_at_a_time(
    wish: AnalysisRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    def second(_tables: object, names: list[str], _tell: object) -> Iterator[Answer]:
        with pytest.raises(HistoryFault) as caught:
            aggregate(wish)
        refused.append(str(caught.value))
        yield from (Answer(name, question(name), [[name]]) for name in names)

    monkeypatch.setattr(module, "all_answers", second)

    assert len(aggregate(wish)) == 2

    (told,) = refused
    assert told.startswith(f"another `wireproof aggregate` is writing to {wish.out}; run this")
    assert set(tree(wish.out)) == {"data/flips.json", "data/causes.json", "data/index.json"}


def test_answers_of_an_aggregate_that_was_killed_between_two_renames_stay(
    wish: AnalysisRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    aggregate(wish)
    before = tree(wish.out)
    (wish.out / "data").rename(wish.out / "data.old")
    (wish.out / "data.new").mkdir()

    def failing(*_: object) -> Iterator[Answer]:
        raise SparkFault("no more workers")

    monkeypatch.setattr(module, "all_answers", failing)
    with pytest.raises(SparkFault):
        aggregate(wish)

    assert tree(wish.out) == before
