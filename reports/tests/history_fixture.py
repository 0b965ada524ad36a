"""Bundles made by hand for a history, and what a history holds as plain rows."""

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import bundle_fixture as made
import msgspec
from pyarrow import parquet

from wireproof_reports.history.manifest import read_manifest, write_manifest
from wireproof_spec.history import TABLES
from wireproof_spec.record import CaseRecord, HeaderRecord, TargetRecord


def head(
    *, seed: int = 1, started: str = "2026-11-21T09:12:44Z", version: str = "1.2.0"
) -> HeaderRecord:
    target = TargetRecord(url=made.URL, protocol="nsq", fingerprint={"version": version})
    return made.header(seed=seed, started=started, target=target)


def bundle(
    path: Path,
    cases: Sequence[CaseRecord] | None = None,
    *,
    seed: int = 1,
    started: str = "2026-11-21T09:12:44Z",
    version: str = "1.2.0",
) -> Path:
    """Write a whole bundle that differs from others by what is given."""
    first = head(seed=seed, started=started, version=version)
    some = list(made.passes())[:3] if cases is None else cases
    return made.write_bundle(path, some, first=first)


def with_lines(path: Path, source: Path, *lines: bytes) -> Path:
    """Write the source's bundle with these lines before its footer, sealed anew."""
    *before, last = source.read_bytes().splitlines(keepends=True)
    whole = b"".join([*before, *(line + b"\n" for line in lines)])
    footer = json.loads(last)
    footer["sha256"] = hashlib.sha256(whole).hexdigest()
    path.write_bytes(whole + msgspec.json.encode(footer) + b"\n")
    return path


def rows(history: Path, table: str) -> list[dict[str, object]]:
    """Return a table's rows, its partition among the columns."""
    found: list[dict[str, object]] = []
    for part in read_manifest(history).of(table):
        with parquet.ParquetFile(history / part.place) as file:
            place: dict[str, object] = {"protocol": part.protocol, "day": part.day}
            found.extend({**row, **place} for row in file.read().to_pylist())
    return found


def made_older(history: Path, version: int) -> None:
    """Make a history what an older version of the tables would have left."""
    manifest = read_manifest(history)
    for part in manifest.parts:
        kept = [column.name for column in TABLES[part.table] if column.since <= version]
        path = history / part.place
        with parquet.ParquetFile(path) as file:
            table = file.read(kept)
        with (
            path.open("wb") as out,
            contextlib.closing(parquet.ParquetWriter(out, table.schema)) as writer,
        ):
            writer.write_table(table)
    write_manifest(history, msgspec.structs.replace(manifest, version=version))


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with what it holds."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
