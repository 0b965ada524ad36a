"""An ingest killed at any step, and run again: nothing lost, nothing twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from history_fixture import bundle, rows, tree

from wireproof_reports.pipeline.ingest import ingest
from wireproof_reports.pipeline.manifest import NAME, read_manifest
from wireproof_reports.pipeline.staging import MOST_SMALL

pytestmark = pytest.mark.process

DEADLINE_S = 100
LEAST_STEPS, MOST_STEPS = 20, 80

KILLER = """
import json, os, signal, sys
from pathlib import Path

import pandas  # with all else that it will need, so that a child begins at once
from wireproof_reports.pipeline import ingest

STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}


def changes(event, arguments, history):
    if event not in STEPS:
        return False
    if event == "open":
        path, _, flags = arguments
        is_write = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)
        return bool(is_write) and str(path).startswith(history)
    return str(arguments[0]).startswith(history)


def child(bundles, history, die_at):
    seen = [0]

    def watch(event, arguments):
        if changes(event, arguments, history):
            seen[0] += 1
            if seen[0] == die_at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    ingest.ingest(bundles, Path(history))
    os._exit(0)


plan = json.load(sys.stdin)
for die_at, history in enumerate(plan["histories"], start=1):
    number = os.fork()
    if number == 0:
        try:
            child([Path(name) for name in plan["bundles"]], history, die_at)
        finally:
            os._exit(9)
    _, status = os.waitpid(number, 0)
    print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else -os.WEXITSTATUS(status), flush=True)
    if not os.WIFSIGNALED(status):
        break
"""


def killed_at_every_step(bundles: list[Path], histories: list[Path]) -> list[int]:
    """Ingest into each history, killed at its n-th change of the disk; return the signals."""
    plan = {"bundles": [str(path) for path in bundles], "histories": [str(h) for h in histories]}
    done = subprocess.run(
        [sys.executable, "-c", KILLER],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return [int(line) for line in done.stdout.split()]


def made(folder: Path, earlier: int) -> Path:
    """Return a history of so many ingests before the one that will be killed."""
    folder.parent.mkdir()
    for seed in range(earlier):
        ingest([bundle(folder.parent / f"old-{seed}.jsonl", seed=100 + seed)], folder)
    return folder


def copied(history: Path, to: Path) -> Path:
    if history.exists():
        shutil.copytree(history, to / "history")
    return to / "history"


@pytest.mark.parametrize("earlier", [0, 1, MOST_SMALL], ids=["new", "kept", "merging"])
def test_killed_at_any_step_and_run_again(tmp_path: Path, earlier: int) -> None:
    bundles = [
        bundle(tmp_path / f"{day}.jsonl", seed=day, started=f"2026-11-{day}T10:00:00Z")
        for day in (21, 22)
    ]
    whole = made(tmp_path / "whole" / "history", earlier)
    ingest(bundles, whole)
    wanted = {table: rows(whole, table) for table in ("results", "runs", "grammar")}
    first = made(tmp_path / "1" / "history", earlier)
    histories = [first, *(copied(first, tmp_path / str(step)) for step in range(2, MOST_STEPS))]
    before, after = visible(histories[0]), visible(whole)

    signals = killed_at_every_step(bundles, histories)

    steps = len(signals) - 1
    assert signals == [signal.SIGKILL] * steps + [0]
    assert steps > LEAST_STEPS
    for history in histories[:steps]:
        assert visible(history) in (before, after)
        ingest(bundles, history)
        assert {table: rows(history, table) for table in wanted} == wanted
        named = {part.place for part in read_manifest(history).parts}
        assert set(tree(history)) == {NAME, *named}


def visible(history: Path) -> dict[str, bytes]:
    """Return the files that a reader of the history sees."""
    if not (history / NAME).exists():
        return {}
    return {
        part.place: (history / part.place).read_bytes() for part in read_manifest(history).parts
    }
