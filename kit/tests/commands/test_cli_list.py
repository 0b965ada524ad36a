"""Listing cases in three forms."""

import json

import pytest
from cli_process import wireproof

pytestmark = pytest.mark.process


def test_the_three_forms_hold_the_same_cases() -> None:
    text = wireproof("list", "ext.publish.header-json")
    markdown = wireproof("list", "ext.publish.header-json", "--format", "md")
    plain = wireproof("list", "ext.publish.header-json", "--json")

    cases = [item["case"] for item in json.loads(plain.out)]
    assert len(cases) > 3
    assert [line.split()[0] for line in text.out.splitlines()[:-1]] == cases
    assert text.out.splitlines()[-1].startswith(f"{len(cases)} cases of 1 clause")
    assert [line.split("`")[1] for line in markdown.out.splitlines()[2:]] == cases


def test_a_case_tells_clause_level_needs_and_hash() -> None:
    case = "nsq/publish/header-json/cut-word"
    cases = json.loads(wireproof("list", case, "--json").out)
    first = next(each for each in cases if each["case"] == case)

    assert first["clause"] == "ext.publish.header-json"
    assert first["level"] == "should"
    assert first["needs"] == ["ext"]
    assert len(first["hash"]) == 12
    assert first["title"]


@pytest.mark.parametrize("prefix", ["nsq", "nsq/publish"])
def test_a_slash_at_the_end_says_nothing_more(prefix: str) -> None:
    with_slash, without = wireproof("list", f"{prefix}/"), wireproof("list", prefix)

    assert (with_slash.code, with_slash.out) == (0, without.out)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["ext.publsh"], "nearest: ext.publish"),
        (["nsq/none"], "selects no case"),
        (["--format", "xml"], "'text', 'json', 'md'"),
    ],
)
def test_mistakes_get_one_sentence(arguments: list[str], sentence: str) -> None:
    assert sentence in wireproof("list", *arguments).refused()
