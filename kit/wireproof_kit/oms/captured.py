"""Captured documents on disk: a JSON file, a file of JSON lines, or a folder of such files.

A file whose name ends in .jsonl or .ndjson holds a document a line, blank lines aside; any other
file is one document. Of a folder all .json, .jsonl and .ndjson files count, those of folders
within it too. Whatever cannot be read ends the run: a part is never judged for the whole.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from wireproof_kit.errors import UsageFault
from wireproof_kit.targets.target import Target

LINES = (".jsonl", ".ndjson")
SUFFIXES = (".json", *LINES)
MOST_DOCUMENTS = 2000
MOST_BYTES = 64 * 1024 * 1024

RECEIVED = "received"
"""The name of the only document of a system behind an adapter: the first message received."""

_SAFE = "/:._-~"


@dataclass(frozen=True, slots=True)
class CapturedDocument:
    """One captured document, such as a message as JSON.

    `file` is the path below the target, escaped like a URL's; `line` is the line of a document
    among JSON lines, from 1.
    """

    file: str
    data: bytes
    line: int | None = None

    @property
    def name(self) -> str:
        """The file name; for JSON lines, followed by a colon and the line number."""
        return self.file if self.line is None else f"{self.file}:{self.line}"


def document_names(target: Target) -> Sequence[str]:
    """Return the names of a target's documents, in the order of the files.

    A system behind an adapter has one: a message that a consumer received from it.

    Raises:
        UsageFault: the path does not exist, cannot be read, has no document, or is too large.
    """
    if target.path is None:
        return [RECEIVED]
    return [document.name for document in read_documents(_path(target))]


def documents_of(target: Target) -> tuple[CapturedDocument, ...]:
    """Return the documents of a target, in the order of the files.

    Raises:
        UsageFault: the path does not exist, cannot be read, has no document, or is too large.
    """
    return read_documents(_path(target))


def read_documents(path: Path) -> tuple[CapturedDocument, ...]:
    """Return the documents of a file or folder.

    Raises:
        UsageFault: the path does not exist, cannot be read, has no document, or is too large.
    """
    files = list(_files(path))
    found: list[CapturedDocument] = []
    size = 0
    for file in files:
        data = _bytes(file, MOST_BYTES - size)
        size += len(data)
        name = file.name if file == path else file.relative_to(path).as_posix()
        found += _documents(quote(os.fsencode(name), safe=_SAFE), data, lines=file.suffix in LINES)
        if len(found) > MOST_DOCUMENTS:
            raise UsageFault(
                f"{path}: holds more than {MOST_DOCUMENTS} documents; judge a part of them at a "
                "time"
            )
    if not found:
        raise UsageFault(f"{path}: {_explain_nothing(path)}; nothing was judged")
    return tuple(found)


def _path(target: Target) -> Path:
    if target.path is None:
        raise UsageFault(f"{target.url}: names no documents; give e.g. oms+file:messages.jsonl")
    return target.path


def _files(path: Path) -> Iterator[Path]:
    try:
        if path.is_dir():
            found = (each for each in path.rglob("*") if each.suffix in SUFFIXES)
            yield from sorted(each for each in found if each.is_file())
        elif path.is_file():
            yield path
        elif path.exists():
            raise UsageFault(f"{path}: expected a file or folder; found neither")
        else:
            raise UsageFault(f"{path}: there is no such file or folder")
    except (OSError, ValueError) as error:
        raise UsageFault(f"{path}: cannot be read ({_reason(error)})") from error


def _bytes(file: Path, room: int) -> bytes:
    """Return the content of a file; a file above the size limit is not read."""
    try:
        with file.open("rb") as opened:
            data = opened.read(room + 1)
    except OSError as error:
        raise UsageFault(f"{file}: cannot be read ({_reason(error)})") from error
    if len(data) > room:
        limit = f"{MOST_BYTES // 1024**2} MiB"
        raise UsageFault(f"{file}: more than {limit} in all; judge a part of it at a time")
    return data


def _documents(file: str, data: bytes, *, lines: bool) -> Iterator[CapturedDocument]:
    if not lines:
        yield CapturedDocument(file, data)
        return
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield CapturedDocument(file, line, number)


def _explain_nothing(path: Path) -> str:
    if path.is_dir():
        return f"the folder holds no document ({', '.join(f'*{each}' for each in SUFFIXES)})"
    return "the file holds no document"


def _reason(error: Exception) -> str:
    told = error.strerror if isinstance(error, OSError) else None
    return told or str(error)
