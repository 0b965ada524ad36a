"""How long the questions take on synthetic histories of 1, 10 and 50 million results.

    python tools/bench_aggregate/run.py [--rows 1000000]...

Each size has a driver of its own, in which each question is asked cold and again; at 1 and 10
million then, with nothing kept, in turn with the same as Spark SQL written by hand and, for five
of them, as DuckDB's SQL, on the same files. At 1 million the five are asked twice, each in a
driver of its own. Histories are kept in out/bench-aggregate, figures in out/bench-aggregate.json.
Exit 1 when a bound does not hold; one that was not measured is said not to be.
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
    whole: dict[int, dict] = {}
    alone: dict[str, dict] = {}
    for rows in parser.parse_args().rows or SIZES:
        history = HISTORIES / str(rows)
        generate(history, rows)
        options = ["--once"] if rows >= LARGE else ["--passes", str(PASSES.get(rows, 1))]
        whole[rows] = driver(history, *options)
        print("\n" + show(whole[rows]), flush=True)
        for name in FIVE if rows == SMALL else ():
            alone |= driver(history, "--only", name)["questions"]
        OUT.write_text(json.dumps({"sizes": whole, "alone": alone}, indent=1) + "\n")
    found = list(bounds(whole, alone))
    print(verdicts(found))
    return int(any(bound.verdict == "MISSED" for bound in found))


def driver(history: Path, *options: str) -> dict:
    """Have a driver of its own measure one history."""
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
