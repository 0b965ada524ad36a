"""The command that takes bundles into a history."""

import json
from pathlib import Path

import cli_bundle as made
import pytest
from cli_process import python

from wireproof.main import main


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(Path("b.jsonl"), made.failing()[:1])


@pytest.mark.slow
def test_bundles_are_taken_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", "b.jsonl", "--history", "h"]) == 0
    first = capsys.readouterr().out
    assert main(["ingest", "b.jsonl", "--history", "h"]) == 0

    assert first == "history  h   1 bundle taken; 1 result\n"
    assert capsys.readouterr().out == "history  h   0 bundles taken, 1 there already; 0 results\n"


def test_a_folder_means_the_bundles_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs/deep").mkdir(parents=True)
    made.write(Path("runs/deep/c.jsonl"), list(made.conforming()))
    Path("runs/notes.txt").write_text("mine")

    assert main(["ingest", "runs", "b.jsonl", "--history", "h", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert (told["event"], told["bundles"]) == ("ingested", 2)


def test_lines_put_aside_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    records = made.failing()[:1]
    made.write(Path("b.jsonl"), [*records, *records])

    assert main(["ingest", "b.jsonl", "--history", "h"]) == 0

    out = capsys.readouterr().out.splitlines()
    assert out[1] == f"quarantined  b.jsonl, line 3: {records[0].case} stands in this bundle twice"


@pytest.mark.process
def test_a_disk_that_takes_no_more_is_one_sentence(tmp_path: Path) -> None:
    most_bytes = 2000
    limited = f"""
import resource, sys
sys.dont_write_bytecode = True  # compiled modules would be cut, and stay
resource.setrlimit(resource.RLIMIT_FSIZE, ({most_bytes}, {most_bytes}))
from wireproof.main import main
sys.exit(main(["ingest", "b.jsonl", "--history", "h"]))
"""

    done = python(limited)

    assert done.returncode == 2
    assert done.stderr == (
        "wireproof: h cannot be written (File too large); it is as it was before\n"
    )
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--history", "h"], "missing argument"),
        (["b.jsonl"], "missing option '--history'"),
        (["none.jsonl", "--history", "h"], "cannot read none.jsonl"),
        (["empty", "--history", "h"], "empty has no bundle in it"),
        (["b.jsonl", "--history", "b.jsonl"], "cannot be written"),
        (["b.jsonl", "--history", "."], "is no history"),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()

    assert main(["ingest", *arguments]) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
    assert not Path("h").exists()
