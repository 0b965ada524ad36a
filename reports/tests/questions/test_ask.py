"""Questions of one's own: those of the page are answered, from the state that is asked."""

import re
from datetime import UTC, date, datetime, time
from pathlib import Path

import pytest
from fleet import Shape, fleet, write_fleet
from history_fixture import write_history
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from wireproof_reports.pipeline.table import read_state, read_state_as_of
from wireproof_reports.questions.sql import Found, NotAllowed, ask_sql, name_views

PAGE = Path(__file__).resolve().parents[3] / "docs" / "questions.md"
SHAPE = Shape(
    seed=12, vendors=3, versions=3, cases=12, bundles=30, weights=(5, 5, 9, 5, 1, 1, 1, 1),
    spread_s=4_000_000,
)  # fmt: skip
pytestmark = [pytest.mark.process, pytest.mark.spark]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history") / "history"
    write_fleet(folder, fleet([SHAPE]))
    write_fleet(folder, fleet([SHAPE, SHAPE]), batch=2)
    return folder


def asked(spark: SparkSession, history: Path, sql: str, as_of: str = "") -> Found:
    state = (
        read_state_as_of(spark, str(history), as_of) if as_of else read_state(spark, str(history))
    )
    name_views(spark, str(history), state)
    return ask_sql(spark, sql, 1000)


def questions() -> list[str]:
    """Return the SQL of each question of the page."""
    each = re.split(r"(?m)^\d+\. .*$", PAGE.read_text())[1:]
    return ["\n".join(re.findall(r"(?m)^ {8}.*$", part)) for part in each]


TODAY = datetime.now(UTC).date()


def head(
    protocol: str, vendor: str, version: str, bundle: str, day: date = TODAY, **more: object
) -> dict[str, object]:
    started = datetime.combine(day, time(9), UTC)
    target = {"vendor": vendor, "version": version, "version_key": version}
    where = {"protocol": protocol, "day": day, "bundle": bundle, "started": started}
    return {**target, **where, **more}


RUNS = [
    head("nsq", "Acme", "1.0", "first", date(2020, 11, 1)),
    head("nsq", "Acme", "1.0", "second", date(2020, 11, 2)),
    head("iggy", "Acme", "1.0", "third", date(2020, 11, 3)),
    head("nsq", "Other", "2.0", "fourth"),
]
FIRST, SECOND, THIRD, FOURTH = RUNS
CAMPAIGN = head("nsq", "Acme", "1.0", "a campaign, later than the second", date(2020, 11, 4))
CASE: dict[str, object] = {
    "level": "must",
    "origin": "text",
    "role": "broker",
    "verdict": "pass",
    "reading": "",
    "observation": "ok,open",
    "duration_us": 1_000_000,
    "deviation_expired": False,
    "deviation": "",
    "deviation_expires": "",
}
FAILED = {"case": "nsq/publish/name-form/empty", "clause": "ext.a", "verdict": "fail"}
SLOW = {"case": "nsq/slow", "clause": "ext.b", "duration_us": 2_000_000, "verdict": "reading"}
OLD = {"verdict": "known", "deviation": "old", "deviation_expires": "2001-01-01"}
RENEWED = {"protocol": "iggy", "vendor": "Acme", "version": "1.0", "deviation": "renewed"}
RENEWED |= {"deviation_expires": "9999-01-01"}
NEW = {"reading": "order=deployed", "deviation": "new", "deviation_expires": "9999-01-01"}
RESULTS: list[dict[str, object]] = [
    {**FIRST, **CASE, **FAILED},
    {**SECOND, **CASE, **FAILED},
    {**THIRD, **CASE, "case": "iggy/x", "clause": "iggy.x"},
    {**THIRD, **CASE, "case": "iggy/y", "clause": "iggy.y", **OLD},
    {**THIRD, **CASE, "case": "iggy/z", "clause": "iggy.y"},
    {**THIRD, **CASE, "case": "iggy/w", "clause": "iggy.w", **OLD, "deviation": "renewed"},
    {**FOURTH, **CASE, "case": "iggy/w", "clause": "iggy.w", **RENEWED},
    {**FOURTH, **CASE, **SLOW, **NEW},
]
FINDING = {"finding": "f00d", "words": "An answer was owed.", "runs": 5, "seen": 3}
FINDINGS: list[dict[str, object]] = [
    {**FIRST, **FINDING, "shown": 5},
    {**FIRST, **FINDING, "finding": "0", "shown": 4},
    {**SECOND, **FINDING, "finding": "0", "shown": 5},
]
QUARANTINE = [
    head("", "", "", name, file=f"{name}.jsonl", line=0, reason=f"/a b/{name}.jsonl {why}")
    for name, why in (("c", "is cut off in line 12"), ("d 1", "is cut off in line 7"))
]
QUARANTINE += [{**FIRST, "file": "e.jsonl", "line": 9, "reason": "a/b stands in it twice"}]
ANSWERS: list[list[list[object]]] = [
    [
        ["iggy", "Acme", "1.0", 1, "2020-11-03", "2020-11-03"],
        ["nsq", "Acme", "1.0", 3, "2020-11-01", "2020-11-04"],
        ["nsq", "Other", "2.0", 1, str(TODAY), str(TODAY)],
    ],
    [["nsq", "Acme", "1.0", "ext.a", "nsq/publish/name-form/empty", "ok,open"]],
    [["ext.a", 1], ["iggy.w", 1], ["iggy.y", 1]],
    [["text", "broker", 1, 1]],
    [["order=deployed", ["Other"], 1]],
    [["Acme", "1.0", "2020-11-01T09:00:00Z", 2]],
    [["nsq/slow", "Other", 2.0], ["iggy/w", "Acme", 1.0]],
    [["Acme", "1.0", "old", "2001-01-01"]],
    [["f00d", "An answer was owed.", ["Acme"], 3]],
    [[" is cut off in line N", 2, "d 1.jsonl"], ["a/b stands in it twice", 1, "e.jsonl"]],
]
"""To each question of the page, in its order."""


