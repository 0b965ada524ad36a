"""Kill ingests and aggregates at random; after each nothing is lost, nothing is there twice.

    python tools/bench_pipeline/kills.py [--kills 60] [--only watch] [--again]

The history, its landing folders and the number of kills of each kind are kept in out/kills, so
that an interrupted run continues. In turn an ingest is killed, a watching ingest while bundles
arrive, and an aggregate, whose site must then be the one before, or whole; every second one with
its Java process. With `--only` all kills are of that kind. Aggregates keep counts beside the
history, as they do for a long one. After each kill the table is read with `deltalake`; no bundle
that was there before a kill may be missing after it. The watching ingest has a landing folder of
its own, which no other ingest reads: a bundle that its checkpoint has seen, and that was never
committed, would be missing at the end. After the last kill the answers from kept counts must be
those of a full recomputation.
Every second kill of each kind comes a moment after the command has begun to write, for most of
its time is Spark's start; how many left a batch, or kept counts, half written is counted. Before
the first kill, and every tenth, both commands are run to their ends: the other kills come
somewhere in the time that they took.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote

import pyarrow as pa
from bundles import write_bundles  # beside this file
from deltalake import DeltaTable

from wireproof_reports.pipeline.tables import KEPT
from wireproof_spec.history import KINDS, VIEWS

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "kills"
LANDING, WATCHED = OUT / "landing", OUT / "watched"
HISTORY, SITE = OUT / "history", OUT / "site"
RECOMPUTED = OUT / "recomputed"
STATE = OUT / "state.json"
CASES = 50
FIRST_WATCHED = 50_000
"""The number of the first bundle in the watched landing folder."""
ARRIVING = 3
"""Bundles that arrive before each kill; so many more arrive one by one at a watching ingest."""
MEASURE_EVERY = 10
"""Kills after which both commands are run to their ends again: where others begin to work on the
machine, kills by the older times come before an ingest has written anything."""
SHARES = (0.1, 1.1)
"""When a kill comes, as a share of the time that the command took undisturbed."""
WRITING_S = {"ingest": 4.0, "watch": 4.0, "aggregate": 12.0}
"""Seconds after its first commit in which a command is killed: it writes for about as long."""
FLAGS = ["--master", "local[2]", "--conf", "spark.driver.memory=1g", "-q"]
MOST_S = 300.0
"""Seconds for which a first commit is waited for."""
COMMANDS = ("ingest", "watch", "aggregate")
KEEPING = """
import runpy
from wireproof_reports.pipeline import tables
tables.FEW = 0
runpy.run_module("wireproof", run_name="__main__")
"""
"""Runs wireproof as one does whose history is long: what an aggregate counts is kept."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--only", choices=COMMANDS, help="kill no other kind")
    parser.add_argument("--again", action="store_true", help="begin with a new history")
    told = parser.parse_args()
    kinds = (told.only,) if told.only else COMMANDS
    state = begin(again=told.again)
    STATE.write_text(json.dumps(state) + "\n")
    bundles = check(state["bundles"])
    done = state["done"]
    while sum(done[kind] for kind in kinds) < told.kills:
        if state["tries"] % MEASURE_EVERY == 0 or not state["whole_s"]:
            state["whole_s"] = whole()
        kind = min(kinds, key=lambda one: done[one])
        arrive(WATCHED if kind == "watch" else LANDING, ARRIVING)
        if kind == "aggregate":  # without new bundles it has nothing to count
            subprocess.run(command("ingest"), check=True)
        took = state["whole_s"]["aggregate" if kind == "aggregate" else "ingest"]
        chance = random.Random(state["tries"])
        length = chance.uniform(*SHARES) * took
        writing = chance.uniform(0, WRITING_S[kind]) if done[kind] % 2 else None
        killed = kill(kind, length, writing, whole_group=done[kind] % 4 < 2)
        bundles = check(bundles)
        site()
        done[kind] += killed.lived
        state["half"][kind] += killed.is_half
        state["tries"] += 1
        state["bundles"] = sorted(bundles)
        STATE.write_text(json.dumps(state) + "\n")
        how = "half written" if killed.is_half else "" if killed.lived else "had ended: no kill"
        said = f"{kind} after {killed.after_s:.0f} s{how and ', '}{how}"
        number = sum(done[kind] for kind in kinds)
        print(f"{number}/{told.kills} {said}; {len(bundles)} of {arrived()} bundles in")
        sys.stdout.flush()
    for kind in ("ingest", "once", "aggregate"):
        subprocess.run(command(kind), check=True)
    found = len(check(bundles))
    check_kept()
    half = sum(state["half"][kind] for kind in kinds)
    print(
        f"{told.kills} kills, {half} of them with a batch or counts half written; "
        f"{found} of {arrived()} bundles in, once each"
    )
    if found != arrived():
        return 1
    STATE.write_text(json.dumps({**state, "checked": True}) + "\n")
    return 0


