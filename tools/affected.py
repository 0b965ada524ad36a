"""Run the tests of what a change touches, found by the import graph; CI runs all tests.

    python tools/affected.py [--base REVISION] [--list] [PYTEST ARGUMENTS]

The change is what differs from REVISION, uncommitted and new files included. Without `--base` that
is the last commit, or the one before it if nothing is uncommitted.

A test is affected if its file, a support module or a `conftest.py` of its folders changed, or if
something that it uses imports a changed module, however indirectly. What starts as a program is
used, too: a module named in a string, a command of `wireproof` named in a string, and the entry
points of the protocols that the file names.
"""

import ast
import functools
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

from wireproof.commands.table import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "wireproof": ROOT / "kit",
    "wireproof_kit": ROOT / "kit",
    "wireproof_spec": ROOT / "spec",
    "wireproof_reference_impl": ROOT / "reference_impl",
    "wireproof_suites": ROOT / "suites",
    "wireproof_reports": ROOT / "reports",
}
TESTS = ("spec/tests", "kit/tests", "reference_impl/tests", "reports/tests")
OF_ALL = {"pyproject.toml", "uv.lock", "conftest.py"}
"""Files whose change affects every test."""
LOOKS_UP = "wireproof_spec.protocol"
"""The module through which entry points are found; what imports it may use any protocol named."""
NO_TEST_AFFECTED = 0


def main(arguments: list[str]) -> int:
    """Run the affected tests; return pytest's exit code, or 0 if there are none."""
    base, chosen, is_listing = None, list(arguments), "--list" in arguments
    if is_listing:
        chosen.remove("--list")
    if "--base" in chosen:
        at = chosen.index("--base")
        base = chosen[at + 1]
        del chosen[at : at + 2]
    changed = list_changed(base)
    tests = find_affected(changed)
    print(f"{len(changed)} changed files affect {len(tests)} files of tests", file=sys.stderr)
    if is_listing or not tests:
        print("\n".join(tests))
        return NO_TEST_AFFECTED
    command = [sys.executable, "-m", "pytest", "-q", "-n", "4", "--dist", "loadfile"]
    return subprocess.run([*command, *chosen, *tests], cwd=ROOT, check=False).returncode


def list_changed(base: str | None) -> list[str]:
    """Return the paths that differ from a revision, relative to the repository."""
    new = _git("ls-files", "--others", "--exclude-standard")
    if base is None:
        base = "HEAD" if new or _git("diff", "--name-only", "HEAD") else "HEAD~1"
    return sorted({*new, *_git("diff", "--name-only", base)})


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def find_affected(changed: Iterable[str]) -> list[str]:
    """Return the paths of the test files that a change of files affects, sorted."""
    changed = set(changed)
    files = sorted(path for folder in TESTS for path in (ROOT / folder).rglob("*.py"))
    tests = [path for path in files if path.name.startswith("test_")]
    if changed & OF_ALL:
        return [_relative(path) for path in tests]
    graph = _build_graph()
    support = {path.stem: path for path in files if not path.name.startswith("test_")}
    touched = set[str]()
    for path in changed:
        if module := _module_of(path, graph.modules):
            touched |= {module, *graph.find_downstream_modules(module)}
    looking_up = graph.find_downstream_modules(LOOKS_UP) | {LOOKS_UP}
    uses = Uses(graph.modules, looking_up)
    return [
        _relative(path) for path in tests if _is_affected(path, changed, touched, support, uses)
    ]


@functools.cache
def _build_graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=str(ROOT / ".cache" / "grimp"))


def _is_affected(
    path: Path, changed: set[str], touched: set[str], support: dict[str, Path], uses: "Uses"
) -> bool:
    sources = list(_with_support(path, support))
    folders = [folder for folder in path.parents if ROOT in (folder, *folder.parents)]
    own = {_relative(source) for source in sources}
    own |= {_relative(folder / "conftest.py") for folder in folders}
    if own & changed:
        return True
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    others = [name for name in map(Path, changed) if name.suffix not in (".toml", ".py")]
    if any(name.name in text for name in others):
        return True
    tools = [Path(name).stem for name in changed if name.startswith("tools/")]
    if any(re.search(rf"\b{stem}\b", text) for stem in tools):
        return True
    return bool(uses.modules(sources, text) & touched)


def _with_support(path: Path, support: dict[str, Path]) -> Iterator[Path]:
    """Yield a test file and the support modules that it imports, however indirectly."""
    seen, todo = set[Path](), [path]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        yield current
        names = {name.split(".")[0] for name in _names(current)[0]}
        todo += [support[name] for name in names if name in support]


@functools.cache
def _names(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a file imports, and the strings in it."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    strings = (node.value for node in nodes if isinstance(node, ast.Constant))
    return frozenset(_imports(nodes)), frozenset(x for x in strings if isinstance(x, str))


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


class Uses:
    """Which modules of the packages a test file uses."""

    def __init__(self, known: set[str], looking_up: set[str]) -> None:
        self._known, self._looking_up = known, looking_up
        self._entry_points = {
            (entry.name, entry.module)
            for group in importlib.metadata.entry_points().groups
            if group.startswith("wireproof.")
            for entry in importlib.metadata.entry_points(group=group)
        }

    def modules(self, sources: Iterable[Path], text: str) -> set[str]:
        """Return the modules that sources import, name in a string, or find by entry points."""
        used = set[str]()
        commands = {name: entry.command.split(":")[0] for name, entry in COMMANDS.items()}
        for source in sources:
            imported, strings = _names(source)
            used |= (imported | strings) & self._known
            used |= {commands[word] for word in strings & commands.keys()}
        if used & self._looking_up:
            named = {name for name, _ in self._entry_points if re.search(rf"\b{name}\b", text)}
            protocols = named or {name for name, _ in self._entry_points}
            used |= {module for name, module in self._entry_points if name in protocols}
        return used


def _module_of(path: str, known: set[str]) -> str | None:
    """Return the module that a file is, or the package that a data file belongs to."""
    for package, folder in PACKAGES.items():
        top = folder / package
        file = ROOT / path
        if not file.is_relative_to(top):
            continue
        parts = file.relative_to(folder).with_suffix("").parts
        while parts:
            name = ".".join(parts).removesuffix(".__init__")
            if name in known:
                return name
            parts = parts[:-1]
    return None


def _relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
