"""The example package, installed in a folder, with a mistake put into one of its files."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from cli_process import Done, clean_environment

EXAMPLE = Path(__file__).parents[3] / "examples" / "wireproof-note"
PACKAGE = "wireproof_note"
ENTRIES = "wireproof_note-1.0.dist-info/entry_points.txt"
SUITE, LAW = f"{PACKAGE}/suite/test_store.py", f"{PACKAGE}/catalogue/store.toml"


def start(site: Path, *arguments: str) -> Done:
    """Run a command in a new process: a fork of the tests' has imported its packages already."""
    environment = clean_environment()
    places = [str(site), *filter(None, [environment.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "wireproof", *arguments],
        cwd=site,
        env={**environment, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def install(folder: Path) -> Path:
    """Install the example package in a folder and return the folder."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    shutil.copytree(EXAMPLE / PACKAGE, folder / PACKAGE)
    entries = (folder / ENTRIES, folder / ENTRIES.replace("entry_points.txt", "METADATA"))
    entries[0].parent.mkdir()
    entries[0].write_text(
        "\n".join(
            f"[{group}]\n" + "\n".join(f"{name} = {value}" for name, value in its.items())
            for group, its in project["entry-points"].items()
        )
    )
    entries[1].write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n")
    return folder


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
