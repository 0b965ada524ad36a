"""Recorded bundles of real clients: what is no pass is explained, and seen again in the log."""

from pathlib import Path

import msgspec
import pytest
from explained_failures import PAGE, find_level, list_to_explain, read_explained, read_rows

from wireproof_kit.bundle.file import read_bundle
from wireproof_kit.clients.again import observe_again
from wireproof_kit.clients.story import ENDED, GIVEN, PROCESSOR
from wireproof_kit.errors import UsageFault
from wireproof_kit.runner.collect import collect
from wireproof_spec.record import CaseRecord

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


DAMAGES: dict[str, dict[str, object]] = {
    "no hex": {"hex": "zz", "deflate": ""},
    "no JSON": {"hex": b"{".hex(), "deflate": ""},
    "a number": {"hex": b"1".hex(), "deflate": ""},
    "a list": {"hex": b"[]".hex(), "deflate": ""},
    "nested": {"hex": (b"[" * 100_000).hex(), "deflate": ""},
    "an answer to nothing": {"hex": b'{"id": 77, "result": {}}\n'.hex(), "deflate": ""},
    "deflated wrong": {"deflate": "AAAA", "length": 9},
    "another connection": {"conn": "driver"},
    "what was asked": {"conn": "asked"},
}
NOTES = (f"{ENDED} ", GIVEN, PROCESSOR)


def damaged() -> list[CaseRecord]:
    """Return recorded cases with a damage in one step each."""
    found = list[CaseRecord]()
    for case in read_bundle(BUNDLES[-1]).cases[:2]:
        steps = case.transcript.steps
        for at, step in enumerate(steps):
            start = next((each for each in NOTES if step.note.startswith(each)), "")
            ends = ("x", "1", "9" * 5000, "[]", "null")
            changes: list[dict[str, object]] = [{"note": start + end} for end in ends]
            for change in (*DAMAGES.values(), *(changes if start else [])):
                other = msgspec.structs.replace(step, **change)
                whole = (*steps[:at], other, *steps[at + 1 :])
                transcript = msgspec.structs.replace(case.transcript, steps=whole)
                found.append(msgspec.structs.replace(case, transcript=transcript))
    return found


def test_a_damaged_exchange_is_one_sentence() -> None:
    known, told = collect("nsq"), list[str]()
    for case in damaged():
        try:
            list(observe_again([case], known))
        except UsageFault as fault:
            told.append(str(fault))

    assert len(told) > 50
    assert all("is damaged: " in each and len(each.splitlines()) == 1 for each in told)
