"""A strict reader of HTML pages: what a browser would forgive is a fault here."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "col", "input", "link", "img", "hr"}


@dataclass(slots=True)
class Element:
    """One element with its attributes, its ancestors' names and its text."""

    tag: str
    attributes: dict[str, str]
    ancestors: tuple[str, ...]
    children: list["Element"] = field(default_factory=list["Element"])
    pieces: list[str] = field(default_factory=list[str])

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class PageReader(HTMLParser):
    """Reads one page into a list of elements, in document order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.faults: list[str] = []
        self._open: list[Element] = []
        self.feed(page)
        self.close()
        self.faults += [f"<{element.tag}> is never closed" for element in self._open]

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.faults.append(f"<{tag}> has an attribute twice: {names}")
        ancestors = tuple(element.tag for element in self._open)
        element = Element(tag, {name: value or "" for name, value in attrs}, ancestors)
        self.elements.append(element)
        if self._open:
            self._open[-1].children.append(element)
        if tag not in VOID and not (ancestors and "svg" in ancestors):
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.elements.append(
            Element(
                tag,
                {name: value or "" for name, value in attrs},
                tuple(element.tag for element in self._open),
            )
        )

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            inner = self._open[-1].tag if self._open else "nothing"
            self.faults.append(f"</{tag}> closes <{inner}>, line {self.getpos()[0]}")
            return
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.pieces.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def values(self, name: str) -> list[str]:
        return [e.attributes[name] for e in self.elements if name in e.attributes]
