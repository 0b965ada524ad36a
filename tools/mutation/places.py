"""Where in a file a mutant's change is: the lines of its statement, or of that one's head."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mutants import PACKAGE, Mutant


def lines_of(mutant: Mutant, tree: Path) -> range | None:
    """Return the lines, from 1, of the statement that a mutant changes; None stands for any line.

    A change in the head of the function, that is in its defaults, belongs to no statement.
    """
    path = tree / PACKAGE / mutant.file
    changed = mutant.first + _offset(_source(path)[mutant.first - 1 :], mutant.text.split("\n"))
    around = [statement for statement in _statements(path) if changed in statement]
    inside = [each for each in around if each.start > _body(path, mutant.first)]
    return min(inside, key=len, default=None)


def _offset(before: list[str], after: list[str]) -> int:
    """Return how many lines are the same before the first that is not."""
    pairs = zip(before, after, strict=False)
    return next((n for n, (was, becomes) in enumerate(pairs) if was != becomes), 0)


@cache
def _source(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


@cache
def _statements(path: Path) -> tuple[range, ...]:
    return tuple(_extents(ast.parse("\n".join(_source(path)))))


def _extents(module: ast.Module) -> Iterator[range]:
    """Yield the lines of each statement; of one that has others inside, those of its head."""
    for node in ast.walk(module):
        if not isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            continue
        first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
        body: list[ast.stmt] = getattr(node, "body", [])
        last = body[0].lineno - 1 if body else node.end_lineno or first
        yield range(first, max(first, last) + 1)


@cache
def _body(path: Path, first: int) -> int:
    """Return the last line of the head of the function that begins there, decorators included."""
    for node in ast.walk(ast.parse("\n".join(_source(path)))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            begins = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if begins == first:
                return max(node.lineno, node.body[0].lineno - 1)
    raise LookupError(f"{path}:{first}: expected a function there")
