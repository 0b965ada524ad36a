"""Kill ingests and aggregates at random; after each nothing is lost, nothing is there twice.

    python tools/bench_pipeline/kills.py [--kills 60] [--only watch]

The history, the landing folder and how many were killed are kept in out/kills: a run that was
broken off goes on. In turn an ingest is killed, one that watches while bundles arrive, and an
aggregate, whose site must then be the one before, or whole; every second one with its Java. With
`--only` all kills are of that kind. Aggregates keep their counts beside the history, as they do of
a long one. After each kill all tables are read with `deltalake`, at the versions that `runs`
names; after the last one the answers from kept counts must be those of a full recomputation.
Every second kill of each kind comes a moment after the command has begun to write, for most of
its time is Spark's start; how many left a batch, or kept counts, half written is counted. Before
the first kill, and every tenth, both commands are run to their ends: the other kills come
somewhere in the time that they took.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NoReturn

from bundles import write_bundles  # beside this file
from deltalake import DeltaTable

from wireproof_spec.history import TABLES

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "kills"
LANDING, HISTORY, SITE = OUT / "landing", OUT / "history", OUT / "site"
RECOMPUTED = OUT / "recomputed"
STATE = OUT / "state.json"
CASES = 50
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
KINDS = ("ingest", "watch", "aggregate")
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
    parser.add_argument("--only", choices=KINDS, help="kill no other kind")
    told = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    state = json.loads(STATE.read_text()) if STATE.exists() else {"done": 0}
    for number in range(state["done"], told.kills):
        if number % MEASURE_EVERY == 0 or "whole_s" not in state:
            state["whole_s"] = whole()
        kind = told.only or KINDS[number % len(KINDS)]
        arrive(ARRIVING)
        took = state["whole_s"]["aggregate" if kind == "aggregate" else "ingest"]
        chance = random.Random(number)
        length = chance.uniform(*SHARES) * took
        writing = chance.uniform(0, WRITING_S[kind]) if number % 2 else None
        took, is_half = kill(kind, length, writing, whole_group=number % 4 < 2)
        found = check()
        site()
        state = {**state, "done": number + 1, "half": state.get("half", 0) + is_half}
        STATE.write_text(json.dumps(state) + "\n")
        said = f"{kind} killed after {took:.0f} s{', half written' if is_half else ''}"
        print(f"{number + 1}/{told.kills} {said}; {found} of {arrived()} bundles in", flush=True)
    subprocess.run(command("ingest"), check=True)
    subprocess.run(command("aggregate"), check=True)
    found = check()
    check_kept()
    half = f"{state.get('half', 0)} of them in the midst of writing"
    print(f"{told.kills} kills, {half}; {found} of {arrived()} bundles in, once each")
    return int(found != arrived())


def whole() -> dict[str, float]:
    """Return the seconds that each command takes if it is not killed."""
    arrive(ARRIVING)
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
    watching = ["--watch"] if kind == "watch" else []
    return [*words, "ingest", str(LANDING), "--history", str(HISTORY), *watching, *FLAGS]


def arrived() -> int:
    return len(list(LANDING.glob("*.jsonl")))


def arrive(more: int) -> None:
    write_bundles(LANDING, arrived() + more, CASES)


def kill(
    kind: str, length: float, writing: float | None, *, whole_group: bool
) -> tuple[float, bool]:
    """Start a command and kill it after `length` seconds, or `writing` ones after a commit.

    Bundles arrive while one watches. Return the seconds it had, and whether it left a batch, or
    kept counts, half written.
    """
    before = commits()
    process = subprocess.Popen(command(kind), start_new_session=True)
    began = time.monotonic()
    until = began + (length if writing is None else MOST_S)
    coming = [began + length * part / (ARRIVING + 1) for part in range(1, ARRIVING + 1)]
    while time.monotonic() < until and process.poll() is None:
        if kind == "watch" and coming and time.monotonic() > coming[0]:
            coming.pop(0)
            arrive(1)
        if writing is not None and commits() != before:
            until, writing = time.monotonic() + writing, None
        time.sleep(0.05)
    took = time.monotonic() - began
    is_half = kind == "aggregate" and process.poll() is None and commits() != before
    if kind == "watch" and process.poll() is not None:
        raise SystemExit(f"the watching ingest ended by itself with {process.returncode}")
    if process.poll() is None and not whole_group:
        process.kill()
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return took, is_half or (kind != "aggregate" and is_unpublished())


def commits() -> int:
    """Return how many commits all tables of the history have, those of kept counts with them."""
    return len(list(HISTORY.rglob("_delta_log/*.json")))


def is_unpublished() -> bool:
    """Return True if `results` has a commit that no publication names."""
    if not (HISTORY / "results" / "_delta_log").exists():
        return False
    named = read_note().get("versions", {}).get("results", -1)
    return DeltaTable(HISTORY / "results").version() > named


def check() -> int:
    """Return the number of bundles in the history; exit if one is there twice, or in part."""
    note = read_note()
    if not note:
        return 0
    found = {table: rows(table, version) for table, version in note["versions"].items()}
    bundles = [row["bundle"] for row in found["runs"]]
    if len(bundles) != len(set(bundles)) or len(bundles) > arrived():
        wrong(f"{len(bundles)} runs of {len(set(bundles))} bundles, {arrived()} arrived")
    for table in TABLES:
        many = len(found.get(table, ()))
        if many != note["rows"].get(table, 0):
            wrong(f"{table} has {many} rows, and `runs` tells of {note['rows']}")
    if len(found["results"]) != CASES * len(bundles):
        wrong(f"{len(bundles)} runs, {len(found['results'])} results")
    for table in ("results", "grammar"):
        check_bundles(table, found[table], set(bundles))
    return len(bundles)


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
    """Return the newest publication, the version of `runs` among those of the other tables."""
    if not (HISTORY / "runs" / "_delta_log").exists():
        return {}
    for commit in DeltaTable(HISTORY / "runs").history():
        note = json.loads(commit.get("userMetadata", "{}"))
        if note.get("wireproof") == "published":
            note["versions"]["runs"] = commit["version"]
            return note
    return {}


def rows(table: str, version: int) -> list[dict]:
    return DeltaTable(HISTORY / table, version=version).to_pyarrow_table().to_pylist()


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
