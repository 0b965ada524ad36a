"""One driver: asks a history, and prints how long everything took as JSON."""

import argparse
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import duck  # beside this file
import tuned

from wireproof_reports.pipeline.place import PARTIALS
from wireproof_reports.pipeline.session import Wanted, session
from wireproof_reports.pipeline.table import (
    State,
    read_state,
    read_state_as_of,
    read_table,
)
from wireproof_reports.pipeline.table import (
    measure as measure_extent,
)
from wireproof_reports.pipeline.tables import open_tables
from wireproof_reports.site.answers import answer

CORES = 2
TODAY = date(2026, 11, 21)


def measure(
    history: Path, passes: int, log: Path, names: Sequence[str], *, once: bool = False
) -> dict:
    size = sum(path.stat().st_size for path in history.rglob("*.parquet"))
    say(f"{history.name} results, {size / 1e6:.0f} MB")
    began = time.monotonic()
    with session(Wanted(f"local[{CORES}]"), log) as spark:
        started = time.monotonic() - began
        newest = read_state(spark, str(history))
        older = [read_state_as_of(spark, str(history), str(newest.version - 1))]
        opened, tables = time_opening(spark, history, newest)
        opening = {"cold": opened}
        questions = first_pass(tables, names, once=once)
        added = incremental(spark, history, older[0], newest, names)
        if passes:
            connection = duck.connect(str(history), CORES)
            tuned.open_views(spark, str(history))
        for _ in range(passes):
            another_pass(spark, history, connection, questions, opening)
        rows = measure_extent(read_table(spark, str(history), newest)).rows["results"]
        java, heap, spent = java_process()
    for figures in (*questions.values(), opening):
        for way in ("ours", "tuned", "duck"):
            if way in figures:
                figures[way] = round(statistics.median(figures[way]), 3)
    return {
        "rows": rows,
        "incremental": added,
        "bytes": size,
        "start_s": round(started, 2),
        "wall_s": round(time.monotonic() - began, 1),
        "java_cpu_s": spent,
        "java_peak_mib": java,
        "heap_mib": heap,
        "python_peak_mib": peak_mib(os.getpid()),
        "load": round(os.getloadavg()[0], 1),
        "opening": opening,
        "questions": questions,
    }


def first_pass(tables, names: Sequence[str], *, once: bool) -> dict[str, dict]:
    """Time each question, and its repetition unless `once`, in a new Spark session."""
    questions: dict[str, dict] = {}
    for name in names:
        cold, rows = time_question(lambda name=name: len(answer(name, tables).rows))
        questions[name] = {"rows": rows, "cold": round(cold, 3)}
        if not once:
            again, _ = time_question(lambda name=name: len(answer(name, tables).rows))
            questions[name]["again"] = round(again, 3)
        say(f"  {name}: {questions[name]}; Java {java_process()[2]:.0f} s of CPU")
    return questions


def another_pass(
    spark, history: Path, connection, questions: dict[str, dict], opening: dict
) -> None:
    """Time each question in wireproof, tuned Spark and DuckDB, one after the other.

    So what drifts on the machine meets all of them alike; nothing is kept before.
    """
    opened, tables = time_opening(spark, history, read_state(spark, str(history)))
    opening.setdefault("ours", []).append(opened)
    for name, figures in questions.items():
        ways = {
            "ours": lambda name=name: len(answer(name, tables).rows),
            "tuned": lambda name=name: tuned.ask(spark, name),
        }
        if name in duck.QUERIES:
            ways["duck"] = lambda name=name: duck.ask(connection, name)
        counts = {}
        cpu = []
        for way, ask in ways.items():
            before = java_process()[2]
            spent, counts[way] = time_question(ask)
            figures.setdefault(way, []).append(spent)
            cpu.append(round(java_process()[2] - before, 1))
        same_length(name, counts)
        told = {way: round(figures[way][-1], 2) for way in ways}
        say(f"  {name}: {told}; Java's CPU {cpu}")


def incremental(
    spark, history: Path, older: State, newest: State, names: Sequence[str]
) -> dict[str, float]:
    """Time all questions of an older state without kept counts, then of the newest with them."""
    kept = history / PARTIALS
    shutil.rmtree(kept, ignore_errors=True)
    spent = {}
    for words, state in (("full", older), ("added", newest)):
        spark.catalog.clearCache()
        began = time.monotonic()
        tables = open_tables(spark, str(history), state, today=TODAY, keep=True)
        for name in names:
            answer(name, tables)
        spent[words] = round(time.monotonic() - began, 2)
        say(f"  {words}: {spent[words]} s")
    return spent


def time_opening(spark, history: Path, state: State):
    """Open a history of which nothing is kept; return the seconds, and its tables.

    Of a long history what all questions need is counted then, and kept.
    """
    spark.catalog.clearCache()
    shutil.rmtree(history / PARTIALS, ignore_errors=True)
    began = time.monotonic()
    tables = open_tables(spark, str(history), state, today=TODAY)
    spent = round(time.monotonic() - began, 3)
    say(f"  opening: {spent} s; Java {java_process()[2]:.0f} s of CPU")
    return spent, tables


def same_length(name: str, counts: dict) -> None:
    """Compare the numbers of rows of the answers; ours also has the clauses never tested."""
    if name != "coverage_clauses" and len(set(counts.values())) > 1:
        raise SystemExit(f"{name}: answers of different length: {counts}")


def time_question(ask: Callable[[], int]) -> tuple[float, int]:
    began = time.monotonic()
    rows = ask()
    return time.monotonic() - began, rows


def java_process() -> tuple[int, int, float]:
    """Return, for Spark's Java: most memory used and heap limit in MiB, CPU time in s."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            numbers = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(numbers[1]) == os.getpid() and words[0].endswith("java"):
            heap = next((word[4:] for word in words if word.startswith("-Xmx")), "0m")
            unit = {"g": 1024, "m": 1}[heap[-1]]
            spent = (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
            return peak_mib(int(entry.name)), int(heap[:-1]) * unit, spent
    raise SystemExit("the driver's Java is not to be found")


def peak_mib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return 0


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("history", type=Path)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--passes", type=int, default=0, help="of all ways in turn")
    parser.add_argument("--once", action="store_true", help="nothing is asked again")
    parser.add_argument("--only", help="one question")
    args = parser.parse_args()
    names = [args.only] if args.only else list(tuned.QUERIES)
    print(json.dumps(measure(args.history, args.passes, args.log, names, once=args.once)))


if __name__ == "__main__":
    main()
