"""How long the questions take on synthetic histories of 1, 10 and 50 million results.

    python tools/bench_aggregate/run.py [--rows 1000000] [--repeats 2]

Each is asked cold and again; then, with nothing kept, in turn with the same as Spark SQL written
by hand and, for five of them, as DuckDB's SQL, on the same files. One session a size;
out/bench-aggregate.json keeps all figures. Exit 1 when a bound does not hold.
"""

import argparse
import json
import os
import statistics
import sys
import time
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import duck  # noqa: E402  # beside this file
import tuned  # noqa: E402
from generate import generate  # noqa: E402

from wireproof_reports.history.manifest import read_manifest  # noqa: E402
from wireproof_reports.questions.answers import answer  # noqa: E402
from wireproof_reports.questions.session import session  # noqa: E402
from wireproof_reports.questions.tables import open_tables  # noqa: E402

SIZES = (1_000_000, 10_000_000, 50_000_000)
CORES = 2
HISTORIES = ROOT / ".cache" / "bench-aggregate"
OUT = ROOT / "out" / "bench-aggregate.json"
TODAY = date(2026, 11, 21)

DUCK_AT, DUCK_BOUND = 10_000_000, 10.0
TUNED_BOUND = 1.3
GROWTH_BOUND = 3.5
WARM_BOUND = 0.7
HEAP_BOUND_MIB = 3 * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, action="append", help="a size; default: all three")
    parser.add_argument("--repeats", type=int, default=2, help="passes of all ways in turn")
    told = parser.parse_args()
    sizes = told.rows or list(SIZES)
    OUT.parent.mkdir(exist_ok=True)
    whole = json.loads(OUT.read_text()) if OUT.exists() else {}
    for rows in sizes:
        whole[str(rows)] = measured(rows, told.repeats)
        OUT.write_text(json.dumps(whole, indent=1) + "\n")
        show(rows, whole[str(rows)])
    return judge({int(rows): figures for rows, figures in whole.items()}, sizes)


def measured(rows: int, repeats: int) -> dict:
    history = HISTORIES / str(rows)
    began = time.monotonic()
    generate(history, rows)
    generated = time.monotonic() - began
    size = sum(path.stat().st_size for path in history.rglob("*.parquet"))
    print(f"{rows:,} rows: {size / 1e6:.0f} MB in {generated:.0f} s", file=sys.stderr)
    connection = duck.connect(str(history), CORES)
    began = time.monotonic()
    with session(f"local[{CORES}]", OUT.with_suffix(".log"), settings={}) as spark:
        started = time.monotonic() - began
        tuned.open_views(spark, str(history))
        questions = first_pass(spark, history)
        for _ in range(repeats):
            another_pass(spark, history, connection, questions)
        peak, heap = java_peaks()
    for figures in questions.values():
        for way in ("ours", "tuned", "duck"):
            if way in figures:
                figures[way] = round(statistics.median(figures[way]), 3)
    return {
        "rows": read_manifest(history).count("results"),
        "bytes": size,
        "start_s": round(started, 2),
        "java_peak_mib": peak,
        "heap_limit_mib": heap,
        "python_peak_mib": peak_mib(os.getpid()),
        "questions": questions,
    }


def first_pass(spark, history: Path) -> dict[str, dict]:
    """Ask each question twice, in a session that has been asked nothing before."""
    tables = fresh_tables(spark, history)
    questions: dict[str, dict] = {}
    for name in tuned.QUERIES:
        cold, rows = timed(lambda name=name: len(answer(name, tables).rows))
        again, _ = timed(lambda name=name: len(answer(name, tables).rows))
        questions[name] = {"rows": rows, "cold": round(cold, 3), "again": round(again, 3)}
        print(f"  {name}: {questions[name]}", file=sys.stderr)
    return questions


