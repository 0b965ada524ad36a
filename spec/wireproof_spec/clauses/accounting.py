"""Accounts for every sentence of a published text: clauses cover it, or it is not normative.

The texts must not be copied. So the table has the section, position and hash of each sentence, and
everyone who has the text can check that no sentence is missing or has changed.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator, Sequence

import msgspec

from wireproof_spec.protocol import find_protocol

_FENCE = "```"
_PRE = re.compile(r"</?pre>")
_SENTENCE_END = re.compile(r"(?<=[.?!。])\s+(?=[A-Z(`\"])|(?<=[a-z]\.)(?=[A-Z][a-z]+ )")
_BULLET = re.compile(r"(?:> *)?(?:[-*]|\d+\.) ")


class Sentence(msgspec.Struct, frozen=True):
    """One sentence, list item or line of code of a published text.

    ``section`` is its heading; ``position`` counts from 1 within the section.
    """

    section: str
    position: int
    text: str

    @property
    def hash(self) -> str:
        """The first 16 hex digits of the SHA-256 of the text with white space collapsed."""
        return hashlib.sha256(" ".join(self.text.split()).encode()).hexdigest()[:16]


class SentenceAccount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The clauses that cover a sentence of a published text, or in ``why`` the reason for none."""

    section: str
    position: int
    hash: str
    clauses: tuple[str, ...] = ()
    why: str = ""


class Account(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For one published text: which clauses cover each of its sentences.

    For a text without Markdown marks, ``headings`` lists its headings, and ``alone`` the
    beginnings of lines that are paragraphs of their own: see `add_marks`.
    """

    document: str
    entry: tuple[SentenceAccount, ...]
    headings: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    def sentences(self, text: str) -> Iterator[Sentence]:
        """Yield the sentences of the published text, with their sections and positions."""
        if self.headings:
            text = add_marks(text, headings=self.headings, alone=self.alone)
        return sentences(text)


def load_accounts(protocol: str) -> tuple[Account, ...]:
    """Read the tables of a protocol that say which clauses cover each sentence of its texts."""
    folder = find_protocol(protocol).folder() / "accounting"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".toml"))
    texts = [(folder / name).read_text(encoding="utf-8") for name in names]
    return tuple(msgspec.convert(tomllib.loads(text), Account) for text in texts)


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a Markdown text: prose by sentence, lists and code by line.

    A `pre` element counts as a code block.
    """
    section, position = "", 0
    for kind, piece in _pieces(text):
        if kind == "heading":
            section, position = piece, 0
            continue
        for part in _parts(kind, piece):
            position += 1
            yield Sentence(section, position, part)


def add_marks(text: str, *, headings: Sequence[str], alone: Sequence[str] = ()) -> str:
    """Add Markdown marks to a text that has none.

    Code begins with a line that ends in an opening brace, and ends when all braces are closed.
    """
    lines: list[str] = []
    depth = 0
    for line in text.splitlines():
        opens = depth == 0 and line.endswith("{")
        depth += line.count("{") - line.count("}") if opens or depth else 0
        if opens:
            lines.append(_FENCE)
        lines.append(_mark(line, headings, alone) + line)
        if depth == 0 and line.startswith("}"):
            lines.append(_FENCE)
    return "\n".join(lines)


def _mark(line: str, headings: Sequence[str], alone: Sequence[str]) -> str:
    if line in headings:
        return "# "
    return "- " if line.startswith(tuple(alone)) else ""


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Return headings, paragraphs, and single lines of code blocks and lists."""
    in_code = False
    paragraph: list[str] = []
    for line in [*_PRE.sub(f"\n{_FENCE}\n", text).splitlines(), ""]:
        kind = _kind(line, in_code)
        if kind != "prose" and paragraph:
            yield "prose", " ".join(paragraph)
            paragraph = []
        if kind == "fence":
            in_code = not in_code
        elif kind == "prose":
            paragraph.append(line.strip())
        elif kind != "blank":
            yield kind, _bare(kind, line.strip())


def _kind(line: str, in_code: bool) -> str:
    stripped = line.strip()
    if stripped.startswith(_FENCE):
        return "fence"
    if not stripped:
        return "blank"
    if in_code:
        return "code"
    if stripped.startswith("#"):
        return "heading"
    return "bullet" if _BULLET.match(stripped) else "prose"


def _bare(kind: str, line: str) -> str:
    """Return a line without the marks of a heading or list item."""
    if kind == "heading":
        return line.lstrip("# ")
    return _BULLET.sub("", line, count=1).strip() if kind == "bullet" else line


def _parts(kind: str, piece: str) -> list[str]:
    return _SENTENCE_END.split(piece) if kind == "prose" else [piece]
