"""The command that takes bundles into a history."""

import json
from pathlib import Path

import cli_bundle as made
import pytest
from cli_process import wireproof_within

from wireproof.main import main

pytestmark = pytest.mark.process

SPARK_S = 800
"""Against 15 s on two cores of its own; this waits for whatever else a machine does."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(Path("b.jsonl"), made.failing()[:1])


@pytest.mark.process
@pytest.mark.spark
@pytest.mark.timeout(3 * SPARK_S)
def test_bundles_are_taken_once_and_what_is_refused_is_said(tmp_path: Path) -> None:
    Path("runs/deep").mkdir(parents=True)
    records = made.failing()[:1]
    made.write(Path("runs/deep/c.jsonl"), [*records, *records])
    Path("runs/cut.jsonl").write_bytes(Path("b.jsonl").read_bytes()[:-100])
    Path("runs/notes.txt").write_text("mine")

    first = wireproof_within(SPARK_S, "ingest", "runs", "b.jsonl", "--history", "h", cwd=tmp_path)
    again = wireproof_within(
        SPARK_S, "ingest", "b.jsonl", "--history", "h", "--json", cwd=tmp_path
    )

    assert first.code == 2, first.err
    assert first.out.splitlines() == [
        "history  h   2 bundles taken; 2 results",
        f"quarantined  c.jsonl, line 3: {records[0].case} stands in this bundle twice",
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
        (["b.jsonl", "--history", "b.jsonl"], "cannot be written"),
        (["b.jsonl", "--history", "."], "is no history"),
        (
            ["b.jsonl", "--history", "old"],
            "make one of this version of it with `wireproof migrate",
        ),
        (["b.jsonl", "--history", "h", "--watch"], "--watch expects one folder or URL"),
        (["b.jsonl", "--history", "h", "--master", "sc://x:1"], "expected local[N], spark://"),
        (
            ["b.jsonl", "--history", "h", "--conf", "spark.hadoop.fs.s3a.secret.key=x"],
            "keys are taken from the environment alone",
        ),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    Path("old").mkdir()
    Path("old/history.json").write_text("{}")

    assert main(["ingest", *arguments]) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert not Path("h").exists() or not any(Path("h").iterdir())


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
        (["ask", "h", "--sql", "x", "--remote", "spark://x:1"], "expected sc://HOST:PORT"),
        (["ask", "h", "--sql", "x", "--limit", "0"], "--limit"),
        (["vacuum", "h"], "is no history"),
        (["vacuum", "h", "--keep", "-1"], "--keep"),
        (["migrate", "h", "--history", "new"], "h is no old history: it has no history.json"),
    ],
)
def test_mistakes_of_the_other_commands_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
