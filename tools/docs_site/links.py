"""Finds links in Markdown whose page, file or anchor does not exist. Standard library only.

Anchors are those that Python-Markdown makes of headings, which are GitHub's for all plain words.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+|~~~+).*?^ *(?P=fence) *$", re.MULTILINE | re.DOTALL
)
CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"(?<!\\)\]\(\s*<?(?P<inline>[^()\s>]*)>?(?:\s+\"[^\"]*\")?\s*\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s+<?(?P<reference>[^\s>]+)>?", re.MULTILINE)
ATTRIBUTE = re.compile(r"\b(?:href|src)=\"(?P<attribute>[^\"]*)\"")
HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *#* *$", re.MULTILINE)
EXPLICIT = re.compile(r"\{:? ?#(?P<id>[^ }]+)[^}]*\}|\bid=\"(?P<attribute>[^\"]+)\"")
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:|//", re.IGNORECASE)


def broken(pages: Iterable[Path]) -> Iterator[tuple[Path, int, str]]:
    """Yield page, line and a sentence for each link to something that does not exist."""
    for page in pages:
        text = page.read_text("utf-8")
        for line, target in links(text):
            if fault := _fault(page, target):
                yield page, line, fault


def links(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and target of each link outside of code and comments."""
    plain = _without_code(text)
    for pattern in (LINK, REFERENCE, ATTRIBUTE):
        for found in pattern.finditer(plain):
            yield plain.count("\n", 0, found.start()) + 1, found[1]


def relocate(text: str, move: Callable[[str], str]) -> str:
    """Return a text in which each inline link outside of code leads where ``move`` says."""
    pieces: list[str] = []
    at = 0
    for found in LINK.finditer(_without_code(text)):
        start, end = found.span("inline")
        pieces += [text[at:start], move(text[start:end])]
        at = end
    return "".join((*pieces, text[at:]))


def _fault(page: Path, target: str) -> str:
    if ELSEWHERE.match(target):
        return ""
    name, _, anchor = target.partition("#")
    aim = page if not name else page.parent / name
    if not aim.exists():
        return f"link to {target!r}: there is no such file"
    if anchor and aim.suffix == ".md" and anchor not in anchors(aim):
        return f"link to {target!r}: the page has no such heading"
    return ""


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page: those of its headings, and those given by hand."""
    plain = FENCE.sub(_blank, page.read_text("utf-8"))
    given = {found["id"] or found["attribute"] for found in EXPLICIT.finditer(plain)}
    return frozenset(given | {slug(found["text"]) for found in HEADING.finditer(plain)})


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", EXPLICIT.sub("", heading))
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _without_code(text: str) -> str:
    for pattern in (FENCE, COMMENT, CODE):
        text = pattern.sub(_blank, text)
    return text


def _blank(found: re.Match[str]) -> str:
    """Return as many characters and lines as were found."""
    return re.sub(r"[^\n]", " ", found[0])
