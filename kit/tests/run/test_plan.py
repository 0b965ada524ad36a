"""`wireproof run --plan`: what a run would do, said without contacting the target."""

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from wireproof.main import main
from wireproof.running import plan
from wireproof_kit.protocols import kit_part
from wireproof_kit.runner.collect import collect

FAR = "nsq://192.0.2.1:4150"
"""An address of documentation: nobody answers there."""
COSTS = Path(plan.__file__).with_name(plan.COSTS)


def planned(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["run", "--plan", *words]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_plan_names_what_a_cluster_has_to_bear(capsys: pytest.CaptureFixture[str]) -> None:
    told = planned(capsys, FAR)

    assert f"plan {FAR}; nothing was sent" in told
    assert re.search(r"cases \d,\d\d\d, if the target offers", told)
    assert re.search(r"creates about \d\d\d topics, .* named wp_", told)
    assert re.search(r"traffic about \d,\d\d0 connections, \d+ MB sent and \d+ MB received", told)
    assert re.search(r"time about \d+ s if answers", told)
    assert re.search(r"hazards \d+ cases known to end some brokers; they are left out", told)
    assert not list(Path().iterdir())


def test_a_smaller_selection_costs_less(capsys: pytest.CaptureFixture[str]) -> None:
    told = planned(capsys, FAR, "nsq/publish/trace")

    assert "cases 27, " in told
    assert "MB" not in told
    assert "none of the cases is known to end brokers" in told


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([FAR, "--hazardous"], "they run last, since --hazardous."),
        (["nsq://127.0.0.1:1"], "they run last, since the target is on loopback."),
        (["--reference", "nsq"], "they run last, since the target is on loopback."),
    ],
)
def test_hazards_are_those_of_the_run(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sentence in planned(capsys, *words)


def test_each_reference_has_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    told = planned(capsys, "--reference")
    assert told.count("nothing was sent") == 3
    assert "1 stream, " in told
    assert "creates nothing" in told  # documents are only read


def test_every_interface_has_its_costs() -> None:
    known = set(tomllib.loads(COSTS.read_text("utf-8")))
    cases = [item for item in collect() if not item.is_for_clients]
    interfaces = {"/".join(item.id.split("/")[:2]) for item in cases}
    assert interfaces <= known, "python tools/case_costs.py measures them"


def test_a_shared_topic_is_counted_once() -> None:
    count = kit_part("nsq").count_creations
    assert count is not None
    assert count(Counter(ext_topic=9, fresh_ext_topic=2, broker=11)) == {"topic": 3}


def test_a_selection_without_cases_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--plan", FAR, "nsq/none"]) == 2
    assert "selects no case" in capsys.readouterr().err
