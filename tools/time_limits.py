"""Find limits of wall time in tests: on a busy machine they fail, whatever is tested.

python tools/time_limits.py [FILE …]

A limit is a number, or a constant, that a function of the standard library waits for at most, or
that a difference of a clock is compared with. What a test gives to the code that it tests is no
limit of the test. `spec/tests/fixtures/waits.py` has what to use instead.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("*/tests/**/*.py", "reference_impl/clients/tests/**/*.py", "examples/*/tests/**/*.py")
HINT = "use spec/tests/fixtures/waits.py, or wait without a limit: the watchdog ends what hangs"

PEERS = {"toy_nsq_client.py"}
"""Programs that the kit judges: their patience is not a test's."""
WAITING = {
    "threading",
    "subprocess",
    "asyncio",
    "multiprocessing",
    "queue",
    "concurrent",
    "socket",
}
"""Files that import none of these have a clock of their own, and call its method `wait`."""
FIRST = {"alarm", "settimeout", "set_default_timeout", "setdefaulttimeout"}
FIRST_OF_FILES_THAT_WAIT = {"wait", "join", "result", "poll"}
LAST = {"create_connection": 2, "wait_for": 2, "select": 4, "urlopen": 3, "until": 3}
"""Functions whose argument at this place is a limit."""
BY_KEYWORD = {
    *("run", "call", "check_output", "check_call", "communicate", "wait", "wait_for", "join"),
    *("get", "put", "result", "acquire", "create_connection", "HTTPConnection", "urlopen"),
    *("HTTPSConnection", "as_completed", "wait_for_function", "wait_for_selector", "timeout"),
    *("goto", "click", "until", "expect_download"),
}
KEYWORDS = {"timeout", "limit_s"}
CLOCKS = {"monotonic", "perf_counter", "monotonic_ns", "perf_counter_ns"}
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")


class Limits(ast.NodeVisitor):
    """Collects the lines of one module at which a limit stands, with what it limits."""

    def __init__(self, module: ast.Module) -> None:
        self.found: list[tuple[int, str]] = []
        self._named = _names_of_waits(module)
        self._constants = _constants(module)
        self._waits = bool(WAITING & _imports(module))
        self._moments: set[str] = set()
        """Names of differences of a clock."""
        self.visit(module)

    def visit_Call(self, node: ast.Call) -> None:
        name = _name(node.func)
        if name == "timeout" and _name(getattr(node.func, "value", node)) == "mark":
            self._add(node, "pytest.mark.timeout")
        elif any(map(self._is_fixed, self._limits(name, node))):
            self._add(node, f"the limit of {name}()")
        self.generic_visit(node)

    def _limits(self, name: str, node: ast.Call) -> Iterator[ast.expr]:
        """Yield the arguments of a call that are limits."""
        is_method = isinstance(node.func, ast.Attribute) and not _is_text(node.func)
        waits = is_method and name in FIRST_OF_FILES_THAT_WAIT and self._waits
        if (waits or name in FIRST) and len(node.args) == 1 and not node.keywords:
            yield node.args[0]
        if name in LAST and len(node.args) == LAST[name]:
            yield node.args[-1]
        if name in BY_KEYWORD:
            yield from (keyword.value for keyword in node.keywords if keyword.arg in KEYWORDS)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = node.value
        if isinstance(value, ast.BinOp) and (
            _reads_clock(value.left) or _reads_clock(value.right)
        ):
            if isinstance(value.op, ast.Sub):
                self._moments |= {name for target in node.targets if (name := _name(target))}
            elif self._is_fixed(value.right) or self._is_fixed(value.left):
                self._add(node, "a deadline")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            less, more = (left, right) if isinstance(op, ast.Lt | ast.LtE) else (right, left)
            is_order = isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
            if is_order and self._is_difference(less) and self._is_fixed(more):
                self._add(node, "the bound of a duration")
        self.generic_visit(node)

    def _is_difference(self, node: ast.expr) -> bool:
        if _name(node) in self._moments:
            return True
        is_difference = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
        return is_difference and any(map(_reads_clock, ast.walk(node)))

    def _is_fixed(self, node: ast.expr) -> bool:
        """Return True if a value is the same in each run."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int | float) and node.value > 0
        if isinstance(node, ast.BinOp):
            return self._is_fixed(node.left) or self._is_fixed(node.right)
        if isinstance(node, ast.IfExp):
            return self._is_fixed(node.body) or self._is_fixed(node.orelse)
        if (value := self._constants.get(_name(node))) is not None:
            return self._is_fixed(value)
        return bool(CONSTANT.fullmatch(_name(node))) and _name(node) not in self._named

    def _add(self, node: ast.expr | ast.stmt, what: str) -> None:
        self.found.append((node.lineno, what))


def find_limits(source: str) -> list[tuple[int, str]]:
    """Return the lines of a module at which a limit of wall time stands, and what it limits."""
    return sorted(set(Limits(ast.parse(source)).found))


def main(paths: list[str]) -> int:
    """Print each limit; return 1 if there is one."""
    files = map(Path, paths) if paths else _list_tests()
    found = [
        f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{line}: {what}"
        for path in files
        for line, what in find_limits(path.read_text())
    ]
    for each in found:
        print(each)
    if found:
        print(f"{len(found)} limits of wall time in tests: {HINT}")
    return 1 if found else 0


def _list_tests() -> list[Path]:
    found = {path for pattern in TESTS for path in ROOT.glob(pattern)}
    return sorted(path for path in found if path.name not in PEERS)


def _imports(module: ast.Module) -> set[str]:
    """Return the first parts of the names of all modules that a module imports."""
    nodes = list(ast.walk(module))
    plain = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    froms = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in plain + froms}


def _names_of_waits(module: ast.Module) -> set[str]:
    """Return what a module imports from the helper of waits."""
    nodes = [each for each in ast.walk(module) if isinstance(each, ast.ImportFrom)]
    return {name.name for node in nodes if node.module == "waits" for name in node.names}


def _constants(module: ast.Module) -> dict[str, ast.expr]:
    """Return the values of the names that a module assigns to, but for those of functions."""
    found: dict[str, ast.expr] = {}
    for node in module.body:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                found |= {
                    _name(at): each for at, each in zip(target.elts, value.elts, strict=True)
                }
            else:
                found[_name(target)] = value
    return found


def _name(node: ast.AST) -> str:
    """Return the last part of a dotted name."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _is_text(method: ast.expr) -> bool:
    """Return True for a method of a literal: `", ".join` is no wait."""
    return isinstance(method, ast.Attribute) and isinstance(
        method.value, ast.Constant | ast.JoinedStr
    )


def _reads_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in CLOCKS


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
