"""Kill ingests and aggregates at random; after each nothing is lost, nothing is there twice.

    python tools/bench_pipeline/kills.py [--kills 60]

The history, the landing folder and how many were killed are kept in out/kills: a run that was
broken off goes on. Every third kill is of an aggregate, whose site must then be the one before, or
whole; the others are of an ingest of bundles that have arrived since, every second one with its
Java. After each kill the tables are read with `deltalake`, at the versions that `runs` names.
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
LONGEST_S = 60.0
FLAGS = ["--master", "local[2]", "--conf", "spark.driver.memory=1g", "-q"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=60)
    wanted = parser.parse_args().kills
    OUT.mkdir(parents=True, exist_ok=True)
    done = json.loads(STATE.read_text())["done"] if STATE.exists() else 0
    for number in range(done, wanted):
        chance = random.Random(number)
        arrived = (number + 1) * ARRIVING
        write_bundles(LANDING, arrived, CASES)
        is_site = number % 3 == 2 and (HISTORY / "runs" / "_delta_log").exists()
        kill(aggregate() if is_site else ingest(), chance, whole_group=number % 2 == 0)
        found = check(arrived)
        site()
        STATE.write_text(json.dumps({"done": number + 1}) + "\n")
        what = "aggregate" if is_site else "ingest"
        print(f"{number + 1}/{wanted} {what} killed; {found} of {arrived} bundles in", flush=True)
    subprocess.run(ingest(), check=True)
    subprocess.run(aggregate(), check=True)
    arrived = wanted * ARRIVING
    found = check(arrived)
    print(f"{wanted} kills; {found} of {arrived} bundles in, once each")
    return int(found != arrived)


def ingest() -> list[str]:
    words = [sys.executable, "-m", "wireproof", "ingest", str(LANDING)]
    return [*words, "--history", str(HISTORY), *FLAGS]


def aggregate() -> list[str]:
    words = [sys.executable, "-m", "wireproof", "aggregate", str(HISTORY)]
    return [*words, "--out", str(SITE), *FLAGS]


def kill(command: list[str], chance: random.Random, *, whole_group: bool) -> None:
    process = subprocess.Popen(command, start_new_session=True)
    until = time.monotonic() + chance.uniform(2, LONGEST_S)
    while time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    if process.poll() is None and not whole_group:
        process.kill()
    elif process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def check(arrived: int) -> int:
    """Return how many bundles are in; exit if one is there twice, or not as a whole."""
    versions = name_versions()
    if not versions:
        return 0
    runs = rows("runs", versions, ["bundle"])
    results = rows("results", versions, ["bundle", "case"])
    bundles = [row["bundle"] for row in runs]
    of_each = Counter(row["bundle"] for row in results)
    twice = len(bundles) != len(set(bundles)) or len(bundles) > arrived
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
    """Exit if the site's data is there in part."""
    data = SITE / "data"
    if data.exists():
        index = json.loads((data / "index.json").read_text())
        for question in index["questions"]:
            json.loads((data / question["file"]).read_text())


if __name__ == "__main__":
    raise SystemExit(main())
