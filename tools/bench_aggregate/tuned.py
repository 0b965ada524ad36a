"""The questions as one would write them by hand in Spark SQL, each for itself, tuned for speed.

They give the same answers from the same files, with nothing of this project around them.
"""

from pyspark.sql import DataFrame, SparkSession

from wireproof_spec.history import KINDS

TESTED = "('pass','reading','fail','known','unstable')"
GOOD = "verdict in ('pass','reading')"
BAD = "verdict in ('fail','known')"
ASSERTED = "verdict in ('pass','reading','fail','known')"
T = "protocol, vendor, version"
VERDICTS = ("pass", "reading", "fail", "known", "unsupported", "inconclusive", "unstable", "error")
COUNTS = ", ".join(f"sum(if(verdict = '{verdict}', n, 0)) as {verdict}_n" for verdict in VERDICTS)
SUMS = ", ".join(f"sum({verdict}_n)" for verdict in VERDICTS)
LEVELS = ", ".join(
    f"count_if({condition} and level = '{level}') as {level}_{number}"
    for level in ("must", "should", "may", "observed")
    for number, condition in enumerate((GOOD, ASSERTED))
)
WIDTHS = " ".join(
    f"when duration_us < {below * 10**decade} then {width * 10**decade}"
    for decade in range(12)
    for below, width in ((200, 2), (500, 5), (1000, 10))
)
PLACE = (
    "case verdict when 'pass' then 0 when 'reading' then 1 when 'known' then 2 "
    "when 'unstable' then 3 else 4 end"
)
WORST = (
    "case verdict when 'fail' then 5 when 'unstable' then 4 when 'known' then 3 "
    "when 'inconclusive' then 2 when 'unsupported' then 1 else 0 end"
)
SEVERITY = (
    "case verdict when 'fail' then 7 when 'unstable' then 6 when 'known' then 5 "
    "when 'reading' then 4 when 'pass' then 3 when 'inconclusive' then 2 "
    "when 'unsupported' then 1 else 0 end"
)
STATE = f"if(verdict in {TESTED}, {2**60}, 0) + coalesce(unix_micros({{0}}), -1) * 8 + {SEVERITY}"
"""What a case stands at, of several results the greatest: with a conclusion, late, and bad."""
ORDER = "join (select distinct version, version_key from runs) using (version)"

