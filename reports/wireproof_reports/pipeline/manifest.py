"""The manifest of a history: one small file that names all others and is replaced as a whole.

A Parquet file that the manifest does not name is ignored: a killed ingest left it, or it was
merged into another file. So a single rename makes an ingest take effect.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from wireproof_spec.history import FORMAT, NO_DAY, PARTITIONS, VERSION

NAME = "history.json"
NEW_NAME = "history.json.new"
STAGING = "_staging"


class HistoryFault(Exception):
    """A history that cannot be read or written; ``str()`` is one sentence for the user."""


class TableFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """One Parquet file: its table, its partition, its name, and its size."""

    table: str
    protocol: str
    day: str
    name: str
    rows: int
    size_bytes: int

    @property
    def place(self) -> str:
        """The path of the file inside the history, with slashes."""
        return f"{self.folder}/{self.name}"

    @property
    def folder(self) -> str:
        """The folder of its partition."""
        first, second = PARTITIONS
        return f"{self.table}/{first}={self.protocol}/{second}={self.day or NO_DAY}"


class Manifest(msgspec.Struct, frozen=True):
    """All files of a history; ``sequence`` counts the ingests that changed it."""

    history: str = "wireproof"
    format: int = FORMAT
    version: int = VERSION
    kit: str = ""
    sequence: int = 0
    parts: tuple[TableFile, ...] = ()

    def of(self, table: str) -> Iterator[TableFile]:
        """Return the files of one table."""
        return (part for part in self.parts if part.table == table)

    def count(self, table: str) -> int:
        """Return the number of rows of a table."""
        return sum(part.rows for part in self.of(table))


class _Opening(msgspec.Struct, frozen=True):
    history: str = ""
    format: int = 0
    version: int = 0
    kit: str = ""


_OPENING = msgspec.json.Decoder(_Opening)
_MANIFEST = msgspec.json.Decoder(Manifest)


def read_manifest(history: Path) -> Manifest:
    """Read the manifest of a history.

    Raises:
        HistoryFault: there is none, it is damaged, or a newer version wrote it.
    """
    try:
        data = (history / NAME).read_bytes()
    except OSError as error:
        raise HistoryFault(
            f"{history} is no history: its {NAME} cannot be read ({error.strerror}); "
            "make one with `wireproof ingest BUNDLE --history DIR`"
        ) from error
    return parse_manifest(str(history), data)


def parse_manifest(name: str, data: bytes) -> Manifest:
    """Parse the bytes of a manifest; ``name`` is the history's name, for error messages.

    Raises:
        HistoryFault: it is damaged, is not wireproof's, or was written by a newer version.
    """
    try:
        opening = _OPENING.decode(data)
        if opening.history != "wireproof":
            raise HistoryFault(f"{name} is no history: its {NAME} is not of wireproof")
        _refuse_newer(name, opening)
        return _MANIFEST.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HistoryFault(f"{name}: {NAME} is damaged: {error}") from error


def write_manifest(history: Path, manifest: Manifest) -> None:
    """Replace the manifest; once this returns, it also survives a loss of power."""
    new = history / NEW_NAME
    with new.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(history / NAME)
    # From here on it has happened: a disk that is full now changes nothing any more.
    with contextlib.suppress(OSError):
        sync_folder(history)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that its file names survive a loss of power."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _refuse_newer(name: str, opening: _Opening) -> None:
    known = (("format", opening.format, FORMAT), ("tables", opening.version, VERSION))
    for what, found, newest in known:
        if found > newest:
            by = f" by wireproof {opening.kit}" if opening.kit else ""
            raise HistoryFault(
                f"{name} was written{by}: {what} {found}, this version reads up to {newest}; "
                "use the version of wireproof that wrote it, or a newer one"
            )
