"""A broker alone behind one lookup server: what needs more nodes is named, and stops nobody."""

from contextlib import closing
from pathlib import Path

import pytest
from cli_process import wireproof

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.targets.embedded import start_reference

pytestmark = pytest.mark.process

SELECTED = ("smart.lookup", "smart.cluster", "ext.lookup")


def test_a_lone_broker_can_end_with_0(tmp_path: Path) -> None:
    with closing(start_reference("nsq", ("--nodes", "1", "--lookupds", "1"))) as broker:
        done = wireproof("run", broker.url, *SELECTED, "--bundle", "b.jsonl", cwd=tmp_path)

    cases = read_bundle(tmp_path / "b.jsonl").cases
    small = [record for record in cases if record.verdict == "unsupported"]
    assert done.code == 0
    assert {record.verdict for record in cases} <= {"pass", "reading", "unsupported"}
    assert all("the deployment is too small for it" in record.reason for record in small)
    assert "smart.cluster (part) " in done.out
