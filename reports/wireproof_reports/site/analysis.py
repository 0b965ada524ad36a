"""Answers the questions of a history and writes the data of a site, all of it or nothing."""

import fcntl
import os
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from wireproof_reports.pipeline.place import (
    DATA,
    PARTIALS,
    HistoryFault,
    check_readable,
    check_site,
)
from wireproof_reports.pipeline.session import ERRORS, Ready, Wanted, session
from wireproof_reports.pipeline.shipping import ship
from wireproof_reports.pipeline.table import (
    Extent,
    State,
    measure,
    read_state,
    read_state_as_of,
    read_table,
)
from wireproof_reports.pipeline.tables import Warn, open_tables, unusable
from wireproof_reports.pipeline.tables import silent as no_warning
from wireproof_reports.site.answers import (
    QUESTIONS,
    Tell,
    all_answers,
    write_answer,
    write_index,
)

LOG = "spark.log"


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """Which history to analyse, which questions to ask, and where Spark runs.

    ``as_of`` is a version or a date; empty is now.
    """

    history: str
    out: Path
    spark: Wanted = field(default_factory=Wanted)
    as_of: str = ""
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    kit: str = ""
    names: Sequence[str] = QUESTIONS


def silent(_done: int, _name: str) -> None:
    """Do nothing with the progress of an analysis."""


def aggregate(
    wish: AnalysisRequest,
    tell: Tell = silent,
    warn: Warn = no_warning,
    ready: Ready | None = None,
) -> list[dict[str, object]]:
    """Answer the questions and write ``data/`` in the site's folder; return the answers' index.

    ``ready`` is called when Spark has started, ``warn`` with a sentence if counts of earlier
    aggregates cannot be used.

    Raises:
        HistoryFault: the history is missing or newer, or the site cannot be written, or is
            written by another process.
        SparkFault: Spark cannot be started or cannot answer.
    """
    try:
        check_site(wish.out)
        wish.out.mkdir(parents=True, exist_ok=True)
        with _only_writer(wish.out), _replace_folder(wish.out / DATA) as data:
            return _ask(wish, data, tell, warn, ready)
    except OSError as error:
        raise HistoryFault(
            f"{wish.out} cannot be written ({error.strerror or error}); it is as it was before"
        ) from error


def _ask(
    wish: AnalysisRequest, data: Path, tell: Tell, warn: Warn, ready: Ready | None
) -> list[dict[str, object]]:
    check_readable(wish.history)  # before anybody waits for Spark
    log = wish.out / LOG
    log.unlink(missing_ok=True)
    with ship(wish.spark) as wanted, session(wanted, log, ready) as spark:
        state = state_of(spark, wish.history, wish.as_of)
        extent = measure(read_table(spark, wish.history, state))
        description = _describe_history(state, extent)
        try:
            lines = _answer(spark, wish, state, extent, data, tell=tell, warn=warn)
        except ERRORS as error:
            # What is kept is read while the questions are answered; only then damage is found.
            if f"/{PARTIALS}/" not in str(error):
                raise
            warn(unusable(wish.history, error))
            lines = _answer(spark, wish, state, extent, data, tell=tell, keep=False)
    made = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    write_index(data, {"kit": wish.kit, "made": made, "history": description}, lines)
    return lines


def _answer(
    spark: SparkSession,
    wish: AnalysisRequest,
    state: State,
    extent: Extent,
    data: Path,
    *,
    tell: Tell,
    warn: Warn = no_warning,
    keep: bool | None = None,
) -> list[dict[str, object]]:
    """Write the answers to the wanted questions; return the lines of the index."""
    tables = open_tables(
        spark, wish.history, state, today=wish.today, extent=extent, keep=keep, warn=warn
    )
    try:
        return [write_answer(answer, data) for answer in all_answers(tables, wish.names, tell)]
    finally:
        if tables.cached is not None:  # the session may be the user's, who goes on
            tables.cached.unpersist()


def state_of(spark: SparkSession, history: str, as_of: str) -> State:
    """Return the state of a history that a version or date names, or the newest.

    Raises:
        HistoryFault: no such state exists.
    """
    state = read_state_as_of(spark, history, as_of) if as_of else read_state(spark, history)
    if state.version < 0:
        raise HistoryFault(
            f"{history} is no history; make one with `wireproof ingest BUNDLE --history DIR`"
        )
    return state


def _describe_history(state: State, extent: Extent) -> dict[str, object]:
    rows, first, last = extent.rows, extent.first_day, extent.last_day
    return {
        "bundles": rows["runs"],
        "results": rows["results"],
        "findings": rows["findings"],
        "campaigns": rows["campaigns"],
        "quarantined": rows["quarantine"],
        "first_day": first.isoformat() if first else None,
        "last_day": last.isoformat() if last else None,
        "version": state.version,
    }


@contextmanager
def _only_writer(out: Path) -> Generator[None]:
    """Hold the site's folder locked; the system releases the lock of a process that was killed.

    Raises:
        HistoryFault: another process holds it.
    """
    number = os.open(out, os.O_RDONLY)
    try:
        _lock(number, out)
        yield
    finally:
        os.close(number)


def _lock(number: int, out: Path) -> None:
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HistoryFault(
            f"another `wireproof aggregate` is writing to {out}; run this one again when it has "
            "ended, or name another folder with --out"
        ) from error
    except OSError:
        pass  # some network file systems have no locks


@contextmanager
def _replace_folder(folder: Path) -> Generator[Path]:
    """Have an empty folder that takes the place of another one when all went well."""
    new, old = folder.with_name(f"{folder.name}.new"), folder.with_name(f"{folder.name}.old")
    if old.exists() and not folder.exists():  # it was killed between the two renames
        old.rename(folder)
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
