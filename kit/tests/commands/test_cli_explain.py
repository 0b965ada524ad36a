"""Explaining clauses, cases, readings, capabilities and groups."""

import json

import pytest
from cli_process import wireproof

from wireproof.commands.explain import find
from wireproof.main import main
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import known_protocols
from wireproof_spec.clauses.loading import load_catalogue


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", known_protocols())
def test_every_id_of_the_catalogue_is_explained(
    capsys: pytest.CaptureFixture[str], protocol: str
) -> None:
    catalogue = load_catalogue(protocol)
    names = [
        *(clause.id for clause in catalogue.clauses()),
        *(law.id for clause in catalogue.clauses() for law in clause.case),
        *(group.group for group in catalogue.groups),
        *(decision.id for decision in catalogue.decisions),
        *(capability.id for capability in catalogue.capabilities),
    ]

    for name in names:
        out = told(capsys, name)

        assert name in out
        wide = [line for line in out.splitlines() if len(line) > 80]
        assert all(max(map(len, line.split())) > 60 for line in wide), wide


def test_a_clause_is_told_with_law_source_and_words(capsys: pytest.CaptureFixture[str]) -> None:
    clause = load_catalogue("nsq").clause("ext.publish.trace-empty")
    assert clause is not None

    out = flat(told(capsys, clause.id))

    assert clause.law in out
    assert f'"{clause.words[0]}" … "{clause.words[1]}"' in out
    assert "origin text: the published text says so" in out
    assert clause.observed in out
    assert f"published text 000, {clause.section}" in out
    assert "reading trace-empty" in out
    assert all(law.sends in out and law.expects in out for law in clause.case)


def test_a_reading_is_told_with_meanings_and_peers(capsys: pytest.CaptureFixture[str]) -> None:
    out = flat(told(capsys, "order-command"))

    assert "the command is SUB_ORDER (no known peer; what the published text says)" in out
    assert "the command is SUB_ORDERED (youzan nsqd" in out


def test_an_untested_clause_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    clauses = load_catalogue("nsq").clauses()
    clause = next(clause for clause in clauses if clause.status != "tested")

    out = flat(told(capsys, clause.id))

    assert f"{clause.status}: {flat(clause.why)}" in out


def test_json_holds_the_whole_entry(capsys: pytest.CaptureFixture[str]) -> None:
    catalogue = load_catalogue("nsq")
    clause = next(clause for clause in catalogue.clauses() if clause.case)

    as_clause = json.loads(told(capsys, clause.id, "--json"))
    as_case = json.loads(told(capsys, clause.case[0].id, "--json"))

    assert as_clause["law"] == clause.law
    assert as_case["sends"] == clause.case[0].sends
    assert as_case["clause"]["id"] == clause.id


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("ext.publish.heder-json", "ext.publish.header-json"),
        ("trace-emty", "trace-empty"),
        ("ext.publsh", "ext.publish"),
    ],
)
def test_an_unknown_id_gets_the_nearest(
    name: str, near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["explain", name])

    told_ = capsys.readouterr()
    assert code == 2
    assert told_.out == ""
    assert near in told_.err
    assert len(told_.err.splitlines()) == 1


def test_an_id_like_nothing_gets_a_sentence_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "???"]) == 2
    assert capsys.readouterr().err == (
        "wireproof: nothing is called '???' (see `wireproof list`)\n"
    )


@pytest.mark.process
def test_a_parameter_must_be_that_of_a_case() -> None:
    law = next(law.id for clause in load_catalogue("nsq").clauses() for law in clause.case)

    done = wireproof("explain", f"{law}/no-such-parameter")

    assert law in done.refused()


def test_a_case_comes_with_its_clause() -> None:
    clause = next(clause for clause in load_catalogue("nsq").clauses() if clause.case)

    _, subject, found = find(clause.case[0].id)

    assert subject == clause.case[0]
    assert found == clause


def test_a_rule_is_found_by_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "OM-030").startswith("oms.delay.not-early   MUST")
    assert told(capsys, "OM-104").startswith("oms.extension-header.dictionary")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("OM-112x", "nothing is called"),
        ("OM-999", "nothing is called"),
        ("nsq", "nsq is a protocol; `wireproof list nsq` has its cases"),
        ("nsq/consume", "nsq/consume begins .* ids; `wireproof list nsq/consume` has the cases"),
        ("9a0668f85097", "`wireproof replay 9a0668f85097 --bundle BUNDLE`"),
        ("OM-110", "several clauses: oms.message.message-id, oms.message.message-id-assigned"),
    ],
)
def test_a_number_that_is_not_one_clause_is_refused(number: str, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        find(number)