def another_pass(spark, history: Path, connection, questions: dict[str, dict]) -> None:
    """Ask all of all, in turn, so that what drifts meets them alike; nothing is kept before."""
    tables = fresh_tables(spark, history)
    for name, figures in questions.items():
        ways = {
            "ours": lambda name=name: len(answer(name, tables).rows),
            "tuned": lambda name=name: tuned.ask(spark, name),
        }
        if name in duck.QUERIES:
            ways["duck"] = lambda name=name: duck.ask(connection, name)
        counts = {}
        for way, ask in ways.items():
            spent, counts[way] = timed(ask)
            figures.setdefault(way, []).append(spent)
        same_answers(name, counts)
        told = {way: round(figures[way][-1], 2) for way in ways}
        print(f"  {name}: {told}", file=sys.stderr)


def fresh_tables(spark, history: Path):
    spark.catalog.clearCache()
    return open_tables(spark, str(history), read_manifest(history), today=TODAY)


def same_answers(name: str, counts: dict) -> None:
    """Compare how many rows the answers have; ours tells of clauses never met as well."""
    if name != "coverage_clauses" and len(set(counts.values())) > 1:
        raise SystemExit(f"{name}: answers of different length: {counts}")


def timed(ask) -> tuple[float, int]:
    began = time.monotonic()
    rows = ask()
    return time.monotonic() - began, rows


def java_peaks() -> tuple[int, int]:
    """Return the most memory that Java had, and the limit of its heap, in MiB."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == os.getpid() and words[0].endswith("java"):
            heap = next((word[4:] for word in words if word.startswith("-Xmx")), "0m")
            unit = {"g": 1024, "m": 1}[heap[-1]]
            return peak_mib(int(entry.name)), int(heap[:-1]) * unit
    return 0, 0


def peak_mib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    return 0


def total(figures: dict, way: str, names: list[str] | None = None) -> float:
    questions = figures["questions"]
    return sum(questions[name][way] for name in names or questions if way in questions[name])


def show(rows: int, figures: dict) -> None:
    names = ("rows", "cold s", "again", "ours", "by hand", "DuckDB")
    head = f"{'question':<18}" + "".join(f"{name:>9}" for name in names)
    print(f"\n{rows:,} results, Spark up in {figures['start_s']} s\n{head}")
    for name, told in figures["questions"].items():
        ways = ("cold", "again", "ours", "tuned", "duck")
        spent = "".join(f"{told[way]:>9.2f}" for way in ways if way in told)
        print(f"{name:<18}{told['rows']:>9,}{spent}")
    print(
        f"Java {figures['java_peak_mib']} MiB at most (heap {figures['heap_limit_mib']}), "
        f"Python {figures['python_peak_mib']} MiB"
    )


def judge(whole: dict[int, dict], sizes: list[int]) -> int:
    """Hold the figures against their bounds; say which do not hold."""
    found: list[tuple[str, float, float]] = []
    for rows in sizes:
        figures = whole[rows]
        by_duck = total(figures, "cold", list(duck.QUERIES)) / total(figures, "duck")
        if rows == DUCK_AT:
            found.append((f"{rows:,}: five questions, cold, times DuckDB", by_duck, DUCK_BOUND))
        by_hand = total(figures, "ours") / total(figures, "tuned")
        found.append((f"{rows:,}: all questions, times hand-tuned", by_hand, TUNED_BOUND))
        heap = figures["heap_limit_mib"]
        found.append((f"{rows:,}: heap in MiB", heap, HEAP_BOUND_MIB))
        again = total(figures, "again") / total(figures, "cold")
        found.append((f"{rows:,}: asked again, times cold", again, WARM_BOUND))
    if {SIZES[1], SIZES[2]} <= whole.keys() and SIZES[2] in sizes:
        small, large = (whole[rows] for rows in SIZES[1:])
        growth = total(large, "cold") / total(small, "cold")
        found.append(("5 times the rows, times the time", growth, GROWTH_BOUND))
    for what, value, bound in found:
        print(f"{'ok  ' if value <= bound else 'OVER'} {what}: {value:.2f}, at most {bound:g}")
    return int(any(value > bound for _, value, bound in found))


if __name__ == "__main__":
    raise SystemExit(main())
