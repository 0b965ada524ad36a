"""What the pipeline costs, beside what it cost before Spark took the bundles in.

    python tools/bench_pipeline/run.py [--bundles 2000] [--again STEP]...

Each step's figures are kept in out/bench-pipeline/figures.json as soon as it has ended; a step
that is there is not made again, so that a run that was broken off goes on where it was. `--again`
forgets one, `--only` makes no other. The last table has all bounds of the pipeline: also those of
`make bench-aggregate` and `make kills`, by what these have left, or that they are still to be run.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from bundles import CASES, write_bundles  # beside this file
from measured import measure
from report import report

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "bench-pipeline"
FIGURES = OUT / "figures.json"
BEFORE = "90d435e"
"""The last commit at which one Python process took bundles into Parquet files of its own."""
ROUNDS = 2
OLD_INGEST = """
import sys
from pathlib import Path
from wireproof_reports.pipeline.ingest import ingest
print(ingest(sorted(Path(sys.argv[1]).glob("*.jsonl")), Path(sys.argv[2])).results)
"""
PLAN = """
import sys, tempfile
from pathlib import Path
from wireproof_reports.pipeline.bundles import landing
from wireproof_reports.pipeline.session import Wanted, session
paths = [(str(path), path.stat().st_size) for path in sorted(Path(sys.argv[1]).glob("*.jsonl"))]
for cores in (2, 8, 64):
    with session(Wanted(f"local[{cores}]"), Path(tempfile.mkdtemp()) / "log") as spark:
        print(cores, landing.files(spark, paths).rdd.getNumPartitions())
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bundles", type=int, default=2000)
    parser.add_argument("--again", action="append", default=[], choices=list(STEPS))
    parser.add_argument("--only", action="append", default=[], choices=list(STEPS))
    args = parser.parse_args()
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if figures.get("bundles") != args.bundles:
        figures = {"bundles": args.bundles, "cases": CASES}
    for name in args.again:
        figures.pop(name, None)
    OUT.mkdir(parents=True, exist_ok=True)
    for name, step in STEPS.items():
        if name not in figures and (not args.only or name in args.only):
            print(f"{name} …", file=sys.stderr, flush=True)
            figures[name] = {**step(args.bundles), "load": round(os.getloadavg()[0], 1)}
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n")
    speeds(figures)
    table, holds = report()
    print(table)
    return int(not holds)


def make_landing(bundles: int) -> Path:
    folder = OUT / f"landing-{bundles}"
    write_bundles(folder, bundles)
    return folder


def both(bundles: int) -> dict:
    """Ingest all bundles in turn with the older and the present code; return the seconds.

    In turn, so that what drifts on the machine meets both.
    """
    folder, tree = make_landing(bundles), before()
    path = os.pathsep.join(str(tree / room) for room in ("spec", "reports", "kit"))
    figures: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        old, new = fresh("old"), fresh("new")
        words = [sys.executable, "-c", OLD_INGEST, str(folder), str(old)]
        ways = {
            "old": lambda words=words: measure(words, {"PYTHONPATH": path}),
            "new": lambda new=new: measure(command(folder, new)),
        }
        for way, run in ways.items():
            cost = run()
            figures.setdefault(f"{way}_elapsed_s", []).append(cost.elapsed_s)
            figures.setdefault(f"{way}_cpu_s", []).append(cost.cpu_s)
    return figures


def one(_bundles: int) -> dict:
    """Ingest one bundle into a new history by the command; return the seconds of each round."""
    folder = make_landing(1)
    costs = [measure(command(folder / "00000.jsonl", fresh("one"))) for _ in range(ROUNDS)]
    return {"elapsed_s": [cost.elapsed_s for cost in costs], "cpu_s": [c.cpu_s for c in costs]}


def plan(bundles: int) -> dict:
    """Return over how many Spark tasks the bundles are spread with 2, 8 and 64 cores."""
    cost = measure([sys.executable, "-c", PLAN, str(make_landing(bundles))])
    return {"tasks_by_cores": dict(line.split() for line in cost.out.splitlines())}


STEPS: dict[str, Callable[[int], dict]] = {"both": both, "one": one, "plan": plan}


def command(bundles: Path, history: Path) -> list[str]:
    words = [sys.executable, "-m", "wireproof", "ingest", str(bundles), "-q"]
    return [*words, "--history", str(history), "--master", "local[2]"]


def fresh(name: str) -> Path:
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def before() -> Path:
    """Return a folder with the older code, taken from git if it is not there."""
    folder = OUT / BEFORE
    if not folder.exists():
        packed = OUT / "before.tar"
        rooms = ["spec", "reports", "kit"]
        with packed.open("wb") as out:
            subprocess.run(["git", "archive", BEFORE, *rooms], cwd=ROOT, stdout=out, check=True)
        with tarfile.open(packed) as archive:
            archive.extractall(folder, filter="data")
    return folder


def speeds(figures: dict) -> None:
    """Print results a second, and CPU a result, of the older and the present code."""
    results = figures["bundles"] * figures["cases"]
    for way in ("old", "new") if "both" in figures else ():
        cpu, elapsed = (min(figures["both"][f"{way}_{what}_s"]) for what in ("cpu", "elapsed"))
        print(f"{way}: {results / elapsed:,.0f} results/s, {1e6 * cpu / results:.0f} µs of CPU")


if __name__ == "__main__":
    raise SystemExit(main())
