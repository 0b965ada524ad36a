"""Answers the questions of a history and writes the data of a site, all of it or nothing."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from wireproof_reports.pipeline.manifest import HistoryFault, Manifest, read_manifest
from wireproof_reports.pipeline.session import is_local, session
from wireproof_reports.pipeline.shipping import archive
from wireproof_reports.pipeline.tables import is_url, manifest_of, open_tables
from wireproof_reports.questions.answers import (
    QUESTIONS,
    Tell,
    all_answers,
    write_answer,
    write_index,
)

DATA = "data"
LOG = "spark.log"


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """Which history to analyse, which questions to ask, and where Spark runs.

    ``master`` is empty under spark-submit. ``settings`` are settings of Spark.
    """

    history: str
    out: Path
    master: str = "local[*]"
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    kit: str = ""
    names: Sequence[str] = QUESTIONS
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


def silent(_done: int, _name: str) -> None:
    """Report no progress."""


def aggregate(wish: AnalysisRequest, tell: Tell = silent) -> list[dict[str, object]]:
    """Answer the questions and write ``data/`` in the site's folder; return its index.

    Raises:
        HistoryFault: there is no history, it is newer, or the site cannot be written.
        SparkFault: Spark cannot be started or cannot answer.
    """
    try:
        wish.out.mkdir(parents=True, exist_ok=True)
        with _lock_shared(wish.history), _replace_folder(wish.out / DATA) as data:
            return _ask(wish, data, tell)
    except OSError as error:
        raise HistoryFault(
            f"{wish.out} cannot be written ({error.strerror or error}); it is as it was before"
        ) from error


def _ask(wish: AnalysisRequest, data: Path, tell: Tell) -> list[dict[str, object]]:
    if not is_url(wish.history):
        read_manifest(Path(wish.history))  # before anybody waits for Spark
    log = wish.out / LOG
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="wireproof-code-") as scratch:
        code = [] if is_local(wish.master) or not wish.master else [_code(scratch)]
        with session(wish.master, log, settings=wish.settings, code=code) as spark:
            manifest = manifest_of(spark, wish.history)
            tables = open_tables(spark, wish.history, manifest, today=wish.today)
            answers = all_answers(tables, wish.names, tell)
            lines = [write_answer(answer, data) for answer in answers]
    made = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    write_index(
        data, {"kit": wish.kit, "made": made, "history": _describe_history(manifest)}, lines
    )
    return lines


def _code(scratch: str) -> Path:
    return archive(Path(scratch) / "wireproof.zip")


def _describe_history(manifest: Manifest) -> dict[str, object]:
    days = sorted(part.day for part in manifest.of("runs") if part.day[:1].isdigit())
    return {
        "bundles": manifest.count("runs"),
        "results": manifest.count("results"),
        "findings": manifest.count("findings"),
        "campaigns": manifest.count("campaigns"),
        "quarantined": manifest.count("quarantine"),
        "first_day": days[0] if days else None,
        "last_day": days[-1] if days else None,
    }


@contextmanager
def _lock_shared(history: str) -> Generator[None]:
    """Lock the history against ingests while its files are read."""
    if is_url(history) or not Path(history).is_dir():
        yield
        return
    number = os.open(history, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise HistoryFault(f"{history} is in use by an ingest; wait until it has ended") from error
    finally:
        os.close(number)


@contextmanager
def _replace_folder(folder: Path) -> Generator[Path]:
    """Provide an empty folder; if no error occurs, it replaces the given one at the end."""
    new, old = folder.with_name(f"{folder.name}.new"), folder.with_name(f"{folder.name}.old")
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir()
    try:
        yield new
        if folder.exists():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)
