"""The locations of a history, which may be a URL that Spark's file systems know, and of a site."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import msgspec

from wireproof_spec.strict_json import items_of, members_of

LOG = "_delta_log"
OLD_INDEX = "history.json"
"""Named every file of a history before its rows were in Delta tables."""
OLD_TABLES = "runs"
"""The table that named the versions of the others, when a history was six Delta tables."""
CHECKPOINT = "_checkpoint"
"""Beside the table's files: which files of a landing folder a watching ingest has seen."""
PARTIALS = "_partials"
"""Beside the table's files: what aggregates keep of what they have counted."""
LOCK, WATCH_LOCK = "_lock", "_watched"
"""Beside the table's files: what a writer, or a watching ingest, holds locked; with its name."""
KEEP_DAYS = 30
"""Days for which files are kept that only older states need, unless the user says otherwise."""
MOST_KEEP_DAYS = 3_650
"""Days for which Delta keeps the log of the table, without which no older state can be read."""
DATA = "data"
"""In a site: the answers as JSON, from which its pages are made."""
_REPLACED = (DATA, "answers", "assets", "index.html")
_OWN = {LOG, CHECKPOINT, PARTIALS, LOCK, WATCH_LOCK}
_PARTITION = re.compile(r"(kind|protocol|day|part)=.+")
_DATA_FILE = re.compile(r"\.?(part-|deletion_vector).+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class _Vector(msgspec.Struct):
    storageType: str = ""


class _File(msgspec.Struct):
    path: str = ""
    deletionVector: _Vector | None = None


class _Table(msgspec.Struct):
    """What Delta computes and does with a table: expressions of its columns, and settings."""

    schemaString: str | None = None
    configuration: dict[str, object] | None = None


class _Action(msgspec.Struct):
    """What of a line of Delta's log names a file, or says how the table is written."""

    add: _File | None = None
    remove: _File | None = None
    cdc: _File | None = None
    sidecar: _File | None = None
    metaData: _Table | None = None


class _Sum(msgspec.Struct):
    """What of a version's checksum, which Delta reads in place of its log, says the same."""

    metadata: _Table | None = None
    allFiles: list[_File] | None = None


class _Newest(msgspec.Struct):
    """What of the name of the last checkpoint says the same."""

    nonFileActions: list[_Action] | None = None
    sidecarFiles: list[_File] | None = None


class _Last(msgspec.Struct):
    v2Checkpoint: _Newest | None = None


_ACTION = msgspec.json.Decoder(_Action)
_LAST = "_last_checkpoint"
_ACTS = re.compile(r"delta\.(constraints|coordinatedCommits|redirect|universalFormat)")
"""Settings by which Delta computes expressions, calls a service, or writes elsewhere."""
_INERT = re.compile(r"comment|delta\.columnMapping\..+")
"""What may be noted of a column; anything else may be an expression, and can call any Java."""
_ABSOLUTE = "p"
"""How Delta marks a deletion vector with an absolute path. wireproof writes none."""


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
    return (folder / LOG).is_dir() or is_old(folder)


def is_old(folder: Path) -> bool:
    """Return True if a local folder holds a history in an old format."""
    return (folder / OLD_TABLES / LOG).is_dir() or (folder / OLD_INDEX).exists()


def check_readable(history: str) -> None:
    """Check that a name may be a history to read, before the long start of Spark.

    Raises:
        HistoryFault: the folder has no history, one of an older version, or one that leads out of
            the folder.
    """
    if is_url(history):
        return
    folder = Path(history)
    _refuse_old(folder)
    if not is_history(folder):
        raise HistoryFault(
            f"{history} is no history: it has no Delta table; "
            "make one with `wireproof ingest BUNDLE --history DIR`"
        )
    check_inside(folder)


def check_writable(history: str) -> None:
    """Check that a history may be written to a folder, before the long start of Spark.

    Raises:
        HistoryFault: the folder has something else, an older history, one that leads out of the
            folder, or is no folder.
    """
    if is_url(history):
        return
    folder = Path(history)
    try:
        _refuse_old(folder)
        folder.mkdir(parents=True, exist_ok=True)
        foreign = sorted(filter(_is_foreign, os.listdir(folder)))
    except OSError as error:
        raise HistoryFault(
            f"{history} cannot be written ({error.strerror or error}); it is as it was before"
        ) from error
    if foreign and not is_history(folder):
        raise HistoryFault(
            f"{history} is no history: it holds {foreign[0]}, but no Delta table; "
            "name an empty folder, or one that does not exist"
        )
    check_inside(folder)


def _is_foreign(name: str) -> bool:
    return name not in _OWN and not _PARTITION.fullmatch(name)


def check_inside(folder: Path) -> None:
    """Check that nothing in a history leads out of its folder: no link, and no path of its logs.

    Delta follows both: it would read, and vacuum would delete, files that are not the history's.

    Raises:
        HistoryFault: something does, or a log cannot be read.
    """
    try:
        for entry in _walk(folder):
            if entry.is_symlink():
                raise HistoryFault(
                    f"{entry.path} is a symbolic link, which a history must not have; "
                    "replace it by what it leads to"
                )
            if f"/{LOG}/" in entry.path:
                _check_log(Path(entry.path))
    except OSError as error:
        raise HistoryFault(f"{error.filename} cannot be read ({error.strerror})") from error


def check_own(folder: Path) -> None:
    """Check that a history has its own files only: a vacuum deletes what it does not know.

    Raises:
        HistoryFault: there is a file of somebody else.
    """
    for entry in _list(folder):
        if entry.name not in _OWN:
            inside = _walk(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else ()
            for each in (entry, *inside):
                is_folder = each.is_dir(follow_symlinks=False)
                if not (_PARTITION if is_folder else _DATA_FILE).fullmatch(each.name):
                    raise HistoryFault(
                        f"{each.path} is not of the history, and a vacuum would delete it; "
                        "move it to another folder first"
                    )


def _walk(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """Yield everything below a folder, without following links."""
    for entry in _list(folder):
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))


def _list(folder: Path) -> list["os.DirEntry[str]"]:
    with os.scandir(folder) as found:
        return list(found)


def _check_log(file: Path) -> None:
    """Check that a commit or checkpoint names files below its table only, and has no expression.

    Raises:
        HistoryFault: it does not or has, or it is damaged.
    """
    try:
        for named in _named(file):
            if isinstance(named, _Table):
                _refuse_expressions(named, file)
                continue
            vector = named.deletionVector
            if _leads_out(named.path) or (vector and vector.storageType == _ABSOLUTE):
                raise HistoryFault(
                    f"{file} names a file outside of the history ({named.path}); "
                    "nothing was read or written"
                )
    except FileNotFoundError:
        pass  # Delta has cleaned its log meanwhile
    except (msgspec.DecodeError, ValueError) as error:
        is_no_json = type(error) is msgspec.DecodeError
        if is_no_json and PARTIALS in file.parts:
            return  # Delta cannot read it either: what is kept there is told and counted anew
        why = str(error).splitlines()[0]
        raise HistoryFault(f"{file} is damaged ({why}); restore it from a copy") from error


def _refuse_expressions(table: _Table, file: Path) -> None:
    """Check that Delta computes nothing for a table and calls nobody: wireproof asks for neither.

    Raises:
        HistoryFault: it would.
    """
    columns = msgspec.json.decode(table.schemaString or "null")
    for name in (*filter(_ACTS.match, table.configuration or {}), *_list_notes(columns)):
        raise HistoryFault(
            f"{file} has Delta act by {name!r}, which no history of wireproof's does; "
            "nothing was read or written"
        )


def _list_notes(value: object) -> Iterator[str]:
    """Yield what is noted of the columns in a schema and may act."""
    for item in items_of(value):
        yield from _list_notes(item)
    for name, member in members_of(value).items():
        if name == "metadata":
            yield from (key for key in members_of(member) if not _INERT.match(key))
        else:
            yield from _list_notes(member)


def _named(file: Path) -> Iterator[_File | _Table]:
    """Yield the files that a part of Delta's log names, and what it says of the table."""
    if file.suffix == ".crc" and not file.name.startswith("."):
        sums = msgspec.json.decode(file.read_bytes() or b"{}", type=_Sum)
        yield from filter(None, (sums.metadata, *(sums.allFiles or ())))
        return
    if file.name == _LAST:
        last = msgspec.json.decode(file.read_bytes(), type=_Last).v2Checkpoint or _Newest()
        actions = last.nonFileActions or []
        yield from last.sidecarFiles or ()
    elif file.suffix == ".json":
        actions = [_ACTION.decode(line) for line in file.read_bytes().splitlines()]
    elif file.suffix == ".parquet":
        from pyarrow import parquet  # few logs have a checkpoint, and the import takes its time

        names = (
            f"{a}.{part}"
            for a in _Action.__struct_fields__
            for part in (*_File.__struct_fields__, *_Table.__struct_fields__)
        )
        table = parquet.ParquetFile(file).read(columns=list(names))
        rows = table.to_pylist(maps_as_pydicts="lossy")
        actions = [msgspec.convert(row, _Action) for row in rows]
    else:
        return
    for action in actions:
        named = action.add, action.remove, action.cdc, action.sidecar, action.metaData
        yield from filter(None, named)


def _leads_out(path: str) -> bool:
    plain = unquote(path)
    return plain.startswith("/") or bool(_SCHEME.match(plain)) or ".." in plain.split("/")


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
    if is_old(folder) and not (folder / LOG).is_dir():
        raise HistoryFault(
            f"{folder} is a history in the format of an older version, and this version needs one "
            f"Delta table; convert it with `wireproof migrate {folder} --history NEW`"
        )
