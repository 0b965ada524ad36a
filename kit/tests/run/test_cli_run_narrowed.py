"""Runs of some cases alone, beside a file of deviations of all."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof_kit.verdicts.deviations import utc_date

SMALL = "nsq/publish/ok"


@pytest.mark.process
@pytest.mark.parametrize("narrowing", [("-k", "one-sign"), ("--lf",)])
def test_narrowed_cases_are_compared_with_a_whole_baseline(
    narrowing: tuple[str, ...], tmp_path: Path
) -> None:
    expires = utc_date() + timedelta(days=30)
    (tmp_path / "known.toml").write_text(
        '[[deviation]]\nid = "nsq/trace/touch"\nclause = "smart.message-id.touch"\nreason = "x"\n'
        f'expires = {expires}\nsignature = "0123456789ab"\n'
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".last-failed.json").write_text(json.dumps([f"{SMALL}/one-sign"]))

    done = wireproof(
        *("run", "--reference", SMALL, *narrowing, "--baseline", "known.toml"), cwd=tmp_path
    )

    assert (done.code, done.err) == (0, "")


@pytest.mark.process
def test_a_run_of_an_earlier_revision_says_so_everywhere(tmp_path: Path) -> None:
    run = ("run", "--reference", SMALL, "--bundle")
    pinned = wireproof(*run, "a.jsonl", "--spec-rev", "2", cwd=tmp_path)
    wireproof(*run, "b.jsonl", cwd=tmp_path)
    compared = wireproof("diff", "a.jsonl", "b.jsonl", cwd=tmp_path)
    written = wireproof("report", "a.jsonl", "--md", "a.md", cwd=tmp_path)

    assert "only clauses up to revision 2" in " ".join(pinned.out.split())
    assert "only clauses up to revision 2" in " ".join(compared.out.split())
    assert written.code == 0
    assert "only clauses up to revision 2" in (tmp_path / "a.md").read_text("utf-8")
