"""Mutants of the reference's cores: mutmut's operators, applied to one function at a time.

mutmut's own runner builds trampolines, which leave out decorated functions and slow every call;
here a mutant is the new text of one function, and the broker swaps that function's code.
"""

import difflib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

import libcst as cst
from libcst._nodes.internal import CodegenState
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

PACKAGE = "wireproof_reference_impl/nsq"
CORES = ("wire", "delivery", "core", "cluster", "lookupd")
UNTOUCHED_CALLS = ("len", "isinstance")


@dataclass(frozen=True)
class Mutant:
    """One function of one file with one change.

    ``was`` and ``becomes`` are the changed lines, stripped. Together with the function, and a
    number among equal changes, they identify the mutant even if other lines of the file move.
    ``first`` and ``last`` are the function's lines in the snapshot, decorators included.
    """

    key: str
    file: str
    function: str
    was: str
    becomes: str
    number: int
    first: int
    last: int
    text: str


def generate(tree: Path) -> Iterator[Mutant]:
    """Yield every mutant of the reference broker's core modules, read from a copy of them."""
    for core in CORES:
        for path in sorted((tree / PACKAGE / core).rglob("*.py")):
            yield from of_source(path.read_text("utf-8"), str(path.relative_to(tree / PACKAGE)))


def of_source(source: str, file: str) -> Iterator[Mutant]:
    """Yield the mutants of one module, given its source."""
    wrapper = MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    for name, function in _functions(wrapper.module.body, ""):
        place = positions[function]
        first = min([place.start.line, *(positions[d].start.line for d in function.decorators)])
        yield from _of_function(source, file, name, function, (first, place.end.line))


def _functions(body: Sequence[cst.CSTNode], above: str) -> Iterator[tuple[str, cst.FunctionDef]]:
    for node in body:
        if isinstance(node, cst.FunctionDef):
            yield f"{above}{node.name.value}", node
        elif isinstance(node, cst.ClassDef):
            yield from _functions(node.body.body, f"{above}{node.name.value}.")


def _of_function(
    source: str, file: str, name: str, function: cst.FunctionDef, place: tuple[int, int]
) -> Iterator[Mutant]:
    first, last = place
    before = source.splitlines()[first - 1 : last]
    module = cst.parse_module(source)
    taken: dict[tuple[str, str], int] = {}
    for original, mutated in _changes(function):
        text = _text(module, function, original, mutated, before)
        was, becomes = _difference(before, text)
        if was == becomes or not _compiles(text):
            continue
        number = taken[was, becomes] = taken.get((was, becomes), -1) + 1
        identity = "\0".join((file, name, was, becomes, str(number)))
        key = f"{file}:{name}#{hashlib.sha256(identity.encode()).hexdigest()[:8]}"
        yield Mutant(key, file, name, was, becomes, number, first, last, "\n".join(text))


def _changes(function: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    visitor = _Visitor()
    function.visit(visitor)
    yield from visitor.found


class _Visitor(cst.CSTVisitor):
    """Collects what mutmut would change, in bodies and plain defaults."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Annotation | cst.Decorator) or _is_call(node, UNTOUCHED_CALLS):
            return False
        if _is_call(node, ("cast",)):  # nothing happens there at run time but its second argument
            node.args[1].value.visit(self)
            return False
        for kind, operator in mutation_operators:
            if isinstance(node, kind):
                self.found += [(node, mutated) for mutated in operator(node)]
        return True


def _is_call(node: cst.CSTNode, names: tuple[str, ...]) -> TypeGuard[cst.Call]:
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Name):
        return False
    return node.func.value in names


def _text(
    module: cst.Module,
    function: cst.FunctionDef,
    original: cst.CSTNode,
    mutated: cst.CSTNode,
    before: list[str],
) -> list[str]:
    """Return the mutated function's lines, indented as in its file."""
    changed = function.deep_replace(original, mutated).with_changes(leading_lines=())
    state = CodegenState(module.default_indent, module.default_newline)
    indent = before[0][: len(before[0]) - len(before[0].lstrip())]
    if indent:
        state.increase_indent(indent)
    changed._codegen(state)
    return "".join(state.tokens).splitlines()


def _difference(before: list[str], after: list[str]) -> tuple[str, str]:
    removed: list[str] = []
    added: list[str] = []
    for line in difflib.ndiff(before, after):
        if line.startswith("- "):
            removed.append(line[2:].strip())
        elif line.startswith("+ "):
            added.append(line[2:].strip())
    return " ".join(removed), " ".join(added)


def _compiles(text: list[str]) -> bool:
    indent = len(text[0]) - len(text[0].lstrip())
    try:
        compile("\n".join(line[indent:] for line in text), "mutant", "exec")
    except SyntaxError:
        return False
    return True
