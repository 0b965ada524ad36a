"""Mutation from outside: how mutants are named, which count, and that the machinery finds them."""

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.long

FOLDER = Path(__file__).resolve().parents[3] / "tools" / "mutation"

SOURCE = '''"""A module."""


class Box:
    """A box."""

    @property
    def half(self) -> int:
        """Return half of it.

        Two lines.
        """
        return self.size // 2

    def put(self, size: int = 1) -> None:
        if size > 3:
            self.size = size
'''


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield from imported("mutants", monkeypatch)


@pytest.fixture
def equivalents(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield from imported("equivalents", monkeypatch)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield from imported("places", monkeypatch)


def imported(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module(name)
    for module in ("mutants", "equivalents", "places"):
        sys.modules.pop(module, None)


def test_a_mutant_meets_the_cases_in_which_its_statement_runs(
    mutants: ModuleType, places: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / mutants.PACKAGE / "core" / "box.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE)
    lines = {
        (m.was, m.becomes): places.lines_of(m, tmp_path)
        for m in mutants.of_source(SOURCE, "core/box.py")
    }
    own = SOURCE.splitlines()

    assert own[lines["if size > 3:", "if size >= 3:"].start - 1].strip() == "if size > 3:"
    assert len(lines["if size > 3:", "if size >= 3:"]) == 1
    assert own[lines["self.size = size", "self.size = None"].start - 1].strip() == (
        "self.size = size"
    )
    defaults = "def put(self, size: int = 1) -> None:", "def put(self, size: int = 2) -> None:"
    assert lines[defaults] is None


def test_a_mutant_is_one_changed_line_of_one_function(mutants: ModuleType) -> None:
    found = {(m.function, m.was, m.becomes) for m in mutants.of_source(SOURCE, "box.py")}

    assert ("Box.put", "if size > 3:", "if size >= 3:") in found
    assert ("Box.half", "return self.size // 2", "return self.size / 2") in found
    defaults = "def put(self, size: int = 1) -> None:", "def put(self, size: int = 2) -> None:"
    assert ("Box.put", *defaults) in found
    assert all(was and "lines" not in was for _, was, _ in found)


def test_a_mutant_keeps_its_name_when_other_lines_move(mutants: ModuleType) -> None:
    moved = SOURCE.replace("class Box", "LIMIT = 3\n\n\nclass Box").replace("Two", "Three")

    before, after = (
        {m.key for m in mutants.of_source(text, "box.py")} for text in (SOURCE, moved)
    )

    assert before == after
    assert before != {m.key for m in mutants.of_source(SOURCE, "case.py")}


def test_each_mutant_has_a_name_of_its_own(mutants: ModuleType) -> None:
    twice = "def f(a, b):\n    a.x = 1\n    b.x = 1\n    a.x = 1\n"
    keys = [m.key for m in mutants.of_source(twice, "f.py")]
    assert len(keys) == len(set(keys)) > 4


def test_only_what_is_listed_does_not_count(mutants: ModuleType, equivalents: ModuleType) -> None:
    found = list(mutants.of_source(SOURCE, "box.py"))
    one = equivalents.KnownMutants("box.py:Box.put", "if size > 3:", ("if size >= 3:",), "r")
    every = equivalents.KnownMutants("box.py:Box.half", "*", ("*",), "r")
    part = equivalents.KnownMutants("box.*:Box.*", "self.*", ("self.size = N*",), "r")
    other = equivalents.KnownMutants("box.py:Box.take", "*", ("*",), "r")

    count, excused = equivalents.split(found, (one, every, part, other))

    assert len(excused) == 2 + sum(m.function == "Box.half" for m in found)
    assert len(count) + len(excused) == len(found)
    assert equivalents.idle(found, (one, every, part, other)) == [other]


@pytest.mark.parametrize(
    "text",
    ['[" "]\nf.w="b"\n', "[r]\n", "[r.f]\n", "[r]\nf.w=[]\n"],
    ids=["blank", "no-function", "no-line", "no-change"],
)
def test_an_entry_without_reason_or_mutants_is_refused(
    text: str, tmp_path: Path, equivalents: ModuleType
) -> None:
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"list\.toml, .*: expected (a reason and|changed lines)"):
        equivalents.read(path)


def test_every_listed_function_is_there(equivalents: ModuleType) -> None:
    """Lines that have changed are named by the run itself."""
    package = FOLDER.parents[1] / "reference_impl/wireproof_reference_impl/nsq"
    for entry in (*equivalents.read(), *equivalents.read(FOLDER / "survivors.toml")):
        file, _, function = entry.function.partition(":")
        if "*" in file:
            continue
        name = function.rpartition(".")[2].replace("*", "")
        assert f"def {name}" in (package / file).read_text("utf-8"), entry.function


@pytest.mark.process
def test_known_mutants_come_out_as_known(tmp_path: Path) -> None:
    """One of each way to end, and an unchanged function that must live."""
    command = [sys.executable, str(FOLDER / "run.py"), "--known", "--folder", str(tmp_path / "m")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ways = {line.split("  ")[1] for line in done.stdout.splitlines() if line.startswith("as")}
    assert ways == {"failed", "survived", "claim", "undecided", "died"}
