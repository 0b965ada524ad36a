"""Whether words are a literal quotation of a published text, and in which of its sections.

A quotation is compared in a normal form, which both sides are brought into: HTML entities are
decoded, Markdown's backslashes, asterisks and backticks are left out, and each run of white space
is one blank. Nothing else is forgiven: neither letter case, nor an ellipsis, nor a misspelling.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence

_FENCE = "```"
_MARKS = re.compile(r"\\(?=[^a-zA-Z0-9\s])|[*`]")
_TAG = re.compile(r"</?\w[^>]*>")
_HEADING = re.compile(r" {0,3}(?:[-*] )?#{1,6} (?P<title>.*)")


def normal_form(text: str) -> str:
    """Return a text as it is compared: without marks, entities and line breaks."""
    return " ".join(_MARKS.sub("", html.unescape(text)).split())


def stands(words: str, text: str) -> bool:
    """Return True if the words stand literally in the text, not cut within a word."""
    quoted = normal_form(words)
    before = r"\b" if quoted[:1].isalnum() else ""
    after = r"\b" if quoted[-1:].isalnum() else ""
    pattern = f"{before}{re.escape(quoted)}{after}"
    return bool(quoted) and re.search(pattern, normal_form(text)) is not None


def sections(text: str, *, headings: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the text below each heading, up to the next one of any depth.

    What stands above the first heading is the section ``""``. Sections of one name are joined.
    ``headings`` are those of a text that has lost its marks.
    """
    found: dict[str, list[str]] = {"": []}
    section = ""
    for title, line in _lines(text, headings):
        section = section if title is None else title
        found.setdefault(section, []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def _lines(text: str, headings: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Return each line, with the title if it is a heading; a line of code never is one."""
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
