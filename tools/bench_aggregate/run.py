"""Measure the questions of `wireproof aggregate` on 1, 10 and 50 million synthetic results.

    python tools/bench_aggregate/run.py [--rows 1000000]... [--again]

Each size has its own Spark driver, which answers each question cold and again. At 1 and 10 million
results the same driver also compares, without caches, with handwritten Spark SQL and, for five
questions, with DuckDB on the same files. At 1 million results the five questions are measured in
two drivers. Histories are kept in out/bench-aggregate, figures in out/bench-aggregate.json: a
driver whose figures are there is not started again, so that a run that was broken off goes on;
`--again` forgets them. The exit code is 1 if a bound does not hold; a bound that was not measured
is listed as such.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from generate import generate  # beside this file
from judging import FIVE, LARGE, SIZES, SMALL, bounds, show, verdicts

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "out" / "bench-aggregate.json"
HISTORIES = ROOT / "out" / "bench-aggregate"
PASSES = {SMALL: 2}
LONGEST_S = 3600


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, action="append", help="a size; default: all three")
    parser.add_argument("--again", action="store_true", help="forget the figures that are there")
    args = parser.parse_args()
    kept = json.loads(OUT.read_text()) if OUT.exists() and not args.again else {}
    whole: dict[int, dict] = {int(rows): size for rows, size in kept.get("sizes", {}).items()}
    alone: dict[str, dict] = kept.get("alone", {})
    for rows in args.rows or SIZES:
        history = HISTORIES / str(rows)
        generate(history, rows)
        options = ["--once"] if rows >= LARGE else ["--passes", str(PASSES.get(rows, 1))]
        if rows not in whole:
            whole[rows] = driver(history, *options)
            keep(whole, alone)
        print("\n" + show(whole[rows]), flush=True)
        for name in FIVE if rows == SMALL else ():
            if name not in alone:
                alone |= driver(history, "--only", name)["questions"]
                keep(whole, alone)
    found = list(bounds(whole, alone))
    print(verdicts(found))
    return int(any(bound.verdict == "MISSED" for bound in found))


def keep(whole: dict[int, dict], alone: dict[str, dict]) -> None:
    OUT.write_text(json.dumps({"sizes": whole, "alone": alone}, indent=1) + "\n")


def driver(history: Path, *options: str) -> dict:
    """Measure one history in a new Spark process, and return the figures."""
    log = OUT.with_suffix(".log")
    command = [sys.executable, str(HERE / "measuring.py"), str(history), "--log", str(log)]
    done = subprocess.run(
        [*command, *options], stdout=subprocess.PIPE, timeout=LONGEST_S, check=False
    )
    if done.returncode:
        raise SystemExit(f"the driver ended with {done.returncode}; see {log}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    raise SystemExit(main())
