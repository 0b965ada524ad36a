"""The interface for programs: run, judge, diff and load give what the command line gives."""

import re
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import cli_bundle as made
import pytest

import wireproof
from wireproof_kit.errors import KitError
from wireproof_kit.fuzz.campaign.target import start_alone
from wireproof_kit.version import KIT_VERSION

CASES = "nsq/publish/trace"


@pytest.mark.process
def test_a_run_is_judged_compared_and_loaded(tmp_path: Path) -> None:
    seen: list[str] = []
    options = wireproof.Options(bundle=tmp_path / "b.jsonl", seed=7)

    done = wireproof.run(
        "reference", CASES, options=options, on_case=lambda case: seen.append(case.case)
    )

    assert (done.exit_code, done.causes) == (0, ())
    assert seen == [record.case for record in done.records]
    assert all(name.startswith(CASES) for name in seen)
    assert done.header.seed == 7
    loaded = wireproof.load(tmp_path / "b.jsonl")
    assert (loaded.records, loaded.footer) == (done.records, done.footer)
    assert wireproof.judge(done).statement == done.statement
    assert wireproof.diff(done, tmp_path / "b.jsonl").changes == ()


def test_failures_are_folded_and_terms_apply(tmp_path: Path) -> None:
    bundle = made.write(tmp_path / "b.jsonl", made.failing(2))

    run = wireproof.load(bundle)
    again = wireproof.judge(run, origins=("base",))

    assert run.exit_code == 1
    assert len(run.causes) == 2
    assert again.header.origins == ("base",)
    assert wireproof.diff(run, again).compared == len(run.records)


def test_errors_are_sentences(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"cannot reach nsq://127\.0\.0\.1:1 "):
        wireproof.run("nsq://127.0.0.1:1")
    with pytest.raises(KitError, match="'nsq/none' selects no case"):
        wireproof.run("reference", "nsq/none")
    with pytest.raises(KitError, match=r"no\.jsonl: cannot be read"):
        wireproof.load(tmp_path / "no.jsonl")
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        wireproof.runs  # noqa: B018


@pytest.mark.process
@pytest.mark.parametrize(
    ("protocol", "has_http", "is_kept"),
    [("nsq", True, False), ("nsq", False, True), ("iggy", False, False)],
)
def test_a_run_says_what_it_leaves_on_the_target(
    protocol: str, has_http: bool, is_kept: bool
) -> None:
    """Without HTTP nothing deletes a topic of NSQ."""
    case = {"nsq": "nsq/publish/trace/one", "iggy": "iggy/message/offset/first"}[protocol]
    with closing(start_alone(protocol)) as broker:
        url = broker.url if has_http else broker.url.partition("?")[0]
        done = wireproof.run(url, case)

    assert done.exit_code == 0, done.statement
    assert bool(done.left_behind) is is_kept
    assert all(name.startswith("topic wp_") for name in done.left_behind)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"profile": "shoud"}, "profile: expected one of must, should, may, observed; found 'sh"),
        ({"reading": "pub"}, "reading: expected one of any, published, deployed; found 'pub'"),
        ({"origins": ("txt",)}, "origins: expected one of text, base, premise; found 'txt'"),
        ({"origins": "text"}, "origins: expected a sequence"),
        ({"exclude": "iggy/poll"}, "exclude: expected a sequence of ids; found the text"),
        ({"repeat_failed": 0}, "repeat_failed: expected a whole number from 1; found 0"),
        ({"seed": "x"}, "seed: expected a whole number from 0; found 'x'"),
        ({"keys": {"http": 1}}, "keys: http expected a text such as 'HOST:PORT'; found 1"),
        ({"keys": {"lookupd": ["h:1", 2]}}, "keys: lookupd expected a text"),
        ({"claims": {"poll": "yes"}}, "claims: poll expected True or False; found 'yes'"),
    ],
)
def test_options_are_checked_as_those_of_the_command_line(
    wrong: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(KitError) as refusal:
        wireproof.run("reference", options=wireproof.Options(**wrong))
    assert sentence in str(refusal.value)


def test_a_list_of_ids_is_refused_in_one_sentence() -> None:
    with pytest.raises(KitError, match=r"ids: expected texts, as in run\(URL, \*ids\); found \["):
        wireproof.run("reference", cast(str, ["nsq/publish"]))


def test_the_package_names_what_it_has_and_its_version() -> None:
    assert dir(wireproof) == sorted(wireproof.__all__)
    assert wireproof.__version__ == KIT_VERSION


def test_the_page_lists_every_option() -> None:
    page = (Path(__file__).parents[3] / "docs" / "programs.md").read_text("utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert {each.name for each in fields(wireproof.Options)} <= listed


def test_a_kind_of_change_that_there_is_not_is_refused(tmp_path: Path) -> None:
    """A misspelled one made a gate green."""
    run = wireproof.load(made.write(tmp_path / "b.jsonl", made.failing()))
    kind: Any = "regresed"
    with pytest.raises(KitError, match="'regresed' is no kind of change; expected one of regr"):
        wireproof.diff(run, run).of(kind)
    with pytest.raises(KitError, match="no kind of change"):
        wireproof.diff(run, run).meets([kind])
