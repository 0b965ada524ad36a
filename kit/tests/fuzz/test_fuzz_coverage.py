import itertools
from collections import Counter

import pytest
from fuzz_grammars import IGGY, NSQ

from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Grammar


def some(grammar: Grammar, count: int) -> list[Case]:
    return list(itertools.islice(Generator(grammar, 7).cases(), count))


def test_coverage_adds_up() -> None:
    counted, other = Coverage(), Coverage()
    cases = some(NSQ, 500)
    for case in cases[:300]:
        counted.add(case)
    for case in cases[300:]:
        other.add(case)
    counted.merge(other)

    due = Counter((case.frame_kind, case.field, case.mutation, case.state) for case in cases)
    assert counted == Coverage(due)
    assert counted.cases == 500
    assert len(counted) == len(due)
    assert Coverage.of_json(counted.as_json()) == counted


@pytest.mark.slow
def test_the_table_has_a_line_for_each_field_and_is_for_narrow_screens() -> None:
    counted = Coverage()
    for case in some(IGGY, 20_000):
        counted.add(case)
    lines = list(counted.lines())

    assert lines[0].split() == ["fields", "mutations", "states", "cases"]
    assert max(map(len, lines[:-1])) <= 80
    assert lines[-1].startswith("all ")
    assert any(line.split()[0] == "messages[].length" for line in lines)
    total = sum(int(line.split()[-1]) for line in lines[1:-1] if not line.startswith(" "))
    assert total == 20_000
