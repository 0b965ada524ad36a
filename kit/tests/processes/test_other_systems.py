"""The kit without what Linux alone has, as on macOS, and without what Windows lacks.

`other_system.py` takes names away; how another system behaves otherwise stays untested.
"""

import subprocess
import sys
from pathlib import Path

import other_system
import pytest
from cli_process import Done, clean_environment

pytestmark = pytest.mark.process

DRIVER = f"{sys.executable} -m wireproof_reference_impl.nsq.drive"
FRAME = "0000000600000000 4f4b"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wireproof(system: str, *arguments: str) -> Done:
    done = subprocess.run(
        [sys.executable, other_system.__file__, system, *arguments],
        capture_output=True,
        text=True,
        env=clean_environment(),
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_macos_judges_a_client(here: Path) -> None:
    done = wireproof("macos", "client", "--exec", DRIVER, "nsq/client-trace/id/one")

    assert "NO FAILURE" in done.out, done.err


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--help",), "Commands:"),
        (("explain", "ext.publish.header-json"), "PUB_EXT"),
        (("decode", "--protocol", "nsq", "--side", "server", FRAME), "OK"),
    ],
)
def test_windows_explains_and_decodes(arguments: tuple[str, ...], part: str, here: Path) -> None:
    done = wireproof("windows", *arguments)

    assert part in done.out, done.err
    assert done.code == 0


@pytest.mark.parametrize("arguments", [("run", "nsq://127.0.0.1:1"), ("client", "--exec", "x")])
def test_windows_refuses_the_rest_in_one_sentence(arguments: tuple[str, ...], here: Path) -> None:
    done = wireproof("windows", *arguments)

    assert done.code == 2
    assert done.err.startswith("wireproof: this command needs Linux or macOS: No module named ")
    assert done.err.count("\n") == 1
