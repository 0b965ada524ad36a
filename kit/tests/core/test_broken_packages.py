"""A broken package of another protocol fails alone, and is named with its file and line."""

import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_process import Done, clean_environment

EXAMPLE = Path(__file__).parents[3] / "examples" / "wireproof-note"
PACKAGE = "wireproof_note"
ENTRIES = "wireproof_note-1.0.dist-info/entry_points.txt"
pytestmark = pytest.mark.process


def start(site: Path, *arguments: str) -> Done:
    """Run a command in a new process: a fork of the tests' has imported its packages already."""
    done = subprocess.run(
        [sys.executable, "-m", "wireproof", *arguments],
        cwd=site,
        env={**clean_environment(), "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder in which the example package is installed."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    shutil.copytree(EXAMPLE / PACKAGE, tmp_path / PACKAGE)
    entries = (tmp_path / ENTRIES, tmp_path / ENTRIES.replace("entry_points.txt", "METADATA"))
    entries[0].parent.mkdir()
    entries[0].write_text(
        "\n".join(
            f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in its.items())
            for group, its in project["entry-points"].items()
        )
    )
    entries[1].write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    return tmp_path


def replace(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(site: Path) -> None:
        text = (site / name).read_text("utf-8")
        assert old in text
        (site / name).write_text(text.replace(old, new, 1), "utf-8")

    return change


def append(name: str, line: str) -> Callable[[Path], None]:
    def change(site: Path) -> None:
        (site / name).write_text((site / name).read_text("utf-8") + line + "\n", "utf-8")

    return change


SUITE, LAW = f"{PACKAGE}/suite/test_store.py", f"{PACKAGE}/catalogue/store.toml"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param(
            replace(LAW, 'level = "must"', 'level = "msut"'),
            f"{LAW}, line 7: Invalid enum value 'msut' - at `$.clause[0].level`; "
            "expected must, should, may or observed",
            id="level",
        ),
        pytest.param(
            append(SUITE, "def f(:"), f"{SUITE}, line 36: SyntaxError", id="syntax-of-a-case"
        ),
        pytest.param(
            append(f"{PACKAGE}/__init__.py", "def f(:"),
            f"{PACKAGE}/__init__.py, line 6: SyntaxError",
            id="syntax-of-the-package",
        ),
        pytest.param(
            append(f"{PACKAGE}/kit.py", "missing"),
            f"{PACKAGE}/kit.py, line 28: NameError: name 'missing' is not defined",
            id="name-in-the-kit-part",
        ),
        pytest.param(
            replace(ENTRIES, "kit:KIT", "kit:KITT"),
            "wireproof_note.kit:KITT, the entry point note of wireproof.kit, cannot be imported",
            id="entry-point",
        ),
        pytest.param(
            replace(ENTRIES, "note:PROTOCOL", "not:PROTOCOL"),
            "ModuleNotFoundError: No module named 'wireproof_not'",
            id="module-of-an-entry-point",
        ),
    ],
)
def test_a_broken_package_is_left_out_by_name(
    change: Callable[[Path], None], named: str, site: Path
) -> None:
    change(site)

    done = start(site, "--version")

    check_left_out(done, named)
    assert "iggy r" in done.out
    assert "note r" not in done.out


@pytest.mark.parametrize(
    ("change", "named"),
    [
        pytest.param(
            append(SUITE, "missing"),
            f"{SUITE}, line 36: NameError: name 'missing' is not defined",
            id="name-in-a-case-file",
        ),
        pytest.param(
            replace(SUITE, "note.store.refused", "note.store.refuse"),
            "case note/store/empty names clause note.store.refuse, which no catalogue has",
            id="clause-of-a-case",
        ),
    ],
)
def test_cases_that_cannot_be_collected_are_left_out_by_name(
    change: Callable[[Path], None], named: str, site: Path
) -> None:
    change(site)

    done = start(site, "list")

    check_left_out(done, named)
    listed = {line.partition("/")[0] for line in done.out.splitlines()[:-1]}
    assert listed == {"nsq", "iggy", "oms"}


def check_left_out(done: Done, named: str) -> None:
    assert done.code == 0, done.err
    assert "protocol 'note' is left out: its package wireproof-note is broken: " in done.err
    assert named in done.err
    assert "please report" not in done.err


def test_a_sound_package_is_not_left_out(site: Path) -> None:
    done = start(site, "list")

    assert (done.code, done.err) == (0, "")
    assert "note/store/text" in done.out


@pytest.mark.parametrize(
    ("name", "old", "new", "line"),
    [
        (SUITE, 'observed(notebook.store(b"t" * size))', "missing(notebook)", "line 15"),
        (f"{PACKAGE}/session.py", "def store(", "def stored(", ""),
        (
            SUITE,
            "return observed(notebook",
            "observed(notebook",
            "returned nothing (is a `return`",
        ),
        (SUITE, "return observed(notebook", "return str(notebook", "returned '"),
        (f"{PACKAGE}/server.py", "import argparse", "import nowhere", "did not start"),
        (
            f"{PACKAGE}/server.py",
            "print(json.dumps(",
            "print((",
            "expected a JSON object with its addresses as the first line of its output",
        ),
    ],
    ids=["case", "session", "no-return", "text", "server", "ready-line"],
)
def test_a_mistake_in_a_package_is_its_authors(
    name: str, old: str, new: str, line: str, site: Path
) -> None:
    replace(name, old, new)(site)

    done = start(site, "run", "--reference", "note")

    told = " ".join((done.out + done.err).split())
    assert done.code == 2
    assert "report" not in told
    assert "package wireproof-note" in told
    assert line in told
