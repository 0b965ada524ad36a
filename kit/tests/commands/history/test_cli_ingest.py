"""The command that takes bundles into a history."""

import json
import os
from collections import Counter
from pathlib import Path

import cli_bundle as made
import pyarrow as pa
import pytest
from cli_process import Done, wireproof
from deltalake import DeltaTable
from pyarrow import parquet

from wireproof.commands.history.ingest import lines
from wireproof.main import main
from wireproof.options.spark_options import wanted_spark
from wireproof_reports.pipeline.ingest import IngestResult, QuarantinedLine
from wireproof_reports.pipeline.migrate import OLD_VERSION
from wireproof_spec.history import KINDS, VIEWS

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(Path("b.jsonl"), made.failing()[:1])


@pytest.mark.process
@pytest.mark.spark
def test_bundles_are_taken_once_and_what_is_refused_is_said(tmp_path: Path) -> None:
    Path("runs/deep").mkdir(parents=True)
    records = made.failing()[:1]
    made.write(Path("runs/deep/c.jsonl"), [*records, *records])
    Path("runs/cut.jsonl").write_bytes(Path("b.jsonl").read_bytes()[:-100])
    Path("runs/notes.txt").write_text("mine")

    first = wireproof("ingest", "runs", "b.jsonl", "--history", "h", cwd=tmp_path)
    again = wireproof("ingest", "b.jsonl", "--history", "h", "--json", cwd=tmp_path)

    assert first.code == 2, first.err
    assert first.out.splitlines() == [
        "history  h   2 bundles added; 2 results",
        f"quarantined  c.jsonl, line 3: {records[0].case} has a second record in this bundle; "
        "the first is kept",
    ]
    *_, refused, last = first.err.splitlines()
    assert refused.startswith(f"refused  {tmp_path}/runs/cut.jsonl is cut off in line")
    assert last == (
        "wireproof: 1 bundle refused, with the reason in the quarantine; "
        "all others are in the history"
    )
    assert again.code == 0, again.err
    told = json.loads(again.out)
    assert (told["event"], told["bundles"], told["already"]) == ("ingested", 0, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--history", "h"], "missing argument"),
        (["b.jsonl"], "missing option '--history'"),
        (["none.jsonl", "--history", "h"], "cannot read none.jsonl"),
        (["empty", "--history", "h"], "empty has no bundle in it"),
        (["pipe.jsonl", "--history", "h"], "cannot read pipe.jsonl: it is no regular file"),
        (["b.jsonl", "--history", "b.jsonl"], "cannot be written"),
        (["b.jsonl", "--history", "."], "is no history"),
        (
            ["b.jsonl", "--history", "old"],
            "convert it with `wireproof migrate",
        ),
        (["b.jsonl", "--history", "h", "--watch"], "--watch expects one folder or URL"),
        (["b.jsonl", "--history", "h", "--once"], "--once needs --watch"),
        (["b.jsonl", "--history", "h", "--master", "sc://x:1"], "expected local[N], spark://"),
        (["b.jsonl", "--history", "h", "--conf", "spark.a"], "expected spark.NAME=VALUE"),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    os.mkfifo("pipe.jsonl")
    Path("old").mkdir()
    Path("old/history.json").write_text("{}")

    assert main(["ingest", *arguments]) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert not Path("h").exists() or not any(Path("h").iterdir())


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.fs.azure.account.key.mine.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.oauth2.client.secret",
        "spark.hadoop.fs.azure.sas.runs.mine.blob.core.windows.net",
        "spark.ssl.keyPassword",
        "spark.executorEnv.AWS_SECRET_ACCESS_KEY",
    ],
)
def test_a_key_on_the_command_line_is_refused(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", "b.jsonl", "--history", "h", "--conf", f"{name}=hidden"]) == 2

    err = capsys.readouterr().err
    assert f"--conf {name}: secrets are not taken from the command line" in err
    assert "hidden" not in err


def test_settings_that_only_speak_of_keys_are_taken() -> None:
    names = ("spark.hadoop.fs.s3a.aws.credentials.provider", "spark.sql.mapKeyDedupPolicy")

    wanted = wanted_spark("local[2]", [f"{name}=x" for name in names])

    assert wanted.settings == dict.fromkeys(names, "x")


@pytest.mark.spark
def test_watching_once_takes_what_has_arrived_and_ends(tmp_path: Path) -> None:
    """As cron calls it: the landing folder may be empty at first."""
    landing = tmp_path / "landing"
    landing.mkdir()
    words = ("ingest", "landing", "--history", "h", "--watch", "--once")

    empty = wireproof(*words, cwd=tmp_path)
    Path("b.jsonl").rename(landing / "b.jsonl")
    first = wireproof(*words, cwd=tmp_path)
    again = wireproof(*words, cwd=tmp_path)

    assert (empty.code, empty.out) == (0, ""), empty.err
    assert (first.code, first.out) == (0, "history  h   1 bundle added; 1 result\n"), first.err
    assert (again.code, again.out) == (0, ""), again.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["ingest", "b.jsonl", "--history", "h"],
        ["aggregate", "h", "--out", "s"],
        ["ask", "h", "--sql", "select 1"],
        ["vacuum", "h"],
        ["migrate", "old", "--history", "h"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_missing_java_is_said_before_any_work(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("empty").mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(Path("empty").absolute()))

    assert main(arguments) == 2

    assert "Spark needs Java, and there is none on the PATH" in capsys.readouterr().err
    assert sorted(path.name for path in Path().iterdir()) == ["b.jsonl", "empty"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ask", "h", "--sql", "select 1"], "is no history"),
        (["ask", "h"], "missing option '--sql'"),
        (
            ["ask", "h", "--sql", "x", "--remote", "sc://x:1/;token=S3CRET"],
            "--sql is not answered by a Spark Connect server",
        ),
        (["ask", "h", "--sql", "x", "--limit", "0"], "--limit"),
        (["vacuum", "h"], "is no history"),
        (["vacuum", "h", "--keep", "-1"], "--keep"),
        (
            ["vacuum", "h", "--keep", "1000000"],
            "'--keep': 1000000 is not in the range 0<=x<=3650",
        ),
        (
            ["migrate", "h", "--history", "new"],
            "h is no old history: it has neither history.json nor",
        ),
    ],
)
def test_mistakes_of_the_other_commands_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.mark.spark
def test_vacuum_says_which_states_cannot_be_asked_any_more(tmp_path: Path) -> None:
    made.write(Path("c.jsonl"), made.failing(2)[:2])
    count = ("ask", "h", "--sql", "select count(*) as runs from runs")

    def told(*arguments: str) -> Done:
        return wireproof(*arguments, cwd=tmp_path)

    taken = [told("ingest", name, "--history", "h").code for name in ("b.jsonl", "c.jsonl")]
    older, newest = told(*count, "--as-of", "0"), told(*count)
    vacuumed = told("vacuum", "h", "--keep", "0")
    lost = told(*count, "--as-of", "0")

    assert taken == [0, 0]
    assert [older.out, newest.out] == ["runs\n1\n", "runs\n2\n"]
    first, second, *versions = vacuumed.out.splitlines()
    assert first == "history  h   version 3; the oldest version that can be opened is 2"
    assert second == "unreachable  2 versions from now on:"
    assert [line.split()[0] for line in versions] == ["1", "0"]
    assert (lost.code, lost.out) == (2, "")
    assert "vacuum removed files of version 0; the oldest that can be opened is 2" in lost.err


@pytest.mark.spark
def test_one_command_makes_a_history_of_an_old_one(tmp_path: Path) -> None:
    taken = wireproof("ingest", "b.jsonl", "--history", "h", cwd=tmp_path)
    rows = write_old(Path("h"), Path("old"))

    done = wireproof("migrate", "old", "--history", "new", cwd=tmp_path)

    assert (taken.code, done.code) == (0, 0), done.err
    assert done.out.startswith("history  new   1 bundle; rows: results 1, ")
    found = DeltaTable("new").to_pyarrow_table(filters=[("kind", "=", "result")])
    assert found.num_rows == rows["results"] == 1


NANOS = pa.timestamp("ns")


def write_old(history: Path, old: Path) -> dict[str, int]:
    """Write a history as older versions did: Parquet files, and one that names them."""
    counts: dict[str, int] = {}
    parts: list[dict[str, object]] = []
    views = {kind: view for view, kind in KINDS.items()}
    for file in history.glob("kind=*/protocol=*/day=*/*.parquet"):
        kind, protocol, day = file.relative_to(history).parts[:3]
        table = views[kind.partition("=")[2]]
        later = [column.name for column in VIEWS[table] if column.since > OLD_VERSION]
        rows = parquet.ParquetFile(file).read()
        own = {column.name for column in VIEWS[table]}
        rows = rows.select([name for name in rows.column_names if name in own])
        # Spark's own times, INT96, have no zone; those that older versions wrote were in UTC.
        utc = pa.timestamp("us", "UTC")
        fields = [pa.field(f.name, utc) if f.type == NANOS else f for f in rows.schema]
        rows = rows.cast(pa.schema(fields))
        place = old / table / protocol / day / file.name
        place.parent.mkdir(parents=True)
        parquet.write_table(rows.drop_columns(later), place)
        counts[table] = counts.get(table, 0) + rows.num_rows
        part: dict[str, object] = {"table": table, "protocol": protocol.partition("=")[2]}
        part |= {"day": day.partition("=")[2], "name": file.name, "rows": rows.num_rows}
        parts.append({**part, "size_bytes": 1})
    manifest = {"history": "wireproof", "format": 1, "version": 2, "kit": "0.1.0", "parts": parts}
    (old / "history.json").write_text(json.dumps(manifest))
    return counts


def test_quarantined_lines_beyond_those_that_are_listed_are_counted() -> None:
    bad = [QuarantinedLine("b.jsonl", number, "no JSON") for number in range(1, 9)]

    told = list(lines(IngestResult(bundles=1, lines=12_000, quarantined=bad), "h"))

    listed = [line for line in told if ", line " in line]
    more = f"{12_000 - len(listed):,} more lines"
    assert told[-1] == f"quarantined  {more} in the view quarantine"


def test_names_that_were_not_used_are_said() -> None:
    told = list(lines(IngestResult(bundles=3, unused=Counter(vendor=2)), "h"))

    assert told[-1] == "unused   --vendor, for 2 bundles whose target reports a vendor itself"
