"""A baseline taken of a faulty broker by one selection holds in any other selection.

`make edges` takes ten selections; without that there are two.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_reports.causes import fold

pytestmark = [pytest.mark.process, pytest.mark.long]

FAULT = "trace-little-endian"
"""The fault that the README shows."""
TAKEN = ("nsq/publish/trace",)
SELECTIONS = (
    ("nsq/publish", "nsq/order/position", "nsq/trace/position"),
    ("ext.publish.trace-response",),
    ("nsq/publish/trace",),
    ("nsq/trace",),
    ("nsq/order", "nsq/trace"),
    ("nsq/publish", "nsq/http"),
    ("ext",),
    ("smart",),
    ("nsq/partition", "nsq/publish/trace"),
    ("nsq",),
)
COUNT = int(os.environ.get("WIREPROOF_SELECTIONS", "2"))


@pytest.fixture(scope="module")
def faulty() -> Iterator[str]:
    with closing(start_alone("nsq", ("--fault", FAULT))) as broker:
        yield broker.url


@pytest.fixture(scope="module")
def baseline(faulty: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baseline")
    assert wireproof("run", faulty, *TAKEN, "--bundle", "b.jsonl", cwd=folder).code == 1
    causes = fold(read_bundle(folder / "b.jsonl").cases)
    assert [cause.value for cause in causes] == ["trace:little-endian"]
    update = ("baseline", "update", "known.toml", "--bundle", "b.jsonl", "--reason", "r")
    assert wireproof(*update, cwd=folder).code == 0
    return folder / "known.toml"


@pytest.mark.parametrize("selection", SELECTIONS[:COUNT], ids=" ".join)
def test_a_baseline_holds_in_any_selection(
    selection: tuple[str, ...], faulty: str, baseline: Path, tmp_path: Path
) -> None:
    options = ("--baseline", str(baseline), "--bundle", "b.jsonl")
    done = wireproof("run", faulty, *selection, *options, cwd=tmp_path)

    cases = read_bundle(tmp_path / "b.jsonl").cases
    known = [record for record in cases if record.verdict == "known"]
    assert done.code == 0, done.out
    assert fold(cases) == ()
    assert {record.observation.partition(",")[0] for record in known} <= {"trace:little-endian"}
    assert known
