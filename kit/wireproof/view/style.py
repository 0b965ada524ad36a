"""Terminal colours, which never carry meaning alone, and lines of 80 columns."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from wireproof_kit.decoding.printable import escape_unprintable
from wireproof_spec.record import Verdict

COLUMNS = 80
HEAD = 9

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


def flow_pieces(head: str, pieces: Iterable[str]) -> Iterator[str]:
    """Return lines with pieces side by side after a heading, as many per line as fit.

    Like `wrap_after_heading` for texts that others wrote: what is unprintable is escaped, so no
    colours.
    """
    head = escape_unprintable(head)
    line = f"{head:<{HEAD}}" if len(head) < HEAD else f"{head}   "
    empty = line
    for piece in map(escape_unprintable, pieces):
        joined = line + piece if line == empty else f"{line}   {piece}"
        if len(joined) > COLUMNS and line != empty:
            yield line
            empty = " " * HEAD
            line = empty + piece
        else:
            line = joined
    if line.strip():
        yield line.rstrip()


def wrap_after_heading(head: str, text: str, *, indent: int = HEAD) -> list[str]:
    """Return a text wrapped to 80 columns after a heading; long words are kept whole.

    A heading that leaves no room for text has its own line. Unprintable characters are escaped, so
    the text must have no colours.
    """
    head = escape_unprintable(head)
    lines = textwrap.wrap(
        escape_unprintable(" ".join(text.split())),
        COLUMNS - indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if len(head.rstrip()) >= indent > 0:
        return [head.rstrip(), *(" " * indent + line for line in lines)]
    first, *rest = lines or [""]
    return [f"{head:<{indent}}{first}".rstrip(), *(" " * indent + line for line in rest)]