def begin(*, again: bool) -> dict:
    """Return what earlier kills left; nothing if their history is gone, or is not wanted."""
    kept = json.loads(STATE.read_text()) if STATE.exists() else {}
    if again or "tries" not in kept or not HISTORY.exists():
        kept = {}
        shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True, exist_ok=True)
    none = {"done": dict.fromkeys(COMMANDS, 0), "half": dict.fromkeys(COMMANDS, 0)}
    return {**none, "tries": 0, "whole_s": {}, "bundles": [], **kept, "checked": False}


def whole() -> dict[str, float]:
    """Return the seconds that each command takes if it is not killed."""
    arrive(LANDING, ARRIVING)
    arrive(WATCHED, 1)  # a folder to watch must be there
    took = {}
    for kind in ("ingest", "aggregate"):
        began = time.monotonic()
        subprocess.run(command(kind), check=True)
        took[kind] = time.monotonic() - began
    return took


def command(kind: str) -> list[str]:
    words = [sys.executable, "-m", "wireproof"]
    if kind == "aggregate":
        keeping = [sys.executable, "-c", KEEPING]
        return [*keeping, "aggregate", str(HISTORY), "--out", str(SITE), *FLAGS]
    landing = LANDING if kind == "ingest" else WATCHED
    how = {"ingest": [], "watch": ["--watch"], "once": ["--watch", "--once"]}[kind]
    return [*words, "ingest", str(landing), "--history", str(HISTORY), *how, *FLAGS]


def arrived(*folders: Path) -> int:
    """Return how many bundles landing folders have; both, if none is named."""
    return sum(len(list(folder.glob("*.jsonl"))) for folder in folders or (LANDING, WATCHED))


def arrive(folder: Path, more: int) -> None:
    """Write more bundles into a landing folder."""
    first = FIRST_WATCHED if folder == WATCHED else 0
    write_bundles(folder, arrived(folder) + more, CASES, first)


@dataclass(frozen=True)
class Killed:
    """A command after its kill: its seconds, and whether it lived until then.

    ``is_half`` is True if it left a batch, or kept counts, half written.
    """

    after_s: float
    lived: bool
    is_half: bool


def kill(kind: str, length: float, writing: float | None, *, whole_group: bool) -> Killed:
    """Start a command and kill it after `length` seconds, or `writing` ones after a commit.

    Bundles arrive while one watches.
    """
    before, left = written(), left_over()
    was_half = is_half_kept()
    with started(kind) as process:
        began = time.monotonic()
        until = began + (length if writing is None else MOST_S)
        coming = [began + length * part / (ARRIVING + 1) for part in range(1, ARRIVING + 1)]
        while time.monotonic() < until and process.poll() is None:
            if kind == "watch" and coming and time.monotonic() > coming[0]:
                coming.pop(0)
                arrive(WATCHED, 1)
            if writing is not None and written() != before:
                until, writing = time.monotonic() + writing, None
            time.sleep(0.05)
        took = time.monotonic() - began
        lived = process.poll() is None
        if lived and not whole_group:
            process.kill()
            process.wait()
    if kind == "watch" and not lived:
        raise SystemExit(f"the watching ingest ended by itself with {process.returncode}")
    has_written = lived and written() != before
    is_half = not was_half and is_half_kept() if kind == "aggregate" else left_over() - left
    return Killed(took, lived, has_written and bool(is_half))


