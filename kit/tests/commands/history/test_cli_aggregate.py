"""The command that asks a history all questions; most of it before anybody waits for Spark."""

import json
import os
import sys
from pathlib import Path

import cli_bundle as made
import pytest
from cli_process import wireproof

from wireproof.main import main
from wireproof.options.spark_options import say_what_spark_does
from wireproof_reports.pipeline.session import Wanted
from wireproof_spec.extras import install_command

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(Path("b.jsonl"), made.failing()[:1])
    Path("h/_delta_log").mkdir(parents=True)  # enough for what is checked before Spark


def java(folder: Path, says: str) -> Path:
    """Write a program that answers as Java does when asked for its version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.stderr.write({says!r})\n")
    program.chmod(0o755)
    return folder


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    capsys.readouterr()
    assert main(["aggregate", *arguments, "-q"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    return line


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none", "--out", "s"], "none is neither a history nor a folder of bundles"),
        (["b.jsonl", "--out", "s"], "neither a history nor a folder"),
        (["empty", "--out", "s"], "empty has no bundle in it"),
        (["h"], "missing option '--out'"),
        (["h", "--out", "s", "--as-of", ""], "--as-of : expected a version, or a date"),
        (["h", "--out", "s", "--as-of", "\N{SUPERSCRIPT TWO}"], "expected a version, or"),
        (["h", "--out", "s", "--as-of", "2026-13-01"], "expected a version, or a date"),
        (["h", "--out", "s", "--master", "mesos://x"], "expected local[N], spark://HOST:PORT"),
        (["h", "--out", "s", "--master", "sc://x:15002"], "expected local[N], spark://HOST:PORT"),
        (["h", "--out", "s", "--remote", "sc://x"], "expected sc://HOST:PORT, found 'x'"),
        (["h", "--out", "s", "--remote", "sc://::1:7"], "in brackets; write [::1]:7"),
        (["h", "--out", "s", "--remote", "spark://x:1"], "expected sc://HOST:PORT"),
        (
            ["h", "--out", "s", "--remote", "sc://x:1/;token=S3CRET"],
            "--remote sc://x:1: a token is not taken from the command line",
        ),
        (["h", "--out", "s", "--master", "spark://x"], "expected spark://HOST:PORT, found 'x'"),
        (["h", "--out", "s", "--master", "spark://x:0"], "expected spark://HOST:PORT"),
        (["h", "--out", "s", "--conf", "x=1"], "expected spark.NAME=VALUE"),
        (["h", "--out", "b.jsonl"], "cannot be written"),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()

    assert sentence in refused(capsys, *arguments)
    assert not Path("s").exists() or not any(Path("s").iterdir())


def test_a_folder_with_other_data_gets_no_site(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s", "data").mkdir(parents=True)
    Path("runs").mkdir()

    assert "s/data exists and was not written by wireproof" in refused(
        capsys, "runs", "--out", "s"
    )
    assert [path.name for path in Path("s").iterdir()] == ["data"]


def test_an_unreachable_master_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    url = "spark://127.0.0.1:1"

    line = refused(capsys, "h", "--out", "s", "--master", url)

    told = f"wireproof: --master {url} cannot be reached (connection refused); "
    assert line == told + "is the master running?"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ('openjdk version "11.0.2"\n', "Spark needs Java 17 or newer, found Java 11 on JAVA_HOME"),
        ('java version "1.8.0_392"\n', "found Java 8"),
        ("no words\n", "found a Java whose version cannot be read"),
    ],
)
def test_an_old_java_is_refused(
    said: str,
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "old", said)))

    assert sentence in refused(capsys, "h", "--out", "s")


def test_no_java_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(Path("empty").absolute()))

    assert "Spark needs Java, and there is none on the PATH" in refused(capsys, "h", "--out", "s")


def test_a_missing_package_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wireproof.options.spark_options.missing_package", lambda _names: "pyspark"
    )

    line = refused(capsys, "h", "--out", "s")

    assert "this needs pyspark, which is not installed" in line
    assert install_command("spark") in line


def test_an_old_history_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("h/_delta_log").rmdir()
    Path("h/history.json").write_text("{}")

    assert "`wireproof migrate h --history NEW`" in refused(capsys, "h", "--out", "s")


def test_an_unreachable_server_is_said_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    url = "sc://127.0.0.1:1"

    line = refused(capsys, "h", "--out", "s", "--remote", url)

    told = f"wireproof: --remote {url} cannot be reached (connection refused); "
    assert line == told + "is Spark's Connect server running?"


@pytest.mark.spark
def test_a_folder_of_bundles_becomes_a_site(tmp_path: Path) -> None:
    Path("runs").mkdir()
    made.write(Path("runs/a.jsonl"), list(made.conforming()))
    made.write(Path("runs/b.jsonl"), made.failing())

    done = wireproof("aggregate", "runs", "--out", "site", "--json", cwd=tmp_path)

    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["event"] == "aggregated"
    assert not [line for line in done.err.splitlines() if "WARN" in line or "Spark's" in line]
    index = json.loads(Path("site/data/index.json").read_text())
    assert index["history"]["bundles"] == 2
    assert {each["file"] for each in index["questions"]} == set(os.listdir("site/data")) - {
        "index.json"
    }
    assert Path("site/history/_delta_log").is_dir()
    matrix = json.loads(Path("site/data/matrix.json").read_text())
    names = [column["name"] for column in matrix["columns"]]
    failing = [row for row in matrix["rows"] if row[names.index("fail")]]
    assert len(failing) == 1
    evidence = json.loads(Path("site/data/evidence.json").read_text())
    names = [column["name"] for column in evidence["columns"]]
    judged = made.read(Path("runs/b.jsonl")).cases
    (odd,) = (record for record in judged if record.verdict == "fail")
    told = [dict(zip(names, row, strict=True)) for row in evidence["rows"]]
    (seen,) = (row for row in told if row["verdict"] == "fail")
    assert (seen["case"], seen["observation"]) == (odd.case, odd.observation)
    assert seen["accepted"] == list(odd.accepted)
    assert seen["path"] == "b.jsonl"
    pages = [
        path for glob in ("*.html", "data/*", "answers/*") for path in Path("site").glob(glob)
    ]
    assert not [path for path in pages if str(tmp_path).encode() in path.read_bytes()]


def test_a_command_says_that_it_fetches_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WIREPROOF_JARS", str(tmp_path))

    say_what_spark_does(Wanted("local[2]"))

    assert capsys.readouterr().err.splitlines() == [
        f"progress [ fetching Delta's jars, 13 MB, about 30 s, once, to {tmp_path} ]",
        "progress [ starting Spark on local[2] ]",
    ]
