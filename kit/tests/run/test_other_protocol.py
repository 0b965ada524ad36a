"""A protocol of another package: every command works on it from an installed wheel."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_process import Done, clean_environment

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "wireproof-note"
OWN_UV = ROOT / ".cache" / "tools" / "bin" / "uv"
UV = shutil.which("uv") or str(OWN_UV)


pytestmark = [pytest.mark.process, pytest.mark.long]


class Installed:
    """A virtual environment with the two wheels, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"

    def __call__(self, *arguments: str, code: int = 0) -> Done:
        done = subprocess.run(
            [str(self.bin / "wireproof"), *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=clean_environment(),
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        return Done(done.returncode, done.stdout, done.stderr)

    def text(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")


@pytest.fixture(scope="module")
def wireproof(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build both wheels and install them with what uv.lock names, all from uv's cache."""
    folder = tmp_path_factory.mktemp("installed")
    venv, wheels = folder / "venv", folder / "dist"
    for source in (ROOT, EXAMPLE):
        uv("build", "--wheel", "-o", str(wheels), str(source))
    uv("sync", "--frozen", "--no-dev", "--no-install-project", "--extra", "spark", venv=venv)
    built = [str(wheel) for wheel in sorted(wheels.glob("*.whl"))]
    uv("pip", "install", "--no-deps", "--python", str(venv / "bin" / "python"), *built)
    return Installed(folder)


def uv(*arguments: str, venv: Path | None = None) -> None:
    place = {} if venv is None else {"UV_PROJECT_ENVIRONMENT": str(venv)}
    base = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "UV_PYTHON": sys.executable}
    subprocess.run(
        [UV, *arguments[:1], "--offline", "--quiet", *arguments[1:]],
        cwd=ROOT,
        env={**base, **place},
        check=True,
    )


@pytest.fixture(scope="module")
def bundles(wireproof: Installed) -> tuple[str, str]:
    """Judge the example server, and the one that breaks a clause."""
    wireproof("run", "--reference", "note", "--bundle", "right.jsonl", "--html", "run.html")
    with serving(wireproof, "--faulty") as url:
        wireproof("run", url, "--bundle", "wrong.jsonl", code=1)
    return "right.jsonl", "wrong.jsonl"


@contextmanager
def serving(wireproof: Installed, *options: str) -> Generator[str]:
    """Run the example server through `wireproof serve`; give its URL."""
    command = [str(wireproof.bin / "wireproof"), "serve", "note", "--tcp", "127.0.0.1:0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"note://{json.loads(process.stdout.readline())['tcp']}"
        process.terminate()


@pytest.mark.parametrize(
    "name",
    [
        "share/man/man1/wireproof.1",
        "share/bash-completion/completions/wireproof",
        "share/zsh/site-functions/_wireproof",
        "share/fish/vendor_completions.d/wireproof.fish",
    ],
)
def test_the_wheel_installs_what_a_shell_and_man_look_for(name: str, wireproof: Installed) -> None:
    assert "wireproof" in wireproof.text(f"venv/{name}")


def test_every_package_of_the_wheel_has_types(wireproof: Installed) -> None:
    (place,) = wireproof.folder.glob("venv/lib/*/site-packages")
    packages = {path.parent.name for path in place.glob("wireproof*/__init__.py")}

    typed = {path.parent.name for path in place.glob("wireproof*/py.typed")}
    assert typed == packages - {"wireproof_note"}
    assert len(typed) == 6


def test_it_is_listed_and_explained(wireproof: Installed) -> None:
    assert "5 cases of 2 clauses" in wireproof("list", "note").out
    assert "The server answers an empty text" in wireproof("explain", "note/store/empty").out
    assert "note r1" in wireproof("--version").out
    assert "note.store.frame" not in wireproof("list", "nsq").out


def test_a_target_is_judged_and_judged_again(
    wireproof: Installed, bundles: tuple[str, str]
) -> None:
    right, wrong = bundles
    assert "NO FAILURE" in wireproof("judge", right).out
    failed = wireproof("judge", wrong, code=1).out
    assert failed.index("size = 1") < failed.index("kind = 2")
    assert '"next"' not in failed
    compared = wireproof("diff", right, wrong).out
    assert "note/store/empty   pass -> fail" in compared


def test_reports_name_the_parts_of_its_frames(
    wireproof: Installed, bundles: tuple[str, str]
) -> None:
    places = ("--html", "r.html", "--junit", "r.xml", "--md", "r.md")
    wireproof("report", bundles[1], *places)

    assert all("note/store/empty" in wireproof.text(name) for name in ("r.html", "r.xml", "r.md"))
    assert 'role="rowheader">kind</th>' in wireproof.text("r.html")
    assert "another text" in wireproof.text("r.html")


def test_a_child_process_renders_the_same_page(
    wireproof: Installed, bundles: tuple[str, str]
) -> None:
    code = (
        "import multiprocessing as m, pathlib as p; from wireproof_reports.render import html\n"
        f"if __name__ == '__main__':\n c = m.get_context('spawn').Process(target=html.write, "
        f"args=(p.Path({bundles[1]!r}), p.Path('child.html'))); c.start(); c.join()"
    )
    subprocess.run([str(wireproof.bin / "python"), "-c", code], cwd=wireproof.folder, check=True)
    wireproof("report", bundles[1], "--html", "own.html")

    assert wireproof.text("child.html") == wireproof.text("own.html")


def test_its_bytes_are_decoded(wireproof: Installed) -> None:
    assert 'text = "hi"' in wireproof("decode", "--protocol", "note", "0003016869").out
    assert (
        "size at byte 5" in wireproof("decode", "--protocol", "note", "000301686900", code=2).err
    )


def test_an_exchange_is_repeated(wireproof: Installed, bundles: tuple[str, str]) -> None:
    wrong = ("note/store/empty", "--bundle", bundles[1])
    wireproof("replay", *wrong, "--to", "reference", code=1)
    with serving(wireproof, "--faulty") as url:
        wireproof("replay", *wrong, "--to", url)


def test_it_is_fuzzed_by_two_workers(wireproof: Installed) -> None:
    done = wireproof("fuzz", "--reference", "note", "--cases", "20", "--seed", "1", "-n", "2")
    assert "NOTHING FOUND   20 cases" in done.out


def test_its_runs_go_into_a_history(wireproof: Installed, bundles: tuple[str, str]) -> None:
    assert "2 bundles added; 10 results" in wireproof("ingest", *bundles, "--history", "h").out
