"""What a forked broker does before it serves: limits, a mutant, a trace, memory for a disk.

Runs in a snapshot, in the broker's own process: the fork server knows no mutant.
"""

import ast
import gc
import json
import resource
import signal
import sys
import textwrap
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

PACKAGE = "wireproof_reference_impl.nsq"
MEMORY_BYTES = 2 << 30
CPU_SECONDS = 120


class Setup(TypedDict):
    """How a broker process differs from the reference: its mutant, its options, its sources.

    ``tree`` is the folder of the snapshot; ``trace`` is the file for what was run.
    """

    tree: str
    memory: bool
    mutant: object
    trace: str | None


def set_up(request: object, options: list[str]) -> None:
    """Prepare this process to be the requested broker."""
    setup, tree = request, Path(request["tree"])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if setup["memory"]:
        _keep_in_memory(options)
    if setup["mutant"]:
        apply(setup["mutant"], tree)  # type: ignore[type-arg]
    if setup["trace"]:
        _trace(Path(setup["trace"]), tree)


def _keep_in_memory(options: list[str]) -> None:
    """Take ``--data`` away, but say in the ready line that there is one: the kit asks for it."""
    at = options.index("--data")
    folder = options[at + 1]
    del options[at : at + 2]
    out = sys.stdout
    print_line = out.write

    def write(text: str) -> int:
        return print_line(text.replace('"data":null', f'"data":{json.dumps(folder)}'))

    out.write = write  # type: ignore[method-assign]


def apply(mutant: dict, tree: Path) -> None:  # type: ignore[type-arg]
    """Put a mutant into the loaded modules: replace the code and defaults of its function.

    Raises:
        LookupError: the snapshot has no such function.
    """
    path = tree / PACKAGE.replace(".", "/") / mutant["file"]
    lines = path.read_text("utf-8").splitlines()
    lines[mutant["first"] - 1 : mutant["last"]] = mutant["text"].split("\n")
    name = mutant["function"]
    gc.unfreeze()
    live = [
        each
        for each in gc.get_objects()
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == str(path)
    ]
    found = [each for each in live if each.__code__.co_qualname == name]
    if not found:
        raise LookupError(f"{path} has no function {name} in use")
    tree_of_it = _closing_over_the_same("\n".join(lines) + "\n", name, live)
    mutated = _by_name(compile(tree_of_it, str(path), "exec"))
    for function in found:
        function.__code__ = mutated[name]
        _set_defaults(function, mutant["text"])
    for function in live:
        inner = function.__code__.co_qualname
        if inner.startswith(f"{name}.<locals>.") and inner in mutated:
            function.__code__ = mutated[inner]


def _closing_over_the_same(source: str, name: str, live: list[types.FunctionType]) -> ast.Module:
    """Parse a module so that its inner functions close over the same names as before.

    The live inner functions keep their cells, so the new code must have the same ones. A statement
    without effect names them.
    """
    module = ast.parse(source)
    cells = {each.__code__.co_qualname: each.__code__.co_freevars for each in live}
    for outer in ast.walk(module):
        if isinstance(outer, ast.FunctionDef) and outer.name == name.rpartition(".")[2]:
            for inner in ast.walk(outer):
                names = isinstance(inner, ast.FunctionDef) and inner is not outer
                closed = cells.get(f"{name}.<locals>.{inner.name}", ()) if names else ()  # type: ignore[attr-defined]
                if closed:
                    nothing = ast.parse(f"if 0: ({', '.join(closed)},)").body
                    inner.body[:0] = nothing  # type: ignore[attr-defined]
    return ast.fix_missing_locations(module)


def _by_name(module: types.CodeType) -> dict[str, types.CodeType]:
    """Return the code of every function, also of inner ones, by its qualified name.

    Inner functions with equal names, such as lambdas, are left out.
    """
    codes = list(_codes(module))
    counts = Counter(code.co_qualname for code in codes)
    return {
        code.co_qualname: code
        for code in codes
        if counts[code.co_qualname] == 1 or "<locals>" not in code.co_qualname
    }


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes(const)


def _set_defaults(function: types.FunctionType, text: str) -> None:
    """Evaluate the defaults in the mutated text, in the function's own module."""
    node = ast.parse(textwrap.dedent(text)).body[0]
    if not isinstance(node, ast.FunctionDef):
        return
    node.body, node.decorator_list, node.returns = [ast.Pass()], [], None
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    space: dict[str, types.FunctionType] = {}
    module = ast.fix_missing_locations(ast.Module([node], []))
    exec(compile(module, "defaults", "exec"), function.__globals__, space)
    function.__defaults__ = space[node.name].__defaults__
    function.__kwdefaults__ = space[node.name].__kwdefaults__


def _trace(out: Path, tree: Path) -> None:
    """Record the functions called and the lines run; write them and start anew at each SIGUSR1."""
    root = str(tree / PACKAGE.replace(".", "/")) + "/"
    seen: dict[types.CodeType, set[int]] = {}

    def note(frame: types.FrameType, event: str, _arg: object) -> object:
        code = frame.f_code
        if not code.co_filename.startswith(root):
            return None
        lines = seen.setdefault(code, set())
        lines.add(frame.f_lineno)

        def note_line(frame: types.FrameType, event: str, _arg: object) -> object:
            if event == "line":
                seen.setdefault(code, lines).add(frame.f_lineno)
            return note_line

        return note_line

    def write(_number: int, _frame: object) -> None:
        names: set[str] = set()
        ran: dict[str, set[int]] = {}
        for code, lines in tuple(seen.items()):
            file = code.co_filename.removeprefix(root)
            names.add(f"{file}:{code.co_qualname.partition('.<locals>')[0]}")
            ran.setdefault(file, set()).update(lines)
            lines.clear()
        seen.clear()
        told = {"functions": sorted(names), "lines": {f: sorted(n) for f, n in ran.items()}}
        beside = out.with_suffix(".new")
        beside.write_text(json.dumps(told))
        beside.replace(out)

    signal.signal(signal.SIGUSR1, write)
    sys.settrace(note)  # type: ignore[arg-type]  # its local functions are of the same shape
