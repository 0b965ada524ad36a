"""Probing: claims and readings with evidence, no case run."""

import json
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof.main import main
from wireproof_spec.clauses.loading import load_catalogue


@pytest.mark.process
def test_the_reference_is_probed(tmp_path: Path) -> None:
    brief = wireproof("probe", "--reference", cwd=tmp_path)
    plain = wireproof("probe", "--reference", "--json", cwd=tmp_path)
    verbose = wireproof("probe", "--reference", "-v", cwd=tmp_path)

    catalogue = load_catalogue("nsq").for_target(is_client=False)
    assert brief.code == plain.code == verbose.code == 0, brief.err
    told = json.loads(plain.out)
    assert list(told["claims"]) == [capability.id for capability in catalogue.capabilities]
    assert list(told["readings"]) == [decision.id for decision in catalogue.decisions]
    assert told["claims"]["ext"]["state"] == "shown"
    assert told["claims"]["ext"]["transcript"]["steps"]
    assert "claim    ext         yes: topics with the extend feature" in brief.out
    assert "A sends" not in brief.out
    assert "A sends" in verbose.out
    assert not list(tmp_path.iterdir())


def test_a_dead_port_gets_one_sentence(dead_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", f"nsq://127.0.0.1:{dead_port}"]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    url = f"nsq://127.0.0.1:{dead_port}"
    assert f"cannot reach {url} (connection refused). Is the broker running? " in told.err
    assert told.err.rstrip().endswith(f"Try: wireproof doctor {url}")
    assert len(told.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "no target named"),
        ([""], "the broker URL is empty"),
        (["localhost"], "; 'localhost' is no URL"),
        (["nsq/publish", "--reference"], "'nsq/publish': expected one URL"),
        (["nsq://a:1", "--reference"], "expected either a URL or --reference"),
        (["nsq://a:1", "--timeout", "0"], "'--timeout'"),
        (["nsq://a:1", "--http", "nowhere"], "found no port"),
    ],
)
def test_mistakes_get_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["probe", *arguments]) == 2

    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1
