"""All bounds of the pipeline in one table: what measurements left, and what is still to be run.

`make bench-pipeline` measures ingest. Questions, increments and heap are measured by
`make bench-aggregate`, kills by `make kills`: both take hours, and keep their figures in out/.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench_aggregate"))
from judging import Bound, bounds, ratio

OUT = Path(__file__).resolve().parents[2] / "out"
INGEST = ("make bench-pipeline", "bench-pipeline/figures.json")
QUESTIONS = ("make bench-aggregate", "bench-aggregate.json")
KILLED = ("make kills", "kills/state.json")
KILLS = 60
Kept = Mapping


def of_ingest(kept: Kept) -> Iterator[Bound]:
    """Yield the bounds of ingest: of each way the fastest of its rounds counts."""
    least = {name: min(of) for name, of in kept.get("both", {}).items() if name != "load"}
    cpu = ratio(least.get("new_cpu_s"), least.get("old_cpu_s"))
    faster = ratio(least.get("old_elapsed_s"), least.get("new_elapsed_s"))
    yield Bound("ingest, CPU a result: times before Spark", cpu, 1.3)
    yield Bound("ingest, elapsed on two cores: times faster", faster, 1.3, is_least=True)
    tasks = {int(cores): int(of) for cores, of in _tasks(kept).items()}
    most = max(tasks, default=0)
    yield Bound(
        f"ingest, tasks with {most or 64} cores", tasks.get(most), most or 64, is_least=True
    )
    one_s = min(kept["one"]["elapsed_s"]) if "one" in kept else None
    yield Bound("ingest, one bundle into a new history, cold, seconds", one_s, 15.0)


def _tasks(kept: Kept) -> Mapping[str, str]:
    return kept.get("plan", {}).get("tasks_by_cores", {})


def of_questions(kept: Kept) -> Iterator[Bound]:
    sizes = {int(rows): size for rows, size in kept.get("sizes", {}).items()}
    yield from bounds(sizes, kept.get("alone", {}))


def of_kills(kept: Kept) -> Iterator[Bound]:
    # A kill is counted when the tables have been checked; what the checkpoint of a watching ingest
    # lost, and wrong counts that were kept, are found by the last check.
    of_kind = kept.get("done")
    # As many of each kind: 60 kills of one kind say nothing of the others.
    done = len(of_kind) * min(of_kind.values()) if isinstance(of_kind, dict) else 0
    is_done = done >= KILLS and kept.get("checked")
    so_far = f" ({done} so far)" if done and not is_done else ""
    found = done if is_done else None
    yield Bound(f"kills with nothing lost or doubled{so_far}", found, KILLS, is_least=True)


PARTS = ((INGEST, of_ingest), (QUESTIONS, of_questions), (KILLED, of_kills))


def report(out: Path = OUT) -> tuple[str, bool]:
    """Return the table of all bounds, and whether each that was measured holds."""
    lines = [f"{'bound':<62}{'found':>9}{'limit':>11}  verdict"]
    holds = True
    for (target, name), bounds_of in PARTS:
        path = out / name
        is_there = path.exists()
        found = list(bounds_of(json.loads(path.read_text()) if is_there else {}))
        day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date() if is_there else None
        lines.append(f"{target}: {f'figures of {day}' if day else 'to be run'}")
        lines.extend(map(_line, found))
        holds = holds and all(bound.verdict != "MISSED" for bound in found)
    return "\n".join(lines), holds


def _line(bound: Bound) -> str:
    found = "" if bound.found is None else f"{bound.found:.2f}"
    limit = f"{'>=' if bound.is_least else '<='} {bound.limit:g}"
    return f"  {bound.what:<60}{found:>9}{limit:>11}  {bound.verdict}"
