"""Recorded bundles of real clients: what is no pass is explained, and seen again in the log."""

from pathlib import Path

import pytest
from explained_failures import PAGE, find_level, list_to_explain, read_explained, read_rows

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.clients.again import observe_again
from wireproof_kit.runner.collect import collect

BUNDLES = sorted((PAGE.parent / "nsq-clients").glob("*.jsonl.gz"))


@pytest.mark.parametrize("path", BUNDLES, ids=lambda path: path.name.partition(".")[0])
def test_what_does_not_pass_is_explained_and_seen_in_the_log(path: Path) -> None:
    client = path.name.partition(".")[0]
    cases = read_bundle(path).cases
    again = observe_again(cases, collect("nsq"))

    assert list_to_explain(cases) <= read_explained(client)
    assert {each.case: each.observation for each in again} == {
        each.case: each.observation for each in cases
    }


def test_each_row_of_the_page_has_the_level_of_its_cases() -> None:
    wrong = {
        case: (row.level, find_level(case))
        for row in read_rows()
        for case in row.cases
        if row.level != find_level(case)
    }
    assert wrong == {}