def test_each_question_of_the_page_is_answered(spark: SparkSession, tmp_path: Path) -> None:
    tables: dict[str, list[dict[str, object]]] = {
        "results": RESULTS,
        "runs": [*({**run, "cases": 1} for run in RUNS), {**CAMPAIGN, "cases": 0}],
        "findings": FINDINGS,
        "quarantine": QUARANTINE,
    }
    write_history(tmp_path / "h", tables)

    for number, (sql, rows) in enumerate(zip(questions(), ANSWERS, strict=True), start=1):
        assert asked(spark, tmp_path / "h", sql).rows == rows, number


def test_an_older_state_is_asked_by_its_version(spark: SparkSession, history: Path) -> None:
    sql = "select count(*) from runs"

    assert asked(spark, history, sql).rows == [[90]]
    assert asked(spark, history, sql, as_of="0").rows == [[30]]


@pytest.mark.parametrize(
    "sql",
    [
        "with some as (select 7 as n) select n from some order by n;",
        "-- a remark\nselect 7",
        "values (7)",
    ],
)
def test_a_query_is_answered(spark: SparkSession, sql: str) -> None:
    assert ask_sql(spark, sql, 10).rows == [[7]]


def test_pyspark_prints_no_refused_statement(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command says in one sentence what Spark refuses."""
    with pytest.raises(AnalysisException):
        ask_sql(spark, "select nothing from results", 10)

    assert "nothing" not in capfd.readouterr().err


@pytest.mark.parametrize("sql", ["selec 1", "", "select 1; select 2"])
def test_what_is_no_sql_is_refused(spark: SparkSession, sql: str) -> None:
    with pytest.raises((ParseException, NotAllowed)):
        ask_sql(spark, sql, 10)


def test_rows_beyond_the_limit_are_said_to_be_there(spark: SparkSession) -> None:
    found = ask_sql(spark, "select id from values (0), (1), (2), (3), (4) as t(id) order by id", 3)

    assert (found.rows, found.is_cut) == ([[0], [1], [2]], True)


def test_times_and_bytes_are_texts(spark: SparkSession) -> None:
    found = ask_sql(spark, "select timestamp'2026-11-21 09:00:00', x'00ff', array(1, null)", 1)

    (row,) = found.rows
    assert datetime.fromisoformat(str(row[0])).isoformat() == "2026-11-21T09:00:00+00:00"
    assert row[1:] == ["00ff", [1, None]]
