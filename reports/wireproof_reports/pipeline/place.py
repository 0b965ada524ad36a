"""The locations of a history, which may be a URL that Spark's file systems know, and of a site."""

from pathlib import Path

from wireproof_spec.history import LAST, TABLES

OLD = "history.json"
"""Named every file of a history before its tables were Delta's."""
CHECKPOINT = "_checkpoint"
"""Beside the tables: which files of a landing folder a watching ingest has seen."""
PARTIALS = "_partials"
"""Beside the tables: what aggregates keep of what they have counted."""
LOCK, WATCH_LOCK = "_lock", "_watched"
"""Beside the tables: files that who writes, or watches, holds locked; with its name, or empty."""
KEEP_DAYS = 30
"""Days for which files are kept that only older states need, unless the user says otherwise."""
MOST_KEEP_DAYS = 3_650
"""Days for which Delta keeps the log of the tables, without which no older state can be read."""
DATA = "data"
"""In a site: the answers as JSON, from which its pages are made."""
_REPLACED = (DATA, "answers", "assets", "index.html")
_OWN = {*TABLES, CHECKPOINT, PARTIALS, LOCK, WATCH_LOCK}


class HistoryFault(Exception):
    """Raised if a history cannot be read or written; ``str()`` is one sentence for the user."""


def is_url(history: str) -> bool:
    """Return True if a history is named by a URL, such as ``s3a://bucket/history``."""
    return "://" in history


def root_of(history: str) -> str:
    """Return the URL of a history's folder for Spark, which takes special characters literally."""
    return history.rstrip("/") if is_url(history) else f"file://{Path(history).resolve()}"


def is_history(folder: Path) -> bool:
    """Return True if a local folder holds a history, in the present or an old format."""
    return (folder / LAST / "_delta_log").is_dir() or (folder / OLD).exists()


def check_readable(history: str) -> None:
    """Check that a name may be a history to read, before the long start of Spark.

    Raises:
        HistoryFault: the folder has no history, or one of an older version.
    """
    if is_url(history):
        return
    folder = Path(history)
    _refuse_old(folder)
    if not is_history(folder):
        raise HistoryFault(
            f"{history} is no history: it has no table {LAST}; "
            "make one with `wireproof ingest BUNDLE --history DIR`"
        )


def check_writable(history: str) -> None:
    """Check that a history may be written to a folder, before the long start of Spark.

    Raises:
        HistoryFault: the folder has something else, an older history, or is no folder.
    """
    if is_url(history):
        return
    folder = Path(history)
    try:
        _refuse_old(folder)
        folder.mkdir(parents=True, exist_ok=True)
        foreign = sorted({entry.name for entry in folder.iterdir()} - _OWN)
    except OSError as error:
        raise HistoryFault(
            f"{history} cannot be written ({error.strerror or error}); it is as it was before"
        ) from error
    if foreign and not is_history(folder):
        raise HistoryFault(
            f"{history} is no history: it holds {foreign[0]}, but no table {LAST}; "
            "name an empty folder, or one that does not exist"
        )


def check_site(out: Path) -> None:
    """Check that a site may be written to a folder, before the long start of Spark.

    Raises:
        HistoryFault: the folder holds what a site would replace, but is no site.
    """
    if any(_is_data(out / name) for name in (DATA, f"{DATA}.old")):
        return
    for name in _REPLACED:
        if (out / name).exists():
            raise HistoryFault(
                f"{out / name} exists and was not written by wireproof; a site would replace it: "
                "name another folder with --out"
            )


def _is_data(folder: Path) -> bool:
    """Return True if a folder has the data of a site."""
    try:
        return '"questions"' in (folder / "index.json").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _refuse_old(folder: Path) -> None:
    if (folder / OLD).exists():
        raise HistoryFault(
            f"{folder} is a history in Parquet files, the format of an older version, and this "
            "version needs Delta tables; convert it with "
            f"`wireproof migrate {folder} --history NEW`"
        )
