"""``wireproof fuzz`` behind TLS and AUTH: the campaign, its findings and their reproducers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_process import Done, wireproof
from secured_broker import SECRET, VARIABLE, Papers, guarded, served

from wireproof_kit.bundle.file import read_bundle

pytestmark = [pytest.mark.process, pytest.mark.long]

FEW = ("--frames", "PUB_EXT", "--states", "identified")


def fuzz(url: str, papers: Papers, folder: Path, *more: str) -> Done:
    """Fuzz a secured broker with a fixed seed."""
    return wireproof(
        *("fuzz", url, "--tls", "--cacert", str(papers.authority), "--auth-env", VARIABLE),
        *("--seed", "1", "--bundle", "b.jsonl", *more),
        cwd=folder,
        **{VARIABLE: SECRET},
    )


def test_a_right_broker_behind_tls_and_auth_yields_nothing(tmp_path: Path) -> None:
    papers = Papers(tmp_path)
    with served(*guarded(papers)) as url:
        done = fuzz(url, papers, tmp_path, "--cases", "768")

    # A busy machine may leave a suspicion undecided (3), or no time to repeat it.
    assert done.code in (0, 3), done.out + done.err
    bundle = read_bundle(tmp_path / "b.jsonl")
    assert not [each for each in bundle.findings if not each.unconfirmed]
    campaign = bundle.campaign
    assert campaign is not None
    assert campaign.in_frame > 50
    assert {"identified", "subscribed", "ordered"} <= states_of(campaign.coverage)


def states_of(coverage: object) -> set[str]:
    return set(re.findall(r"'([a-z-]+)'", repr(coverage)))


def test_a_finding_behind_tls_and_auth_is_replayed_and_its_script_judges(tmp_path: Path) -> None:
    papers = Papers(tmp_path)
    with served(*guarded(papers), "--fault", "beyond-no-header") as url:
        done = fuzz(url, papers, tmp_path, *FEW, "-x", "--time", "900")
        assert done.code == 1, done.out + done.err
        (finding,) = read_bundle(tmp_path / "b.jsonl").findings
        login = ("--tls", "--cacert", str(papers.authority), "--auth-env", VARIABLE)
        there = ("--bundle", "b.jsonl", "-vv")
        secret = {VARIABLE: SECRET}
        again = wireproof("replay", finding.id, *there, *login, cwd=tmp_path, **secret)
        unnamed = wireproof("replay", finding.id, *there, cwd=tmp_path)
        path = tmp_path / "b-findings" / f"{finding.id}.py"
        files = ("--cacert", str(papers.authority))
        with_secret = run_script(path, *files, "--auth-env", VARIABLE, **secret)
        without_secret = run_script(path, *files)
        without_authority = run_script(path, "--auth-env", VARIABLE, **secret)
    with served(*guarded(papers)) as right:
        address = right.removeprefix("nsq://").partition("?")[0]
        of_a_right_one = run_script(path, address, *files, "--auth-env", VARIABLE, **secret)

    assert again.code == 0, again.out + again.err
    assert "from here on in TLS" in again.out
    assert "--tls" in unnamed.refused() or "--auth-env" in unnamed.refused()
    assert with_secret.returncode == 0, with_secret.stdout + with_secret.stderr
    assert of_a_right_one.returncode == 1, of_a_right_one.stdout + of_a_right_one.stderr
    assert (without_secret.returncode, without_authority.returncode) == (2, 2)
    assert "--auth-env VAR" in without_secret.stderr
    assert "--cacert FILE" in without_authority.stderr
    bundle = (tmp_path / "b.jsonl").read_text("utf-8")
    for shown in (done.out, done.err, again.out, bundle, path.read_text("utf-8")):
        assert SECRET not in shown
        assert SECRET.encode().hex() not in shown.replace(" ", "")


def run_script(path: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a reproducer as who has only the file does."""
    return subprocess.run(
        [sys.executable, "-I", str(path), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **more},
    )
