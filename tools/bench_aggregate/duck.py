"""The five measured questions as SQL for DuckDB, on the same files."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

TESTED = "('pass','reading','fail','known','unstable')"
GOOD = "verdict in ('pass','reading')"
BAD = "verdict in ('fail','known')"
T = "protocol, vendor, version"

VERDICTS = ("pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error")
COUNTS = ", ".join(
    f"count(*) filter (verdict = '{verdict}') as {verdict}_n" for verdict in VERDICTS
)
SUMS = ", ".join(f"sum({verdict}_n)" for verdict in VERDICTS)
SEVERITY = (
    "list_position(['error','unsupported','inconclusive','pass','reading','known','unstable',"
    "'fail'], verdict)"
)

QUERIES = {
    "matrix": f"""
        with by_case as (
            select {T}, clause, "case", min(level) as level, max(origin) as origin,
                   max(role) as role, {COUNTS}, max(started) as last,
                   list(distinct reading) filter (reading <> '') as readings,
                   max({{'t': verdict in {TESTED}, 's': started, 'v': {SEVERITY}}}) as state
            from results group by all)
        select {T}, clause, min(level), max(origin), max(role), {SUMS},
               list_sort(list_distinct(flatten(list(readings)))), max(state.v), max(last)
        from by_case group by {T}, clause""",
    "durations": f"""
        select {T}, interface, count(*),
               quantile_disc(duration_us, [0.5, 0.95, 0.99])
        from results group by all""",
    "flaky": f"""
        select {T}, "case", case_hash, arg_max((clause, level), started), count(*) as n,
               count(*) filter ({GOOD}) as good, count(*) filter ({BAD}) as bad,
               sum(runs) as repeats, sum(runs - same) as unlike, max(started)
        from results where verdict in {TESTED} group by all
        having (good > 0 and bad > 0) or n > good + bad or unlike > 0""",
    "flips": f"""
        select {T}, "case", case_hash, count(*), count(*) filter (flip) as flips,
               max(started) filter (flip)
        from (select *, ({GOOD}) <> lag({GOOD}) over
                  (partition by {T}, "case", case_hash order by started, bundle) as flip
              from results where verdict in {TESTED})
        group by all having flips > 0""",
    "regressions": f"""
        with states as (
            select {T}, version_key, "case",
                   max({{'s': started,
                         'p': list_position(['pass','reading','known','unstable','fail'], verdict),
                         'h': case_hash, 'c': clause, 'l': level}}) as state
            from results where verdict in {TESTED} group by all),
        pairs as (
            select *, lag(version) over w as before, lag(state) over w as earlier from states
            window w as (partition by protocol, vendor, "case" order by version_key, version))
        select protocol, vendor, before, version, "case", state.c, state.l,
               earlier.p, state.p
        from pairs where before is not null and (
            earlier.h <> state.h or (earlier.p <= 2) <> (state.p <= 2)
            and earlier.p <> 4 and state.p <> 4
            or (earlier.p = 4) <> (state.p = 4))""",
}


def connect(history: str, threads: int) -> "duckdb.DuckDBPyConnection":
    """Return a DuckDB connection that has the history's results as a view."""
    # Imported here: at the end of a process that loaded it and asked nothing, DuckDB prints leaks.
    import duckdb

    duck = duckdb.connect()
    duck.execute(f"set threads = {threads}")
    duck.execute("set enable_progress_bar = false")
    duck.execute(
        f"create view results as select * from read_parquet("
        f"'{history}/kind=result/*/*/*.parquet', hive_partitioning = true)"
    )
    return duck


def ask(duck: "duckdb.DuckDBPyConnection", name: str) -> int:
    """Ask DuckDB a question, fetch the whole answer, and return its number of rows."""
    return len(duck.execute(QUERIES[name]).fetchall())
