"""The deviations file: known, new, stale, expired, and refused when it is wrong."""

from datetime import date
from pathlib import Path

import pytest
from small_law import record

from wireproof_kit.deviations import Deviation, apply, read_deviations, to_toml
from wireproof_kit.errors import UsageFault

TODAY = date(2026, 11, 21)
ENTRY = Deviation("p/i", "t.i.clause", "abc", "upstream knows", date(2027, 3, 31), since=TODAY)
FAILED = record("error:X,open", verdict="fail", signature="abc")


def applied(entry: Deviation, *records: object, version: str = "1"):  # type: ignore[no-untyped-def] # a shorthand
    return apply(records, (entry,), version=version, today=TODAY)  # type: ignore[arg-type] # records by name


def test_a_listed_failure_is_known() -> None:
    assert applied(ENTRY, FAILED).records[0].verdict == "known"


def test_another_failure_of_the_same_case_is_new() -> None:
    other = record("error:Y,open", verdict="fail", signature="def")
    assert applied(ENTRY, other).records[0].verdict == "fail"


def test_a_listed_case_that_passes_is_stale() -> None:
    result = applied(ENTRY, record("ok,open", verdict="pass"))
    assert result.stale == ("p/i",)


def test_an_entry_past_its_date_is_expired_and_excuses_nothing() -> None:
    old = Deviation("p/i", "t.i.clause", "abc", "r", date(2026, 11, 20))
    result = applied(old, FAILED)
    assert result.expired == ("p/i",)
    assert result.records[0].verdict == "fail"


def test_an_entry_without_its_case_is_only_counted() -> None:
    result = applied(ENTRY)
    assert (result.unseen, result.stale) == (("p/i",), ())


def test_an_entry_speaks_of_the_versions_it_names() -> None:
    versioned = Deviation("p/i", "t.i.clause", "abc", "r", date(2027, 1, 1), targets=("0.3.7-*",))
    assert applied(versioned, FAILED, version="0.3.7-HA").records[0].verdict == "known"
    assert applied(versioned, FAILED, version="0.4").records[0].verdict == "fail"


def test_the_file_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deviations.toml"
    path.write_text(to_toml([ENTRY]))
    assert read_deviations(path, known_ids=["p/i/case"], today=TODAY) == (ENTRY,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[deviation]]\nid = 3", "deviations.toml"),
        ("nonsense", "deviations.toml"),
        (
            "[[deviation]]\nid='p/j'\nclause='c'\nsignature='s'\nreason='r'\nexpires=2027-01-01",
            "p/j",
        ),
        (
            "[[deviation]]\nid='p/i'\nclause='c'\nsignature='s'\nreason=' '\nexpires=2027-01-01",
            "reason",
        ),
        (
            "[[deviation]]\nid='p/i'\nclause='c'\nsignature='s'\nreason='r'\nexpires=2028-01-01",
            "twelve",
        ),
        ("[[deviation]]\nid='p/i'\nclause='c'\nsignature='s'\nreason='r'", "expires"),
        ("[[deviation]]\nid='p/i'\nextra=1", "extra"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "deviations.toml"
    path.write_text(text)
    with pytest.raises(UsageFault, match=words):
        read_deviations(path, known_ids=["p/i/case"], today=TODAY)
