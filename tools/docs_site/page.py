"""A page of Markdown, and the few shapes that pages are made of."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

# What Markdown reads as markup in plain words; an underscore within a word is harmless.
SPECIAL = re.compile(r"([\\`*\[\]#{}]|\b_|_\b)")


@dataclass(frozen=True, slots=True)
class Page:
    """A page by its path below the folder of all pages, and its text."""

    path: str
    text: str

    @property
    def title(self) -> str:
        """The first heading, without markup."""
        heading = next(line for line in self.text.splitlines() if line.startswith("# "))
        return re.sub(r"\s*\{#.*\}$|`", "", heading.removeprefix("# "))


def page(path: str, lines: Iterable[str]) -> Page:
    """Return a page from its lines, which an empty line separates where they say so."""
    return Page(path, re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n")


def words(text: str) -> str:
    """Return plain words as Markdown that shows exactly them."""
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    return SPECIAL.sub(r"\\\1", plain)


def prose(text: str) -> str:
    """Return paragraphs of plain words, in which text between backticks is code, as Markdown."""
    paragraphs = re.split(r"\n\s*\n", text.replace("``", "`").strip())
    return "\n\n".join("".join(_spans(" ".join(paragraph.split()))) for paragraph in paragraphs)


def _spans(text: str) -> Iterator[str]:
    for number, piece in enumerate(text.split("`")):
        lead, tail = piece[:1].isspace(), piece[-1:].isspace() and bool(piece.strip())
        yield code(piece) if number % 2 else f"{' ' * lead}{words(piece)}{' ' * tail}"


def code(text: str) -> str:
    """Return text as inline code; a longer fence encloses backticks."""
    fence = "``" if "`" in text else "`"
    space = " " if "`" in text else ""
    return f"{fence}{space}{text}{space}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table between empty lines; a bar in a cell is escaped, in code too."""
    yield ""
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(_cell(text) for text in row)} |"
    yield ""


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def facts(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield a list of named facts, without those that are empty."""
    yield ""
    yield from (f"- **{name}:** {text}" for name, text in rows if text)
    yield ""


def folded(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a part that a click unfolds."""
    yield ""
    yield f'??? note "{title}"'
    yield ""
    yield from (f"    {line}" if line else "" for line in lines)
    yield ""
