"""A case is bound to its law when it is collected, or refused."""

import pytest
from small_law import CATALOGUE, CLAUSE, LAW

from wireproof_kit.case import CaseMark
from wireproof_kit.errors import UsageFault
from wireproof_kit.observation import observed
from wireproof_kit.runner.instance import Instance, make_instance


def bind(case_id: str, clause: str) -> Instance:
    return make_instance(
        lambda: observed("ok"),
        CaseMark(case_id, clause),
        parameter_id="x",
        parameters={},
        catalogue=CATALOGUE,
    )


@pytest.fixture(autouse=True)
def known_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wireproof_kit.runner.instance.protocol_of", lambda case_id: "nsq")


def test_a_case_carries_its_clause_and_its_accept_sets() -> None:
    instance = bind("p/i/case", CLAUSE.id)

    assert (instance.id, instance.clause, instance.law) == ("p/i/case/x", CLAUSE, LAW)


@pytest.mark.parametrize(
    ("case_id", "clause", "reason"),
    [
        ("p/i/case", "t.i.other", r"line [0-9]+\) names clause t.i.other, which no catalogue has"),
        (
            "p/i/lawless",
            CLAUSE.id,
            r"case p/i/lawless/x \(\S*test_instance.py, line [0-9]+\) has no accept set",
        ),
    ],
)
def test_a_case_without_law_is_refused(case_id: str, clause: str, reason: str) -> None:
    with pytest.raises(UsageFault, match=reason):
        bind(case_id, clause)
