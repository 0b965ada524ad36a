"""Kill ingests and aggregates at random; after each nothing is lost, nothing is there twice.

    python tools/bench_pipeline/kills.py [--kills 60] [--only watch]

The history, the landing folder and how many were killed are kept in out/kills: a run that was
broken off goes on. In turn an ingest is killed, one that watches while bundles arrive, and an
aggregate, whose site must then be the one before, or whole; every second one with its Java. With
`--only` all kills are of that kind. After each kill the tables are read with `deltalake`, at the
versions that `runs` names. Before the first kill both commands are run to their ends: a kill comes
somewhere in the time that they took, for on a loaded machine Spark starts in minutes.
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

from bundles import write_bundles  # beside this file
from deltalake import DeltaTable

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "kills"
LANDING, HISTORY, SITE = OUT / "landing", OUT / "history", OUT / "site"
STATE = OUT / "state.json"
CASES = 50
ARRIVING = 3
"""Bundles that arrive before each kill; so many more arrive one by one at a watching ingest."""
SHARES = (0.1, 1.1)
"""When a kill comes, as a share of the time that the command took undisturbed."""
FLAGS = ["--master", "local[2]", "--conf", "spark.driver.memory=1g", "-q"]
KINDS = ("ingest", "watch", "aggregate")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--only", choices=KINDS, help="kill no other kind")
    told = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    state = json.loads(STATE.read_text()) if STATE.exists() else {"done": 0}
    state.setdefault("whole_s", {})
    state["whole_s"] = state["whole_s"] or whole()
    for number in range(state["done"], told.kills):
        kind = told.only or KINDS[number % len(KINDS)]
        arrive(ARRIVING)
        took = state["whole_s"]["aggregate" if kind == "aggregate" else "ingest"]
        length = random.Random(number).uniform(*SHARES) * took
        kill(kind, length, whole_group=number % 2 == 0)
        found = check()
        site()
        STATE.write_text(json.dumps({**state, "done": number + 1}) + "\n")
        said = f"{kind} killed after {length:.0f} s; {found} of {arrived()} bundles in"
        print(f"{number + 1}/{told.kills} {said}", flush=True)
    subprocess.run(command("ingest"), check=True)
    subprocess.run(command("aggregate"), check=True)
    found = check()
    print(f"{told.kills} kills; {found} of {arrived()} bundles in, once each")
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
        return [*words, "aggregate", str(HISTORY), "--out", str(SITE), *FLAGS]
    watching = ["--watch"] if kind == "watch" else []
    return [*words, "ingest", str(LANDING), "--history", str(HISTORY), *watching, *FLAGS]


def arrived() -> int:
    return len(list(LANDING.glob("*.jsonl")))


def arrive(more: int) -> None:
    write_bundles(LANDING, arrived() + more, CASES)


def kill(kind: str, length: float, *, whole_group: bool) -> None:
    """Start a command and kill it after `length` seconds; bundles arrive while one watches."""
    process = subprocess.Popen(command(kind), start_new_session=True)
    began = time.monotonic()
    coming = [began + length * part / (ARRIVING + 1) for part in range(1, ARRIVING + 1)]
    while time.monotonic() < began + length and process.poll() is None:
        if kind == "watch" and coming and time.monotonic() > coming[0]:
            coming.pop(0)
            arrive(1)
        time.sleep(0.05)
    if kind == "watch" and process.poll() is not None:
        raise SystemExit(f"the watching ingest ended by itself with {process.returncode}")
    if process.poll() is None and not whole_group:
        process.kill()
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def check() -> int:
    """Return the number of bundles in the history; exit if one is there twice, or in part."""
    versions = name_versions()
    if not versions:
        return 0
    runs = rows("runs", versions, ["bundle"])
    results = rows("results", versions, ["bundle", "case"])
    bundles = [row["bundle"] for row in runs]
    of_each = Counter(row["bundle"] for row in results)
    twice = len(bundles) != len(set(bundles)) or len(bundles) > arrived()
    odd = set(of_each) != set(bundles) or set(of_each.values()) - {CASES}
    if twice or odd or len({(row["bundle"], row["case"]) for row in results}) != len(results):
        raise SystemExit(f"{HISTORY} is wrong: {len(bundles)} runs, {len(results)} results")
    return len(bundles)


def name_versions() -> dict[str, int]:
    if not (HISTORY / "runs" / "_delta_log").exists():
        return {}
    for commit in DeltaTable(HISTORY / "runs").history():
        note = json.loads(commit.get("userMetadata", "{}"))
        if note.get("wireproof") == "published":
            return {**note["versions"], "runs": commit["version"]}
    return {}


def rows(table: str, versions: dict[str, int], columns: list[str]) -> list[dict]:
    found = DeltaTable(HISTORY / table, version=versions[table])
    return found.to_pyarrow_table(columns=columns).to_pylist()


def site() -> None:
    """Exit if the data of the site is only partly written."""
    data = SITE / "data"
    if data.exists():
        index = json.loads((data / "index.json").read_text())
        for question in index["questions"]:
            json.loads((data / question["file"]).read_text())


if __name__ == "__main__":
    raise SystemExit(main())
