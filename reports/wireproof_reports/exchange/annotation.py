"""Annotated bytes: the lines that a report shows, each with the name of its part."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wireproof_reports.wording import printable
from wireproof_spec.step_record import StepRecord

HEAD_BYTES = 40
TAIL_BYTES = 8
LONGEST_TEXT = 160


@dataclass(frozen=True, slots=True)
class Part:
    """A labelled range of bytes in a message; ``value`` is the decoded value as text."""

    offset: int
    length: int
    label: str
    value: str = ""
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a dump: a part's bytes in hex, shortened in the middle if long, and its value.

    ``wrong``: the part was made wrong on purpose. ``differs``: the value expected instead, in the
    first part of an answer that differs.
    """

    offset: int
    length: int
    head: str
    omitted: int
    tail: str
    label: str
    value: str
    wrong: bool
    differs: str = ""


def label_parts(parts: Iterable[tuple[int, int, str, bool]]) -> tuple[Part, ...]:
    """Return the parts of a sent frame from the record; a label `size = 21` is split in two."""
    named: list[Part] = []
    for offset, length, label, wrong in parts:
        name, _, value = label.partition(" = ")
        named.append(Part(offset, length, name, value, wrong))
    return tuple(named)


def lines(data: bytes, parts: Iterable[Part]) -> tuple[Line, ...]:
    """Return the lines of a dump: every byte of the data once, in order, labelled by its part."""
    return tuple(_line(data, part) for part in _fill_gaps(data, parts))


def clip(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text shortened in its middle to at most `longest` characters."""
    if len(text) <= longest:
        return text
    return f"{text[: longest * 2 // 3]} … {text[-longest // 4 :]}"


def read_bytes(step: StepRecord) -> bytes:
    """Return the bytes of a step; empty if the record of them is damaged."""
    try:
        return step.data()
    except ValueError:
        return b""


def space_hex(data: bytes) -> str:
    """Return bytes as hex digits in pairs with spaces between: ``0a 1b``."""
    return data.hex(" ")


def _fill_gaps(data: bytes, parts: Iterable[Part]) -> Iterator[Part]:
    """Clip parts to the data and add unnamed parts for gaps; recorded offsets are not trusted."""
    end = 0
    for part in sorted(parts, key=lambda part: (part.offset, part.length)):
        start = min(max(part.offset, end), len(data))
        stop = min(part.offset + part.length, len(data))
        if part.length and start >= stop:
            continue
        if start > end:
            yield Part(end, start - end, "")
        yield Part(start, max(stop - start, 0), part.label, part.value, part.wrong)
        end = max(end, stop)
    if end < len(data):
        yield Part(end, len(data) - end, "")


def _line(data: bytes, part: Part) -> Line:
    piece = data[part.offset : part.offset + part.length]
    long = len(piece) > HEAD_BYTES + 2 * TAIL_BYTES
    return Line(
        offset=part.offset,
        length=part.length,
        head=space_hex(piece[:HEAD_BYTES] if long else piece),
        omitted=len(piece) - HEAD_BYTES - TAIL_BYTES if long else 0,
        tail=space_hex(piece[-TAIL_BYTES:]) if long else "",
        label=part.label,
        value=_value(part, piece),
        wrong=part.wrong,
    )


def _value(part: Part, piece: bytes) -> str:
    """Return the value to show: a recorded number as it is, text as it is in the bytes."""
    if part.value and part.value[0] not in "\"'{[" and not part.value.startswith(("b'", 'b"')):
        return clip(printable(part.value.encode("utf-8", "backslashreplace")))
    text = printable(piece[: 4 * LONGEST_TEXT])
    return "" if text.count("\\x") > len(piece) // 3 else clip(text)