@contextmanager
def started(kind: str) -> Generator[subprocess.Popen[bytes]]:
    """Start a command; at the end kill it, if it lives, with all its processes."""
    process = subprocess.Popen(command(kind), start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:  # also at Ctrl-C, which does not reach another session
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def written() -> int:
    """Return how many files of rows and commits there are, those of kept counts with them."""
    return sum(len(list(HISTORY.rglob(name))) for name in ("*.parquet", "_delta_log/*.json"))


def left_over() -> set[str]:
    """Return the files of rows that no commit names: a killed ingest had not committed them."""
    found = {path.relative_to(HISTORY).as_posix() for path in HISTORY.glob("kind=*/*/*/*.parquet")}
    if (HISTORY / "_delta_log").exists():
        table = DeltaTable(HISTORY)
        named = pa.table(table.get_add_actions()).column("path").to_pylist()
        removed = {path for path in found if not path.rpartition("/")[2].startswith("part-")}
        found -= {unquote(str(path)) for path in named} | removed
    return found


def is_half_kept() -> bool:
    """Return True if some kept counts have the newest batch, and others do not."""
    newest = read_note().get("batch", 0)
    upto = [newest_batch(folder) for folder in sorted((HISTORY / "_partials").glob("*"))]
    return newest in upto and (min(upto) < newest or len(upto) < len(KEPT) + 1)


def newest_batch(table: Path) -> int:
    """Return the number of the last batch that a table of kept counts has."""
    if not (table / "_delta_log").exists():
        return 0
    notes = [json.loads(one.get("userMetadata", "[]")) for one in DeltaTable(table).history()]
    return max((note["upto"] for note in notes if isinstance(note, dict)), default=0)


def check(before: Iterable[str]) -> set[str]:
    """Return the hashes of the bundles in the history.

    Exit if one is there twice, or in part, or if one that was there before is missing.
    """
    if not read_note() and not set(before):
        return set()
    found = {view: rows(view) for view in VIEWS}
    bundles = [row["bundle"] for row in found["runs"]]
    if lost := set(before) - set(bundles):
        wrong(f"{len(lost)} bundles that were there are lost, such as {min(lost)}")
    if len(bundles) != len(set(bundles)) or len(bundles) > arrived():
        wrong(f"{len(bundles)} runs of {len(set(bundles))} bundles, {arrived()} arrived")
    if len(found["results"]) != CASES * len(bundles):
        wrong(f"{len(bundles)} runs, {len(found['results'])} results")
    for table in ("results", "grammar"):
        check_bundles(table, found[table], set(bundles))
    return set(bundles)


def check_bundles(table: str, found: list[dict], bundles: set[str]) -> None:
    """Exit unless a table has equally many rows of each bundle, and none of them twice."""
    of_each = Counter(row["bundle"] for row in found)
    if set(of_each) != bundles or len(set(of_each.values())) > 1:
        wrong(f"{table} does not have the same number of rows of each bundle")
    different = {json.dumps(row, sort_keys=True, default=str) for row in found}
    if len(different) != len(found):
        wrong(f"{table} has {len(found)} rows, {len(different)} different ones")


def wrong(why: str) -> NoReturn:
    raise SystemExit(f"{HISTORY} is wrong: {why}")


def read_note() -> dict:
    """Return the metadata of the newest batch."""
    if not (HISTORY / "_delta_log").exists():
        return {}
    for commit in DeltaTable(HISTORY).history():
        note = json.loads(commit.get("userMetadata", "{}"))
        if note.get("wireproof") == "added":
            return note
    return {}


def rows(view: str) -> list[dict]:
    table = DeltaTable(HISTORY).to_pyarrow_table(filters=[("kind", "=", KINDS[view])])
    return table.to_pylist()


def check_kept() -> None:
    """Exit if no counts are kept, or answers from them are not those of a full recomputation."""
    if not (HISTORY / "_partials" / "counts").exists():
        wrong("no aggregate has kept its counts")
    words = [sys.executable, "-m", "wireproof", "aggregate", str(HISTORY)]
    subprocess.run([*words, "--out", str(RECOMPUTED), *FLAGS], check=True)
    for question in index_of(RECOMPUTED):
        kept, anew = (site / "data" / question["file"] for site in (SITE, RECOMPUTED))
        if kept.read_bytes() != anew.read_bytes():
            wrong(f"{kept} from kept counts is not that of a full recomputation")


def site() -> None:
    """Exit if the data of the site is only partly written."""
    if (SITE / "data").exists():
        for question in index_of(SITE):
            json.loads((SITE / "data" / question["file"]).read_text())


def index_of(folder: Path) -> list[dict]:
    return json.loads((folder / "data" / "index.json").read_text())["questions"]


if __name__ == "__main__":
    raise SystemExit(main())
