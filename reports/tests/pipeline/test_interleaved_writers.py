"""Two writers that share no lock take the same bundle: no order of their commits doubles it.

One is taken for killed before one of its commits; the other takes over. The first one lives, and
goes on before one of the other's commits. Each pair of commits is an order of its own.
"""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from history_fixture import bundle, rows
from pyspark.sql import SparkSession
from writers import history_of, seeds

from wireproof_reports.pipeline import attempt as a
from wireproof_reports.pipeline.ingest import ingest

COMMITS = ("results", "grammar", "runs")
"""What the first one writes; the other one restores these, and writes them, too."""
ORDERS = [(stops, goes_on) for stops in range(len(COMMITS)) for goes_on in range(7)]
CHOSEN = [(0, 1), (2, 0), (2, 1)]
"""In the second of these the first one publishes just before the other one's fence."""
PUBLISHED_ORDERS = [(stops, goes_on) for stops in range(len(COMMITS)) for goes_on in range(8)]
"""Where the history has another bundle, the other one also publishes what it has restored."""
PUBLISHED_CHOSEN = [(1, 2), (2, 3)]
"""In these the first one goes on just before that publication."""
ALL = os.environ.get("WIREPROOF_ORDERS") == "all"

pytestmark = [
    pytest.mark.process,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


class Killed(Exception):
    """Raised in the first writer where it would begin again."""


class Slow:
    """The first writer: a thread that stops before one of its commits until it may go on."""

    def __init__(self, spark: SparkSession, path: str, history: str, stops: int) -> None:
        self._left = stops
        self._begun = False
        self._stopped, self._may = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._take, args=(spark, path, history))

    def start(self) -> None:
        self._thread.start()
        self._stopped.wait()

    def go_on(self) -> None:
        self._may.set()
        self._thread.join()
        assert not self._thread.is_alive()

    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def begin(self) -> None:
        if self._begun:
            raise Killed
        self._begun = True

    def commit(self) -> None:
        if self._left == 0:
            self._stopped.set()
            self._may.wait()
        self._left -= 1

    def _take(self, spark: SparkSession, path: str, history: str) -> None:
        try:
            ingest(spark, [path], history)
        except Killed:
            pass
        finally:
            self._stopped.set()


@pytest.mark.parametrize(
    ("stops", "goes_on", "published"),
    [
        *((*order, set[int]()) for order in (ORDERS if ALL else CHOSEN)),
        *((*order, {9}) for order in (PUBLISHED_ORDERS if ALL else PUBLISHED_CHOSEN)),
    ],
)
def test_a_bundle_is_there_once(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stops: int,
    goes_on: int,
    published: set[int],
) -> None:
    history = history_of(spark, tmp_path / "h", *published)
    path = str(bundle(tmp_path / "1.jsonl", seed=1))
    slow = Slow(spark, path, str(history), stops)
    begin, commits = a.begin, iter(range(goes_on, -1, -1))

    @contextmanager
    def unlocked(*_: object, **__: object) -> Generator[None]:
        yield

    @contextmanager
    def begun(*given: object, **more: object) -> Generator[a.Attempt]:
        if slow.is_here():
            slow.begin()
        with begin(*given, **more) as attempt:  # type: ignore[arg-type]  # as it was called
            yield attempt

    def before(original: str) -> None:
        commit = getattr(a.Attempt, original)

        def late(attempt: a.Attempt, *given: object) -> object:
            if slow.is_here():
                slow.commit()
            elif next(commits, None) == 0:
                slow.go_on()
                assert_once(history, {1, *published}, published)
            return commit(attempt, *given)

        monkeypatch.setattr(a.Attempt, original, late)

    monkeypatch.setattr(a, "only_writer", unlocked)
    monkeypatch.setattr("wireproof_reports.pipeline.ingest.begin", begun)
    before("_write")
    before("_rewrite")
    slow.start()
    ingest(spark, [path], str(history))
    slow.go_on()
    assert_once(history, {1, *published}, published)

    again = ingest(spark, [path, str(bundle(tmp_path / "2.jsonl", seed=2))], str(history))

    assert (again.bundles, again.already) == (1, 1)
    everything = {1, 2, *published}
    assert_once(history, everything, everything)
    assert len(rows(history, "runs")) == len(everything)


def assert_once(history: Path, most: set[int], least: set[int]) -> None:
    """See that readers find some of these bundles, each with its rows of all tables, once."""
    if (history / "runs" / "_delta_log").exists():
        found = seeds(history)
        assert len(set(found)) == len(found)
        assert least <= set(found) <= most
