"""Python source being generated: one function, its constants, and unique names."""

import builtins
import linecache
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import cast

_INDENT = "    "


class NotGenerated(Exception):
    """A shape for which no code can be generated; interpreted construct is used for it."""


class Source:
    """The lines of one function; a line may contain line breaks and further indentation."""

    def __init__(self) -> None:
        self.constants: dict[str, object] = {"__builtins__": builtins}
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0

    def line(self, text: str) -> None:
        """Add a statement."""
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
        """Return a name that is not used yet."""
        self._names += 1
        return f"{hint}_{self._names}"

    def constant(self, value: object, hint: str) -> str:
        """Return the name of a constant with this value."""
        name = self.name(hint.upper())
        self.constants[name] = value
        return name

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(self._lines) + "\n"

    def function(self, name: str, origin: str) -> Callable[..., object]:
        """Compile and return the function of that name; tracebacks show its lines as `origin`."""
        text, place = self.text(), f"<{name} {origin}>"
        linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
        exec(compile(text, place, "exec"), self.constants)
        return cast("Callable[..., object]", self.constants[name])
