"""The table at the end of `make bench-pipeline`: all bounds, from what three targets have left."""

import json
from pathlib import Path

import pytest
from tool_modules import load_tool

report = load_tool("tools/bench_pipeline/report.py").report

INGEST = {
    "both": {
        "old_elapsed_s": [130.0, 120.0],
        "new_elapsed_s": [80.0, 90.0],
        "old_cpu_s": [100.0, 110.0],
        "new_cpu_s": [150.0, 145.0],
        "load": 2.0,
    },
    "one": {"elapsed_s": [14.0, 16.0]},
    "plan": {"tasks_by_cores": {"2": "128", "64": "128"}},
}
MIDDLE = {
    "questions": {"matrix": {"cold": 4.0}},
    "opening": {"cold": 1.0},
    "heap_mib": 3072,
    "incremental": {"added": 1.0, "full": 5.0},
}


def rows_of(table: str) -> dict[str, list[str]]:
    """Return found (if anything), limit and verdict by bound, split at blanks."""
    return {line[:62].strip(): line[62:].split() for line in table.splitlines()}


def write(out: Path, name: str, figures: object) -> None:
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    (out / name).write_text(json.dumps(figures))


def test_what_was_not_measured_is_named_with_its_target(tmp_path: Path) -> None:
    table, holds = report(tmp_path)

    assert holds
    for target in ("bench-pipeline", "bench-aggregate", "kills"):
        assert f"make {target}: to be run" in table
    assert {"holds", "MISSED"}.isdisjoint(table.split())


def test_all_that_was_measured_stands_in_one_table(tmp_path: Path) -> None:
    write(tmp_path, "bench-pipeline/figures.json", INGEST)
    write(tmp_path, "bench-aggregate.json", {"sizes": {"10000000": MIDDLE}})
    done = dict.fromkeys(("ingest", "watch", "aggregate"), 20)
    write(tmp_path, "kills/state.json", {"done": done, "checked": True})
    table, holds = report(tmp_path)
    rows = rows_of(table)

    assert not holds
    assert rows["ingest, CPU a result: times before Spark"] == ["1.45", "<=", "1.3", "MISSED"]
    assert rows["ingest, elapsed on two cores: times faster"] == ["1.50", ">=", "1.3", "holds"]
    assert rows["ingest, tasks with 64 cores"] == ["128.00", ">=", "64", "holds"]
    one = "ingest, one bundle into a new history, cold, seconds"
    assert rows[one] == ["14.00", "<=", "15", "holds"]
    added = "10 M, all questions after 1 % new results: times full"
    assert rows[added] == ["0.20", "<=", "0.25", "holds"]
    assert rows["10 M, heap that sufficed, in MiB"] == ["3072.00", "<=", "3072", "holds"]
    assert rows["50 M, all questions: times 10 M"] == ["<=", "3", "not", "measured"]
    assert rows["kills with nothing lost or doubled"] == ["60.00", ">=", "60", "holds"]
    assert table.count("figures of 20") == 3


@pytest.mark.parametrize(
    ("done", "so_far"), [((7, 40, 7), 21), ((20, 20, 20), 60)], ids=["broken off", "last check"]
)
def test_kills_whose_last_check_is_missing_are_no_verdict(
    tmp_path: Path, done: tuple[int, ...], so_far: int
) -> None:
    of_kind = dict(zip(("ingest", "watch", "aggregate"), done, strict=True))
    write(tmp_path, "kills/state.json", {"done": of_kind, "checked": False})
    table, holds = report(tmp_path)

    assert holds
    words = f"kills with nothing lost or doubled ({so_far} so far)"
    assert rows_of(table)[words] == [">=", "60", "not", "measured"]