QUERIES = {
    "matrix": f"""
        with counted as (
            select {T}, clause, level, origin, role, case, verdict, reading,
                   count(*) n, max(started) last
            from results group by all),
        by_case as (
            select {T}, clause, level, origin, role, case, {COUNTS},
                   collect_set(if(reading <> '', reading, null)) readings, max(last) last,
                   max({STATE.format("last")}) state
            from counted group by {T}, clause, level, origin, role, case)
        select * from (
            select {T}, clause, min(level), max(origin), max(role), {SUMS},
                   sort_array(array_distinct(flatten(collect_list(readings)))),
                   max(pmod(state, 8)) standing, max(last)
            from by_case group by {T}, clause) {ORDER}
        order by protocol, vendor, version_key, clause""",
    "evidence": f"""
        with states as (
            select {T}, clause, case, max({STATE.format("started")}) stands
            from results group by all),
        odd as (
            select *, {STATE.format("started")} stands from results
            where verdict not in ('pass','reading'))
        select * from (
            select {T}, clause, max(struct({WORST} worst, started, bundle, case, verdict, accepted,
                   observation, reason, difference_field, difference_expected, difference_found,
                   same, runs)) told
            from odd left semi join states using ({T}, clause, case, stands) group by all) {ORDER}
        left join (select bundle, path from runs) files on told.bundle = files.bundle
        order by protocol, vendor, version_key, clause""",
    "levels": f"""
        select * from (select {T}, day, `group`, {LEVELS} from results group by all) {ORDER}
        order by protocol, vendor, version_key, day, `group`""",
    "regressions": f"""
        with packed as (
            select {T}, case, case_hash, clause, level, max(unix_micros(started) * 8 + {PLACE}) p
            from results where verdict in {TESTED} group by all),
        states as (
            select * from (select {T}, case, max(struct(p, case_hash, clause, level)) state
            from packed group by all) {ORDER}),
        pairs as (
            select *, lag(version) over w before, lag(state) over w earlier from states
            window w as (partition by protocol, vendor, case order by version_key, version))
        select * from pairs where before is not null and (
            earlier.case_hash <> state.case_hash
            or (earlier.p % 8 <= 1) <> (state.p % 8 <= 1)
            or (earlier.p % 8 = 3) <> (state.p % 8 = 3))
        order by protocol, vendor, version_key, case""",
    "flaky": f"""
        select * from (
            select {T}, case, case_hash, max_by((clause, level), started), count(*) n,
                   count_if({GOOD}) good, count_if({BAD}) bad, sum(runs) repeats,
                   sum(runs - same) unlike, max(started)
            from results where verdict in {TESTED} group by all
            having (good > 0 and bad > 0) or n > good + bad or unlike > 0) {ORDER}
        order by abs(good / n - 0.5), protocol, vendor, version_key, case""",
    "flips": f"""
        with mixed as (
            select {T}, case, case_hash from results where verdict in {TESTED}
            group by all having count_if({GOOD}) > 0 and count_if(not {GOOD}) > 0),
        flipped as (
            select {T}, case, case_hash, started, ({GOOD}) <> lag({GOOD}) over (
                partition by {T}, case, case_hash order by started, bundle) flip
            from results left semi join mixed using ({T}, case, case_hash)
            where verdict in {TESTED})
        select * from (
            select {T}, case, case_hash, count(*), count_if(flip) flips,
                   max(if(flip, started, null)) from flipped group by {T}, case, case_hash) {ORDER}
        order by flips desc, protocol, vendor, version_key, case""",
    "causes": f"""
        with runs_with as (
            select protocol, clause, cause_field, cause_value, vendor, version, bundle,
                   count(*) n, min(started) first, max(started) last
            from results where {BAD} group by all)
        select protocol, clause, cause_field, cause_value, sort_array(collect_set(vendor)),
               size(collect_set(struct(vendor, version))) versions, count(*) runs, sum(n) cases,
               min(first), max(last)
        from runs_with group by protocol, clause, cause_field, cause_value
        order by versions desc, runs desc, cases desc, protocol, clause""",
    "coverage_clauses": f"""
        select protocol, clause, min(level), count_if(a > 0), sum(a), sum(t) from (
            select protocol, clause, level, vendor, count_if({ASSERTED}) a,
                   count_if(not {ASSERTED}) t from results group by all)
        group by protocol, clause order by protocol, clause""",
    "durations": f"""
        with counted as (
            select {T}, interface,
                   duration_us - duration_us % case when duration_us < 100 then 1 {WIDTHS} end
                       as step,
                   count(*) n
            from results group by all),
        ranked as (
            select *, sum(n) over (partition by {T}, interface order by step) up_to,
                   sum(n) over (partition by {T}, interface) whole from counted)
        select * from (
            select {T}, interface, sum(n),
                   min(if(up_to * 100 >= whole * 50, step, null)) p50,
                   min(if(up_to * 100 >= whole * 95, step, null)),
                   min(if(up_to * 100 >= whole * 99, step, null)),
                   sort_array(collect_list(struct(step, n)))
            from ranked group by {T}, interface) {ORDER}
        order by protocol, vendor, interface, version_key""",
    "deviations": f"""
        select * from (
            select {T}, deviation, clause, max(struct(started, bundle, expires, n)) run from (
                select {T}, deviation, clause, bundle, started, max(deviation_expires) expires,
                       count(*) n from results where deviation <> '' group by all)
            group by {T}, deviation, clause) {ORDER}
        order by protocol, vendor, version_key, clause""",
    "separating": f"""
        select protocol, case, case_hash, max(judged), count(*), sum(n), sum(bad), avg(bad / n),
               avg(if(bad = 0 or bad = n, 0D,
                   -(bad / n * log2(bad / n) + (1 - bad / n) * log2(1 - bad / n)))) within
        from (select protocol, case, case_hash, vendor, count(*) n, count_if(not {GOOD}) bad,
                     max((started, clause, level)) judged
              from results where verdict in {TESTED} group by all)
        group by protocol, case, case_hash order by within, case""",
}


def open_views(spark: SparkSession, history: str) -> None:
    """Make a history's files available to Spark SQL as views, with the types in the files."""
    for view in ("results", "runs"):
        frame: DataFrame = spark.read.parquet(f"{history}/kind={KINDS[view]}")
        frame.createOrReplaceTempView(view)


def ask(spark: SparkSession, name: str) -> int:
    """Ask tuned Spark a question, fetch the whole answer, and return its number of rows."""
    return spark.sql(QUERIES[name]).toArrow().num_rows
