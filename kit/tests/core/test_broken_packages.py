"""A broken package of another protocol fails alone, and is named with its file and line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_process import Done
from note_package import ENTRIES, LAW, PACKAGE, SUITE, append, install, replace, start

pytestmark = pytest.mark.process


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a folder in which the example package is installed."""
    return install(tmp_path)


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
            append(SUITE, "def f(:"), f"{SUITE}, line 39: SyntaxError", id="syntax-of-a-case"
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
            f"{SUITE}, line 39: NameError: name 'missing' is not defined",
            id="name-in-a-case-file",
        ),
        pytest.param(
            replace(SUITE, "note.store.refused", "note.store.refuse"),
            "names clause note.store.refuse, which no catalogue has; did you mean",
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
        (SUITE, 'notebook.store(b"t" * size)', "missing(notebook)", "line 15"),
        (f"{PACKAGE}/session.py", "def store(", "def stored(", ""),
        (
            SUITE,
            "return notebook.store",
            "notebook.store",
            "returned nothing (is a `return`",
        ),
        (SUITE, 'notebook.store(b"t" * size)', "str(notebook)", "returned '"),
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
