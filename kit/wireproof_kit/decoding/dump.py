"""Annotated hex dumps in 40 to 80 columns: for decoded bytes, sent frames and failing answers.

A dump has three columns: a title or the offset, eight bytes in hex, and what they mean. On a
narrow terminal the meaning stands below the bytes. Long
runs and long texts are elided in the middle, many parts too; a part that was made wrong on
purpose is never left out. Everything that comes from bytes is made printable, so that no
content can reach a terminal as a control sequence.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wireproof_kit.decoding.printable import clip, pad, printable, width, wrap_text
from wireproof_kit.wire.transcript import Part

COLUMNS = 80
HEAD = 12
BYTES = 8
LABEL = 40
LEAST_LABEL = 38
"""Columns that a label beside its bytes has at least; with fewer it stands below them.

The longest names with their values and the mark of a difference take so many.
"""
BELOW = HEAD + 2
MARK = "<-- made wrong here"
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Measure:
    """Limits a hex dump: rows for each part, parts of a dump, and columns of a line."""

    rows: int = 1
    parts: int = 40
    columns: int = COLUMNS

    @property
    def label(self) -> int:
        """The column at which labels begin."""
        return LABEL if self.columns - LABEL >= LEAST_LABEL else BELOW

    @property
    def room(self) -> int:
        """The number of columns of a label."""
        return self.columns - self.label


BRIEF = Measure()


def dump_parts(
    title: str, data: bytes, parts: Sequence[Part] = (), *, measure: Measure = BRIEF
) -> list[str]:
    """Return the lines of an annotated hex dump under a title such as ``sent``."""
    lines = list(_lines(data, parts, measure=measure, base=None))
    return _add_heading(title, lines)


def dump_numbered(
    data: bytes, parts: Sequence[Part] = (), *, base: int = 0, measure: Measure = BRIEF
) -> list[str]:
    """Return the lines of an annotated hex dump, each part headed by its offset from ``base``."""
    return list(_lines(data, parts, measure=measure, base=base))


def fill_gaps(data: bytes, parts: Sequence[Part]) -> list[Part]:
    """Return the parts ordered by offset, with an unlabelled part for each gap between them."""
    complete: list[Part] = []
    end = 0
    for part in sorted(parts, key=lambda part: (part.offset, -part.length)):
        if part.offset > end:
            complete.append(_name_gap(data, end, part.offset))
        complete.append(part)
        end = max(end, part.offset + part.length)
    if end < len(data):
        complete.append(_name_gap(data, end, len(data)))
    return complete


def _name_gap(data: bytes, start: int, end: int) -> Part:
    text = data[start : min(end, start + 4 * LABEL)].decode("ascii", "replace")
    readable = "".join(sign if " " <= sign <= "~" else "." for sign in text)
    return Part(start, end - start, readable)


def _lines(
    data: bytes, parts: Sequence[Part], *, measure: Measure, base: int | None
) -> Iterator[str]:
    complete = fill_gaps(data, parts)
    before = -1
    for index in _kept_parts(complete, measure.parts):
        if index > before + 1:
            skipped = complete[before + 1 : index]
            count = sum(part.length for part in skipped)
            yield _left_out(count, what=f"{len(skipped)} parts, ")
        yield from _part_lines(data, complete[index], measure, base=base)
        before = index


def _kept_parts(parts: Sequence[Part], most: int) -> Iterable[int]:
    count = len(parts)
    if count <= most:
        return range(count)
    head = most - most // 3
    kept = {*range(head), *range(count - (most - head), count)}
    kept |= {index for index, part in enumerate(parts) if part.wrong}
    return sorted(kept)


def _part_lines(data: bytes, part: Part, measure: Measure, *, base: int | None) -> Iterator[str]:
    hex_rows = _hex_rows(data, part, measure.rows)
    label_rows = wrap_text(printable(part.label), columns=measure.room, rows=measure.rows) or [""]
    if part.wrong:
        label_rows[:1] = _add_mark(label_rows[0], measure.room)
    if measure.label == BELOW:
        label_rows = [*[""] * len(hex_rows), *label_rows]
    missing = len(label_rows) - len(hex_rows)
    hex_rows += [(None, "")] * missing
    label_rows += [""] * -missing
    for (offset, text), label in zip(hex_rows, label_rows, strict=True):
        head = "" if base is None or offset is None else f"{base + offset:>10}"
        yield f"{head:<{HEAD}}{text:<{measure.label - HEAD}}{label}".rstrip()


def _add_mark(label: str, room: int) -> list[str]:
    """Return the label followed by the mark, or the mark on the next line if both do not fit."""
    if width(label) + 2 + len(MARK) > room:
        return [label, MARK]
    return [pad(label, max(17, width(label) + 2)) + MARK]


def _hex_rows(data: bytes, part: Part, rows: int) -> list[tuple[int | None, str]]:
    """Return (offset, hex) for each row of a part; the row for omitted bytes has no offset."""
    end = min(part.offset + part.length, len(data))
    starts = range(part.offset, end, BYTES)

    def format_row(start: int) -> tuple[int | None, str]:
        return start, data[start : min(start + BYTES, end)].hex(" ")

    if len(starts) <= rows:
        return [format_row(start) for start in starts] or [(part.offset, "")]
    if rows == 1:
        offset, text = format_row(part.offset)
        return [(offset, f"{text} {ELLIPSIS}")]
    head = rows // 2
    tail = rows - 1 - head
    hidden = starts[head : len(starts) - tail]
    last = hidden[-1] + BYTES if tail else end
    gap = f"{ELLIPSIS} {last - hidden[0]} bytes left out"
    after = starts[len(starts) - tail :]
    return [*map(format_row, starts[:head]), (None, gap), *map(format_row, after)]


def _left_out(count: int, *, what: str = "") -> str:
    return f"{'':{HEAD}}{ELLIPSIS} {what}{count} bytes left out"


def _add_heading(title: str, lines: list[str]) -> list[str]:
    if not lines:
        return [f"  {title}".rstrip()]
    head = f"  {clip(printable(title), HEAD - 3)}"
    return [f"{head:<{HEAD}}{lines[0][HEAD:]}".rstrip(), *lines[1:]]
