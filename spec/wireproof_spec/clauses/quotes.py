"""Checks that words are a literal quotation of a published text, and finds the section.

Quotation and text are compared in a normal form: HTML entities are decoded; Markdown's
backslashes, asterisks and backticks are removed; each run of white space is one space. Nothing
else is ignored, neither letter case nor ellipses nor misspellings.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence

_FENCE = "```"
_MARKS = re.compile(r"\\(?=[^a-zA-Z0-9\s])|[*`]")
_TAG = re.compile(r"</?\w[^>]*>")
_HEADING = re.compile(r" {0,3}(?:[-*] )?#{1,6} (?P<title>.*)")


def normal_form(text: str) -> str:
    """Return a text without Markdown marks, entities and line breaks, to compare quotations."""
    return " ".join(_MARKS.sub("", html.unescape(text)).split())


def stands(words: str, text: str) -> bool:
    """Return True if a text contains the quoted words literally, at word boundaries."""
    quoted = normal_form(words)
    before = r"\b" if quoted[:1].isalnum() else ""
    after = r"\b" if quoted[-1:].isalnum() else ""
    pattern = f"{before}{re.escape(quoted)}{after}"
    return bool(quoted) and re.search(pattern, normal_form(text)) is not None


def sections(text: str, *, headings: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the text below each heading by heading, up to the next heading of any level.

    Text above the first heading is the section ``""``. Sections with the same name are joined.
    ``headings`` lists the headings of a text without Markdown marks.
    """
    found: dict[str, list[str]] = {"": []}
    section = ""
    for title, line in _lines(text, headings):
        section = section if title is None else title
        found.setdefault(section, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _lines(text: str, headings: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Yield each line, with its title if it is a heading; a line of code never is."""
    in_code = False
    for line in text.splitlines():
        if line.strip().startswith(_FENCE):
            in_code = not in_code
        heading = None if in_code else _HEADING.fullmatch(line)
        if heading:
            yield normal_form(_TAG.sub("", heading["title"])), ""
        elif line in headings:
            yield line, ""
        else:
            yield None, line
