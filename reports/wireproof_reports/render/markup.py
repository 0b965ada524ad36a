"""Lines of Markdown in which no text from outside is markup.

The writers of Markdown yield lines of type `Markdown` alone, and only this module makes them. A
type checker refuses a text from outside as the form of a line.
"""

import re
from typing import LiteralString
from urllib.parse import quote

from wireproof_reports.wording import escape_unprintable

_ACTIVE = r"[\\`*_{}\[\]<>|#~&!]"
"""Signs by which text becomes Markdown or HTML."""


class Markdown(str):
    """A text that is Markdown: markup of ours, and texts from outside without any."""

    __slots__ = ()


def fill(form: LiteralString, *texts: str | int) -> Markdown:
    """Return a form with a text for each ``{}``; texts that are no Markdown are escaped."""
    return Markdown(form.format(*map(_escape, texts)))


def join(separator: LiteralString, texts: list[Markdown]) -> Markdown:
    """Return several texts as one."""
    return Markdown(separator.join(texts))


def code(text: str) -> Markdown:
    """Return the text as inline code, with a fence longer than its backticks.

    A bar in a fence would end the cell of a table, so a text with a bar is code in HTML.
    """
    line = _line(text) or " "
    if "|" in line:
        active = re.sub(_ACTIVE, lambda sign: f"&#{ord(sign[0])};", line)
        return Markdown(f"<code>{active}</code>")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return Markdown(f"{fence}{pad}{line}{pad}{fence}")


def address(path: str) -> Markdown:
    """Return the target of a link."""
    return Markdown(quote(path, safe="/#~%"))


def block(text: str) -> Markdown:
    """Return the text as a line of a code block."""
    return Markdown(f"    {_line(text)}")


def _escape(text: str | int) -> str:
    if isinstance(text, Markdown | int):
        return str(text)
    return re.sub(_ACTIVE, r"\\\g<0>", _line(text))


def _line(text: str) -> str:
    """Return text as one line of printable signs."""
    return escape_unprintable(" ".join(text.split()))
