"""Terminal colours, which never carry meaning alone, and lines of 40 to 80 columns."""

import re
import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from wireproof.view.terminal import columns
from wireproof_kit.decoding.printable import clip, escape_unprintable
from wireproof_spec.record import Verdict

HEAD = 9
CONTINUED = " \\"
"""How the line of a command ends that goes on in the next line."""
LEAST_TEXT = 20
"""Columns that a text beside a heading has at least; with fewer it stands below the heading."""

Tone = Literal["good", "other", "bad", "doubt", "faint", "strong"]

_CODES: dict[Tone, str] = {
    "good": "32",
    "other": "36",
    "bad": "1;31",
    "doubt": "33",
    "faint": "2",
    "strong": "1",
}

COLOUR_CODES = (*_CODES.values(), "0")
"""All that `Style` writes into an escape sequence; the last one ends a colour."""

TONES: dict[Verdict, Tone] = {
    "pass": "good",
    "reading": "other",
    "fail": "bad",
    "known": "doubt",
    "unsupported": "faint",
    "inconclusive": "doubt",
    "unstable": "doubt",
    "error": "bad",
}


@dataclass(frozen=True, slots=True)
class Style:
    """Adds colour codes to text for a terminal, or leaves it as it is."""

    coloured: bool = False

    def paint(self, text: str, tone: Tone) -> str:
        """Return the text in the colour of a tone, such as good or bad."""
        return f"\x1b[{_CODES[tone]}m{text}\x1b[0m" if self.coloured and text else text


PLAIN = Style()


def cut_id(name: str) -> str:
    """Return the id of a case for a text: on a terminal its middle is left out if it is too long.

    Elsewhere it is whole, since a log is searched.
    """
    name = escape_unprintable(name)
    return clip(name, columns() - HEAD) if sys.stdout.isatty() else name


def last_lines(words: str, tone: Tone, more: str, end: str, style: Style) -> Iterator[str]:
    """Return the last line of a command, such as ``NO FAILURE   12 cases   exit 0``.

    If all of it does not fit on the line, ``more`` stands before it.
    """
    text = f"{words}   {more}"
    if len(text) + 3 + len(end) > columns():
        yield from wrap_after_heading("", more)
        text = words
    room = max(columns() - len(text) - len(end), 3)
    yield style.paint(words, tone) + text.removeprefix(words) + " " * room + end


def flow_pieces(head: str, pieces: Iterable[str]) -> Iterator[str]:
    """Return lines with pieces side by side after a heading, as many per line as fit.

    Like `wrap_after_heading` for texts that others wrote: what is unprintable is escaped, so no
    colours.
    """
    head = escape_unprintable(head)
    line = f"{head:<{HEAD}}" if len(head) < HEAD else f"{head}   "
    empty = line
    for piece in chain.from_iterable(map(_fit_piece, pieces)):
        joined = line + piece if line == empty else f"{line}   {piece}"
        if len(joined) > columns() and (line != empty or len(head) >= HEAD):
            yield line.rstrip()
            head = ""
            empty = " " * HEAD
            line = empty + piece
        else:
            line = joined
    if line.strip():
        yield line.rstrip()


def _fit_piece(piece: str) -> list[str]:
    """Return a piece in as many lines as it needs beside an empty heading."""
    text = escape_unprintable(piece)
    if len(text) <= columns() - HEAD:
        return [text]
    return textwrap.wrap(text, columns() - HEAD, break_long_words=False, break_on_hyphens=False)


def wrap_command(head: str, command: str, *, indent: int = HEAD) -> list[str]:
    """Return a command beside a heading, in as many lines as it needs; words are kept whole.

    All lines but the last end in a backslash, so that a shell takes what is copied as one command.
    """
    room = columns() - indent - len(CONTINUED)
    lines: list[str] = []
    for piece in _pair_options(map(shlex.quote, shlex.split(escape_unprintable(command)))):
        if lines and len(lines[-1]) + 1 + len(piece) <= room:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    heads = [head, *[""] * (len(lines) - 1)]
    ends = [*[CONTINUED] * (len(lines) - 1), ""]
    return [f"{h:<{indent}}{line}{end}" for h, line, end in zip(heads, lines, ends, strict=True)]


def _pair_options(words: Iterable[str]) -> list[str]:
    """Return the words of a command, each option joined with the word behind it."""
    pieces: list[str] = []
    for word in words:
        is_value = bool(pieces) and re.fullmatch(r"-\S+", pieces[-1]) and word[0] != "-"
        pieces = [*pieces[:-1], f"{pieces[-1]} {word}"] if is_value else [*pieces, word]
    return pieces


def wrap_after_heading(head: str, text: str, *, indent: int = HEAD) -> list[str]:
    """Return a text wrapped to the width of a line after a heading; long words are kept whole.

    A heading that leaves no room for text has its own line. Unprintable characters are escaped, so
    the text must have no colours.
    """
    head = escape_unprintable(head)
    if columns() - indent < LEAST_TEXT:
        indent = columns() // 10
    lines = textwrap.wrap(
        escape_unprintable(" ".join(text.split())),
        columns() - indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if len(head.rstrip()) >= indent > 0:
        return [head.rstrip(), *(" " * indent + line for line in lines)]
    first, *rest = lines or [""]
    return [f"{head:<{indent}}{first}".rstrip(), *(" " * indent + line for line in rest)]
