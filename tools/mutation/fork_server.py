"""Brokers in a hurry: one process imports the reference once and forks a broker for each mutant.

Runs in a snapshot: `python fork_server.py TREE`. Requests and answers are JSON lines on stdin and
stdout: {"do": "start", "argv": […], "out": FIFO, "mutant": {…}|null, "trace": FILE|null} → pid;
{"do": "status", "pid": N} → exit status or null; {"do": "stop", "pid": N} and {"do": "stop-all"}
→ null. Each request has a number, ``of``, which its answer repeats.
The broker itself is met through its sockets only.
"""

import ast
import contextlib
import gc
import json
import os
import pkgutil
import resource
import signal
import sys
import types
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

PACKAGE = "wireproof_reference_impl.nsq"
MEMORY_BYTES = 2 << 30
CPU_SECONDS = 120


def main(tree: Path) -> None:
    _import_all()
    gc.collect()
    gc.freeze()
    statuses: dict[int, int] = {}
    for line in sys.stdin:
        request = json.loads(line)
        answer = _answer(request, tree, statuses)
        print(json.dumps({"of": request["of"], "answer": answer}), flush=True)
    _stop_all(statuses)


def _import_all() -> None:
    """Import every module, so that forks share them and no mutant is missed by a late import."""
    package = import_module(PACKAGE)
    for found in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."):
        import_module(found.name)


def _answer(request: dict, tree: Path, statuses: dict[int, int]) -> int | None:  # type: ignore[type-arg]
    if request["do"] == "start":
        pid = os.fork()
        if not pid:
            _be_broker(request, tree)
        statuses[pid] = -1
        return pid
    if request["do"] == "stop":
        _stop(request["pid"], statuses)
        return None
    if request["do"] == "stop-all":
        _stop_all(statuses)
        return None
    return _status(request["pid"], statuses)


def _stop_all(statuses: dict[int, int]) -> None:
    for pid in list(statuses):
        _stop(pid, statuses)


def _status(pid: int, statuses: dict[int, int]) -> int | None:
    if statuses.get(pid, -1) == -1:
        done, status = os.waitpid(pid, os.WNOHANG)
        if not done:
            return None
        statuses[pid] = os.waitstatus_to_exitcode(status) & 0xFF
    return statuses[pid]


def _stop(pid: int, statuses: dict[int, int]) -> None:
    if _status(pid, statuses) is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    statuses.pop(pid, None)


def _be_broker(request: dict, tree: Path) -> None:  # type: ignore[type-arg]
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 2)
        os.dup2(os.open(request["out"], os.O_WRONLY), 1)
        sys.stdout = os.fdopen(1, "w")
        if request["memory"]:
            _keep_in_memory(request["argv"])
        if request["mutant"]:
            apply(request["mutant"], tree)
        if request["trace"]:
            _trace(Path(request["trace"]), tree)
        from wireproof_reference_impl.nsq import serve

        code = serve.main(request["argv"])
    except BaseException as error:
        code = error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
    finally:
        os._exit(code)


def _keep_in_memory(argv: list[str]) -> None:
    """Take ``--data`` away, but say in the ready line that there is one: the kit asks for it."""
    at = argv.index("--data")
    folder = argv[at + 1]
    del argv[at : at + 2]
    out = sys.stdout
    print_line = out.write

    def write(text: str) -> int:
        return print_line(text.replace('"data":null', f'"data":{json.dumps(folder)}'))

    out.write = write  # type: ignore[method-assign]


def apply(mutant: dict, tree: Path) -> None:  # type: ignore[type-arg]
    """Give the function that a mutant is about its mutated code and defaults, wherever it is.

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
    """Parse a module; name in each inner function, to no effect, what it closed over before.

    Inner functions that live already keep their cells: new code must want the same ones.
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
    """Return the code of every function, inner ones included, by its qualified name.

    Of several inner functions of one name (lambdas) none is returned.
    """
    codes = list(_codes(module))
    counts = Counter(code.co_qualname for code in codes)
    return {
        code.co_qualname: code
        for code in codes
        if counts[code.co_qualname] == 1 or "<locals>" not in code.co_qualname
    }


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)


def _set_defaults(function: types.FunctionType, text: str) -> None:
    """Evaluate the defaults in the mutated text, in the function's own module."""
    import textwrap

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
    """Note the functions called and the lines run; on SIGUSR1 write them down and begin anew."""
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


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(Path(sys.argv[1]))
