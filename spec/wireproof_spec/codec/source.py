"""Python source being generated: one function, its constants, and unique names."""

import builtins
import linecache
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

_INDENT = "    "


class NotGenerated(Exception):
    """Raised for a shape for which no code can be generated; construct then interprets it."""


class Source:
    """Collects the lines of a generated function; a line may have line breaks and indentation."""

    def __init__(self) -> None:
        self.constants: dict[str, object] = {"__builtins__": builtins}
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0

    def line(self, text: str) -> None:
        """Add a line to the function, at the current indentation."""
        margin = _INDENT * self._depth
        self._lines += [f"{margin}{each}" for each in text.split("\n")]

    @contextmanager
    def block(self, head: str) -> Generator[None, None, None]:
        """Indent the statements added inside, below a head such as `while at < end:`."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, hint: str) -> str:
        """Return a new variable name that begins like `hint`."""
        self._names += 1
        return f"{hint}_{self._names}"

    def constant(self, value: object, hint: str) -> str:
        """Return the name by which the generated function refers to a value."""
        name = self.name(hint.upper())
        self.constants[name] = value
        return name

    def text(self) -> str:
        """Return the source of the function, all lines joined."""
        return "\n".join(self._lines) + "\n"

    def function(self, name: str, origin: str) -> Callable[..., object]:
        """Compile the source, return function `name`; tracebacks show its lines as `origin`."""
        text, place = self.text(), f"<{name} {origin}>"
        linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
        exec(compile(text, place, "exec"), self.constants)
        return cast("Callable[..., object]", self.constants[name])
