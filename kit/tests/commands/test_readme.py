"""The samples of docs/first-steps.md are what a run shows today, as far as the law decides it.

`make readme` writes them anew.
"""

import re
from pathlib import Path

import pytest

from wireproof_kit.protocols import known_protocols
from wireproof_kit.version import KIT_VERSION
from wireproof_spec.clauses.catalogue import Catalogue
from wireproof_spec.clauses.loading import load_catalogue

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "first-steps.md").read_text("utf-8")


def sample(name: str) -> str:
    """Return a sample by its mark, on one line where the output was wrapped."""
    block = re.search(rf"<!-- {name} -->\n```\n(.*?)```\n", PAGE, re.DOTALL)
    assert block is not None
    return block[1]


def test_the_readme_shows_one_of_the_samples() -> None:
    assert sample("fault") in (ROOT / "README.md").read_text("utf-8")


def law() -> Catalogue:
    return load_catalogue("nsq").for_target(is_client=False)


@pytest.mark.parametrize("name", ["run", "fault"])
def test_a_sample_names_the_revisions_the_clauses_and_the_claims(name: str) -> None:
    text, known = sample(name), law()
    revisions = ", ".join(f"{spec} r{number}" for spec, number in known.revisions.items())
    count = len(list(known.clauses()))
    untestable = sum(not clause.case for clause in known.clauses())

    assert f"wireproof {KIT_VERSION}   spec {revisions} ({count} clauses)" in text
    assert f"clauses  {count}: asserted" in text
    assert f"not testable {untestable}," in text
    claims = re.search(r"\nclaims {3}(.*?)\n\n", text, re.DOTALL)
    assert claims is not None
    assert re.findall(r"([\w-]+) (?:yes|no)\b", claims[1]) == [c.id for c in known.capabilities]


def test_a_whole_run_judges_each_group() -> None:
    text, known = sample("run"), law()
    groups = {clause.group for clause in known.clauses() if clause.case}

    assert (
        set(re.findall(r"(?:^judged|^ {7}) {2,3}([a-z]+\.[\w-]+)", text, re.MULTILINE)) == groups
    )
    assert text.splitlines()[-1].startswith("NO FAILURE up to level must")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_each_run_in_the_book_was_judged_by_the_law_of_today(page: Path) -> None:
    laws = [
        load_catalogue(protocol).for_target(is_client=is_client)
        for protocol in known_protocols()
        for is_client in (False, True)
    ]
    today = {
        f"{', '.join(f'{spec} r{number}' for spec, number in known.revisions.items())} "
        f"({len(list(known.clauses()))} clauses)"
        for known in laws
    }

    shown = re.findall(r"wireproof [\d.]+   spec (.*? clauses\))", page.read_text("utf-8"))

    assert set(shown) <= today
