"""Compare three layouts of a history: the questions by Spark, and reading by DuckDB and deltalake.

    python tools/bench_aggregate/layouts.py [--rows 1000000] [--again]

``tables`` has a Delta table for each kind of rows, ``arrays`` one row for each bundle with an
array of its cases, ``flat`` one table with rows of every kind. All have the same synthetic
results. Each layout is asked in a Spark driver of its own, first cold and then warm, by the
hand-written SQL of `tuned`. Files and figures are kept in out/bench-layouts; what is there is not
measured again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import tuned  # beside this file
from deltalake import DeltaTable, write_deltalake
from duck import QUERIES as BY_DUCK
from generate import CASES, generate

from wireproof_reports.pipeline.session import Wanted, run_sql, session
from wireproof_spec.history import KINDS, VIEWS

OUT = Path(__file__).resolve().parents[2] / "out" / "bench-layouts"
LAYOUTS = ("tables", "arrays", "flat")
OF_BUNDLE = ("bundle", "vendor", "version", "version_key", "started", "protocol", "day")
ROWS_IN_GROUP = 16
"""Bundles in a row group of ``arrays``: each has 1,500 cases, and a batch must fit the heap."""
SETTINGS = {
    "flat": {},
    "tables": {},
    "arrays": {
        "spark.sql.parquet.columnarReaderBatchSize": "16",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    },
}
LONGEST_S = 7200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--again", action="store_true", help="forget the figures that are there")
    parser.add_argument("--no-spark", action="store_true", help="DuckDB and deltalake alone")
    parser.add_argument("--ask", choices=LAYOUTS, help="ask one layout and print the figures")
    args = parser.parse_args()
    folder = OUT / str(args.rows)
    if args.ask:
        print(json.dumps(ask(folder / args.ask, args.ask, by_spark=not args.no_spark)))
        return 0
    write(folder, args.rows)
    kept = folder / ("others.json" if args.no_spark else "figures.json")
    figures = json.loads(kept.read_text()) if kept.exists() and not args.again else {}
    for layout in LAYOUTS:
        if layout not in figures:
            words = [sys.executable, __file__, "--rows", str(args.rows), "--ask", layout]
            words += ["--no-spark"] if args.no_spark else []
            done = subprocess.run(words, stdout=subprocess.PIPE, timeout=LONGEST_S, check=True)
            figures[layout] = json.loads(done.stdout)
            kept.write_text(json.dumps(figures, indent=1) + "\n")
    show(figures)
    return 0


def write(folder: Path, rows: int) -> None:
    """Write the layouts that are not there."""
    generate(folder / "flat", rows)
    flat = DeltaTable(folder / "flat")
    if (folder / "done").exists():
        return
    for layout in ("tables", "arrays"):
        shutil.rmtree(folder / layout, ignore_errors=True)
    days = pa.table(flat.get_add_actions(flatten=True)).column("partition.day")
    for day in sorted(set(days.to_pylist())):
        views = {
            view: flat.to_pyarrow_table(filters=[("kind", "=", KINDS[view]), ("day", "=", day)])
            for view in ("results", "runs")
        }
        for view, found in views.items():
            own = ["protocol", "day", *(column.name for column in VIEWS[view])]
            views[view] = found.select(own)
            write_table(folder / "tables" / view, views[view])
        write_table(folder / "arrays", nested(views["results"]), ROWS_IN_GROUP)
    (folder / "done").touch()


def write_table(where: Path, rows: pa.Table, in_group: int | None = None) -> None:
    from deltalake import WriterProperties

    properties = WriterProperties(max_row_group_size=in_group) if in_group else None
    write_deltalake(
        where,
        rows,
        partition_by=["protocol", "day"],
        mode="append",
        writer_properties=properties,
        configuration={"delta.dataSkippingStatsColumns": "bundle"},
    )


def nested(results: pa.Table) -> pa.Table:
    """Return a row for each bundle with an array of its cases."""
    ordered = results.sort_by("bundle").combine_chunks()
    own = [name for name in ordered.column_names if name not in OF_BUNDLE]
    cases = pa.StructArray.from_arrays(
        [ordered.column(name).combine_chunks() for name in own],
        fields=[ordered.schema.field(name) for name in own],
    )
    starts = range(0, ordered.num_rows + 1, CASES)
    lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), cases)
    return ordered.select(OF_BUNDLE).take(list(starts)[:-1]).append_column("cases", lists)


def ask(history: Path, layout: str, *, by_spark: bool) -> dict:
    """Ask one layout all questions, by Spark twice; return the seconds."""
    figures: dict = {"bytes": sum(path.stat().st_size for path in history.rglob("*.parquet"))}
    figures["duckdb"] = {name: by_duck(history, layout, sql) for name, sql in BY_DUCK.items()}
    began = time.monotonic()
    figures["deltalake_rows"] = by_deltalake(history, layout)
    figures["deltalake"] = round(time.monotonic() - began, 2)
    figures["load"] = round(os.getloadavg()[0], 1)
    if not by_spark:
        return figures
    with session(Wanted("local[2]", settings=SETTINGS[layout]), OUT / "spark.log") as spark:
        open_views(spark, history, layout)
        for way in ("cold", "warm"):
            figures[way] = {}
            for name in tuned.QUERIES:
                began = time.monotonic()
                tuned.ask(spark, name)
                figures[way][name] = round(time.monotonic() - began, 2)
                print(f"{layout} {way} {name} {figures[way][name]}", file=sys.stderr, flush=True)
    return figures


def open_views(spark, history: Path, layout: str) -> None:
    """Make a layout available to SQL as the views results and runs."""
    for view in ("results", "runs"):
        where = history / view if layout == "tables" else history
        table = f"delta.`{where}`"
        sql = f"select * from {table}"
        if layout == "flat":
            sql += f" where kind = '{KINDS[view]}'"
        elif layout == "arrays" and view == "results":
            own = ", ".join(OF_BUNDLE)
            cases = f"select {own}, explode(cases) as each from {table}"
            sql = f"select {own}, each.* from ({cases})"
        run_sql(spark, sql).createOrReplaceTempView(view)


def by_duck(history: Path, layout: str, sql: str) -> float:
    """Return the seconds that a question takes DuckDB, by the files that the table names."""
    began = time.monotonic()
    table = DeltaTable(history / "results" if layout == "tables" else history)
    files = table.file_uris([("kind", "=", "result")] if layout == "flat" else None)
    with duckdb.connect() as duck:
        duck.execute("set threads = 2")
        rows = f"read_parquet({files!r}, hive_partitioning = true)"
        cases = f"select *, unnest(cases) as c from {rows}"
        unnested = f"select * exclude (cases, c), unnest(c) from ({cases})"
        made = unnested if layout == "arrays" else f"select * from {rows}"
        duck.execute(f"create view results as {made}")
        duck.execute(sql).fetchall()
    return round(time.monotonic() - began, 2)


def by_deltalake(history: Path, layout: str) -> int:
    """Read the verdict of every case with deltalake; return how many there are."""
    if layout == "arrays":
        column = DeltaTable(history).to_pyarrow_table(columns=["bundle", "cases"]).column("cases")
        return sum(len(chunk.flatten().field("verdict")) for chunk in column.chunks)
    table = DeltaTable(history / "results" if layout == "tables" else history)
    kept = [("kind", "=", "result")] if layout == "flat" else None
    return table.to_pyarrow_table(columns=["bundle", "verdict"], filters=kept).num_rows


def show(figures: dict) -> None:
    """Print a table of the seconds by layout."""
    print(f"{'':<22}" + "".join(f"{layout:>10}" for layout in LAYOUTS))
    for way in ("cold", "warm", "duckdb"):
        for name in figures["flat"].get(way, ()):
            spent = "".join(f"{figures[layout][way][name]:>10.2f}" for layout in LAYOUTS)
            print(f"{way + ' ' + name:<22}{spent}")
        whole = "".join(f"{sum(figures[one].get(way, {}).values()):>10.2f}" for one in LAYOUTS)
        print(f"{way + ', all':<22}{whole}")
    for name in ("deltalake", "bytes", "load"):
        print(f"{name:<22}" + "".join(f"{figures[layout][name]:>10}" for layout in LAYOUTS))


if __name__ == "__main__":
    raise SystemExit(main())
