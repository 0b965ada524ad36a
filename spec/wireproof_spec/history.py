"""The table of a history: one row for each fact that bundles record, of six kinds.

A history is one Delta table with the rows of all kinds; the column ``kind`` tells them apart, and
columns that a kind does not have are null in its rows. A view is the rows of one kind with its
columns. The table only grows: a column is never removed, renamed or redefined. A new column names
the version of the columns that introduced it, and is null in older rows. Integers that may exceed
2^53 are stored as text.
"""

from dataclasses import dataclass
from typing import Literal

FORMAT = 3
"""Of the history as a whole: one Delta table; 2 were six of them, 1 were Parquet files named by
``history.json``. A newer format cannot be read, an older one is converted."""

VERSION = 4
"""Of the columns; older rows can be read, newer ones cannot."""

Kind = Literal["text", "texts", "count", "flag", "time", "bytes"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a history; ``count``: 64-bit integer, ``time``: UTC with microseconds."""

    name: str
    kind: Kind
    since: int = 1


_TARGET = (
    Column("bundle", "text"),
    Column("vendor", "text"),
    Column("version", "text"),
    Column("version_key", "text"),
    Column("started", "time"),
    Column("batch", "count", since=3),
)

RESULTS = (
    *_TARGET,
    Column("case", "text"),
    Column("case_hash", "text"),
    Column("interface", "text"),
    Column("clause", "text"),
    Column("group", "text"),
    Column("level", "text"),
    Column("verdict", "text"),
    Column("reading", "text"),
    Column("observation", "text"),
    Column("reason", "text"),
    Column("accepted", "texts"),
    Column("signature", "text"),
    Column("cause_field", "text"),
    Column("cause_value", "text"),
    Column("difference_field", "text"),
    Column("difference_expected", "text"),
    Column("difference_found", "text"),
    Column("duration_us", "count"),
    Column("runs", "count"),
    Column("same", "count"),
    Column("hazard", "flag"),
    Column("overdue", "flag"),
    Column("deviation", "text"),
    Column("deviation_expires", "text"),
    Column("deviation_expired", "flag"),
    Column("origin", "text", since=3),
    Column("role", "text", since=3),
    Column("again", "text", since=4),
)
"""One row a case of a bundle; what is empty is empty text, never null.

``level`` and ``origin`` are those by which the case was judged, whatever the law says later;
``role`` is the part of the target that the clause is about, as the catalogue said at the ingest.
``again`` is the command that shows the case again: ``replay`` where the exchange can be sent from
the bundle, else ``run``, ``hazardous`` (run with this option), ``client`` or ``judge``.
"""

RUNS = (
    *_TARGET,
    Column("file", "text"),
    Column("format", "count"),
    Column("kit", "text"),
    Column("spec", "texts"),
    Column("seed", "text"),
    Column("fingerprint", "texts"),
    Column("given", "texts"),
    Column("profile", "text"),
    Column("reading", "text"),
    Column("selection", "texts"),
    Column("readings", "texts"),
    Column("claims", "texts"),
    Column("not_judged", "texts"),
    Column("cases", "count"),
    Column("quarantined", "count"),
    Column("exit", "count"),
    Column("statement", "text"),
    Column("interrupted", "flag"),
    Column("findings", "count", since=2),
    Column("origins", "texts", since=3),
    Column("path", "text", since=3),
    Column("target_role", "text", since=3),
)
"""One row a bundle; pairs stand as ``name=value``, ``path`` is where it lay when taken in.

``target_role`` is ``broker``, ``client``, ``proxy`` for traffic between clients and a broker,
``adapter`` for a system behind one, or ``document`` for documents in files. Until version 3 only
clients and proxies have it."""

GRAMMAR = (
    *_TARGET,
    Column("frame", "text"),
    Column("field", "text"),
    Column("way", "text"),
    Column("sent", "count"),
    Column("values", "count"),
)
"""One row for a field of a frame in a bundle: how often it was sent ``whole``, ``cut`` or
``wrong`` on purpose, or in one of the fuzzer's mutations, and how many different values it had
(0 where they were not counted)."""

FINDINGS = (
    *_TARGET,
    Column("finding", "text", since=2),
    Column("violated", "text", since=2),
    Column("words", "text", since=2),
    Column("state", "text", since=2),
    Column("frame", "text", since=2),
    Column("field", "text", since=2),
    Column("answer", "text", since=2),
    Column("mutation", "text", since=2),
    Column("seed", "text", since=2),
    Column("index", "text", since=2),
    Column("shown", "count", since=2),
    Column("runs", "count", since=2),
    Column("seen", "count", since=2),
    Column("deviation", "text", since=2),
    Column("deviation_expires", "text", since=2),
)
"""One row for what a fuzz campaign found; ``seed`` and ``index`` make its first case again."""

CAMPAIGNS = (
    *_TARGET,
    Column("seed", "text", since=2),
    Column("duration_ms", "count", since=2),
    Column("executed", "count", since=2),
    Column("skipped", "count", since=2),
    Column("left_out", "count", since=2),
    Column("not_again", "count", since=2),
    Column("workers", "count", since=2),
)
"""One row a fuzz campaign: how many cases it sent in how long."""

QUARANTINE = (
    Column("bundle", "text"),
    Column("batch", "count", since=3),
    Column("file", "text"),
    Column("line", "count"),
    Column("reason", "text"),
    Column("record", "bytes"),
)
"""One row for a line of a bundle that is no record of this version, as it was; or one row, with
line 0, for a bundle that was refused whole."""

VIEWS: dict[str, tuple[Column, ...]] = {
    "results": RESULTS,
    "runs": RUNS,
    "grammar": GRAMMAR,
    "findings": FINDINGS,
    "campaigns": CAMPAIGNS,
    "quarantine": QUARANTINE,
}
"""The columns of each view, without those that are partition columns of the table."""

KINDS: dict[str, str] = {
    "results": "result",
    "runs": "run",
    "grammar": "grammar",
    "findings": "finding",
    "campaigns": "campaign",
    "quarantine": "quarantine",
}
"""What the column ``kind`` is in the rows of each view."""

COLUMNS: tuple[Column, ...] = tuple(
    {column.name: column for columns in VIEWS.values() for column in columns}.values()
)
"""All columns of the table but the partition columns; a name has one type in all views."""

PARTITIONS = ("kind", "protocol", "day")
"""Partition columns: two texts, and the date on which the run began, in UTC. A refused bundle has
no protocol and no day."""
