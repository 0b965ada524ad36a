"""Runs every command that reads a bundle on hostile ones, each in a process of its own.

Started as a script: reads lines of a name of the corpus and names of commands, answers each with a
line of JSON: what each command came to, in code, output, seconds of processor time and megabytes
at the most.
"""

import contextlib
import io
import json
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import hostile_bundles as hostile

from wireproof.commands.table import COMMANDS
from wireproof.main import main
from wireproof_kit.protocols import resolve

ID = "0123456789ab"
RUNS: dict[str, tuple[str, ...]] = {
    "judge": ("judge", "B", "--bundle", "again.jsonl"),
    "judge-verbose": ("-vv", "judge", "B"),
    "diff": ("diff", "B", "B"),
    "diff-md": ("diff", "GOOD", "B", "--md"),
    "report": ("report", "B", "--html", "r.html", "--statement", "s.html", "--badge", "b.json"),
    "report-text": ("report", "B", "--junit", "r.xml", "--md", "r.md"),
    "pcap": ("report", "B", "--pcap-all", "captures"),
    "allure": ("report", "B", "--allure", "allure"),
    "replay": ("replay", ID, "--bundle", "B", "--to", "nsq://127.0.0.1:1"),
    "replay-nearest": ("replay", "nsq/publish/nosuch", "--bundle", "B"),
    "baseline": ("baseline", "update", "known.toml", "--bundle", "B", "--reason", "x"),
}
MOST_S = 120
"""Seconds of processor time; what only waits is ended with the test."""
MOST_BYTES = 3 << 30


class Came(NamedTuple):
    """What one command came to."""

    code: int
    out: str
    cpu_s: float
    mb: int
    strays: list[str]


def run_each(name: str, commands: Sequence[str]) -> dict[str, Came]:
    """Run commands on one bundle of the corpus, each in a folder of its own."""
    data = hostile.corpus()[name]()
    with tempfile.TemporaryDirectory() as folder:
        return {word: _run(RUNS[word], data, Path(folder) / word) for word in commands}


def _run(arguments: tuple[str, ...], data: bytes, folder: Path) -> Came:
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "B").write_bytes(data)
    (folder / "work" / "GOOD").write_bytes(hostile.sealed(hostile.lines()))
    if not (child := os.fork()):
        _be(arguments, folder)
    _, status, usage = os.wait4(child, 0)
    out = (folder / "out").read_bytes().decode("utf-8", "backslashreplace")
    strays = sorted(each.name for each in folder.iterdir() if each.name not in ("work", "out"))
    spent = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    return Came(code, out[-100_000:], round(spent, 2), usage.ru_maxrss >> 10, strays)


def _be(arguments: tuple[str, ...], folder: Path) -> None:
    with (folder / "out").open("wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
    os.chdir(folder / "work")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_S, MOST_S))
    code = main(arguments)
    sys.stdout.flush()
    os._exit(code)


def serve() -> None:
    """Answer each line of stdin."""
    for entry in COMMANDS.values():
        resolve(entry.command)
    _warm_up()
    for line in sys.stdin:
        name, *commands = line.split()
        print(json.dumps(run_each(name, commands)), flush=True)


def _warm_up() -> None:
    """Run each command once, so that its forks need not import and compile the same again."""
    silence = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("B", "GOOD"):
            Path(name).write_bytes(hostile.sealed(hostile.lines()))
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            for arguments in RUNS.values():
                main(arguments)


if __name__ == "__main__":
    serve()
