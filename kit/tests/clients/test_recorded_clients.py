"""Recorded bundles of real clients: each failure is explained, and seen again in the log."""

from pathlib import Path

import pytest
from explained_failures import PAGE, list_failures, read_explained

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.clients.again import observe_again
from wireproof_kit.runner.collect import collect

BUNDLES = sorted((PAGE.parent / "nsq-clients").glob("*.jsonl.gz"))


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name.partition(".")[0])
def test_what_fails_is_explained_and_seen_in_the_log(path: Path) -> None:
    cases = read_bundle(path).cases
    explained = read_explained(path.name.partition(".")[0])
    again = observe_again(cases, collect("nsq"))

    assert list_failures(cases) <= explained
    assert {each.case: each.observation for each in again} == {
        each.case: each.observation for each in cases
    }
