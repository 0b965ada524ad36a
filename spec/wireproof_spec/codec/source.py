"""Python source being written: one function, the constants it names, names of its own."""

import builtins
import linecache
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

_INDENT = "    "


class NotGenerated(Exception):
    """A shape for which no code is written: interpreted construct serves it."""


class Source:
    """The lines of one function; a line may hold several, indented further by blanks."""

    def __init__(self) -> None:
        self.constants: dict[str, object] = {"__builtins__": builtins}
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0

    def line(self, text: str) -> None:
        """Write a statement."""
        margin = _INDENT * self._depth
        self._lines += [f"{margin}{each}" for each in text.split("\n")]

    @contextmanager
    def block(self, head: str) -> Generator[None, None, None]:
        """Write what stands below a head such as `while at < end:`."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, hint: str) -> str:
        """Return a name that nothing else has."""
        self._names += 1
        return f"{hint}_{self._names}"

    def constant(self, value: object, hint: str) -> str:
        """Return the name of a constant."""
        name = self.name(hint.upper())
        self.constants[name] = value
        return name

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(self._lines) + "\n"

    def function(self, name: str, origin: str) -> Callable[..., object]:
        """Return the function of that name; tracebacks show its lines as those of `origin`."""
        text, place = self.text(), f"<{name} {origin}>"
        linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
        exec(compile(text, place, "exec"), self.constants)
        return cast("Callable[..., object]", self.constants[name])
