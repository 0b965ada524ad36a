"""The deviations file: known, new, stale, expired, and refused when it is wrong."""

import time
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from small_law import record

from wireproof_kit.errors import UsageFault
from wireproof_kit.verdicts.deviations import (
    AppliedDeviations,
    Deviation,
    apply,
    is_known,
    read_deviations,
    to_toml,
    utc_date,
)
from wireproof_spec.clauses.cause import cause_id
from wireproof_spec.deviation_record import DeviationRecord
from wireproof_spec.record import CaseRecord

TODAY = date(2026, 11, 21)
ENTRY = Deviation("p/i", "t.i.clause", "upstream knows", date(2027, 3, 31), "abc", since=TODAY)
FAILED = record("error:X,open", verdict="fail", signature="abc")


def applied(entry: Deviation, *records: CaseRecord, version: str = "1") -> AppliedDeviations:
    return apply(records, (entry,), version=version, today=TODAY)


def test_a_listed_failure_is_known() -> None:
    assert applied(ENTRY, FAILED).records[0].verdict == "known"


@pytest.mark.parametrize(
    ("case", "clause", "absent"),
    [
        ("nsq/publish/header", "ext.publish.accept", ""),
        ("nsq/publish/gone", "ext.publish.accept", "id 'nsq/publish/gone' is no case"),
        ("nsq/publish/header", "ext.publish.gone", "the law has no clause 'ext.publish.gone'"),
    ],
)
def test_what_a_revision_of_the_law_took_away_is_named(
    case: str, clause: str, absent: str, tmp_path: Path
) -> None:
    file = tmp_path / "d.toml"
    file.write_text(to_toml([Deviation(case, clause, "r", date(2027, 3, 31), "abc")]))
    known = ("nsq/publish/header",)

    if not absent:
        assert len(read_deviations(file, known_ids=known, today=TODAY)) == 1
        return
    with pytest.raises(UsageFault, match=absent) as refusal:
        read_deviations(file, known_ids=known, today=TODAY)
    assert "remove the entry with `wireproof baseline prune`" in str(refusal.value)


LITTLE = "trace:little-endian"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(LITTLE, "known"), (f"{LITTLE},open", "known"), ("error:E_INVALID", "fail")],
)
def test_a_named_fault_is_known_in_cases_that_the_file_does_not_have(
    value: str, verdict: str
) -> None:
    """A run of another selection meets the same fault elsewhere."""
    listed = Deviation(
        "nsq/publish/trace", "ext.publish.trace-response", "r", date(2027, 3, 31), "abc"
    )
    elsewhere = record(
        value,
        case="nsq/order/position",
        clause="smart.order.position",
        verdict="fail",
        signature="abc",
    )
    assert applied(listed, elsewhere).records[0].verdict == verdict


CAUSE = Deviation("p/i", "t.i.clause", "r", date(2027, 3, 31), cause=cause_id(FAILED))


@pytest.mark.parametrize(
    ("observation", "case", "verdict"),
    [
        ("error:X,open", "p/i", "known"),
        ("error:X,closed", "p/tomorrow", "known"),
        ("error:Y,open", "p/i", "fail"),
    ],
)
def test_a_cause_covers_every_case_that_fails_for_it(
    observation: str, case: str, verdict: str
) -> None:
    """Also cases that came after the entry was written, with another signature."""
    failed = record(observation, case=case, verdict="fail", signature="other")
    assert applied(CAUSE, failed).records[0].verdict == verdict


def test_a_cause_is_stale_when_its_case_passes_and_no_other_case_shows_it() -> None:
    passes = record("ok,open", verdict="pass")
    elsewhere = record("error:X,open", case="p/other", verdict="fail", signature="other")

    assert applied(CAUSE, passes).stale == ("p/i",)
    assert applied(CAUSE, passes, elsewhere).stale == ()
    assert applied(CAUSE, elsewhere).unseen == ()
    assert applied(CAUSE).unseen == ("p/i",)


@pytest.mark.parametrize(
    ("keys", "found"), [("", "neither"), ('signature="a"\ncause="b"', "both")]
)
def test_an_entry_names_a_cause_or_a_signature(keys: str, found: str, tmp_path: Path) -> None:
    file = tmp_path / "d.toml"
    file.write_text(
        f'[[deviation]]\nid="p/i"\nclause="c"\nreason="r"\nexpires=2027-03-31\n{keys}\n'
    )
    with pytest.raises(UsageFault, match=f"either `cause` or `signature`; found {found}"):
        read_deviations(file, known_ids=None, today=TODAY)


def test_expiry_is_a_date_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """A zone a day ahead and one a day behind name the same date as UTC."""
    for zone in ("Etc/GMT-14", "Etc/GMT+12"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        before = datetime.now(UTC).date()
        assert before <= utc_date() <= datetime.now(UTC).date()
    monkeypatch.undo()
    time.tzset()


def test_another_failure_of_the_same_case_is_new() -> None:
    other = record("error:Y,open", verdict="fail", signature="def")
    assert applied(ENTRY, other).records[0].verdict == "fail"


def test_a_listed_case_that_passes_is_stale() -> None:
    result = applied(ENTRY, record("ok,open", verdict="pass"))
    assert result.stale == ("p/i",)


def test_an_entry_past_its_date_is_expired_and_excuses_nothing() -> None:
    old = Deviation("p/i", "t.i.clause", "r", date(2026, 11, 20), "abc")
    result = applied(old, FAILED)
    assert result.expired == ("p/i",)
    assert result.records[0].verdict == "fail"
    assert result.records[0].deviation == DeviationRecord("p/i", "2026-11-20", expired=True)


def test_a_record_names_the_entry_that_lists_it() -> None:
    listed = DeviationRecord("p/i", "2027-03-31")
    assert applied(ENTRY, FAILED).records[0].deviation == listed
    other = record("error:Y,open", verdict="fail", signature="def")
    assert applied(ENTRY, other).records[0].deviation is None


def test_an_entry_that_lasts_excuses_what_an_older_one_no_longer_does() -> None:
    old = Deviation("p/i/case", "t.i.clause", "r", date(2026, 11, 20), "abc")
    result = apply((FAILED,), (old, ENTRY), version="1", today=TODAY)
    assert result.records[0].deviation == DeviationRecord("p/i", "2027-03-31")
    assert result.expired == ("p/i/case",)


def test_an_entry_without_its_case_is_only_counted() -> None:
    result = applied(ENTRY)
    assert (result.unseen, result.stale) == (("p/i",), ())


def test_an_entry_speaks_of_the_versions_it_names() -> None:
    versioned = Deviation("p/i", "t.i.clause", "r", date(2027, 1, 1), "abc", targets=("0.3.7-*",))
    assert applied(versioned, FAILED, version="0.3.7-HA").records[0].verdict == "known"
    assert applied(versioned, FAILED, version="0.4").records[0].verdict == "fail"


@pytest.mark.parametrize(
    ("entry_id", "known", "is_one"),
    [
        ("p/i/case", "p/i/case", True),
        ("p/i", "p/i/case", True),
        ("p/i/case/x", "p/i/case", False),
        ("p/i/case/x", "p/i/case/", True),
        ("p/i/case", "p/i/case/", True),
        ("p/i/other", "p/i/case/", False),
    ],
)
def test_an_id_is_known_or_left_to_the_target(entry_id: str, known: str, is_one: bool) -> None:
    assert is_known(entry_id, [known]) is is_one


def test_the_file_is_written_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deviations.toml"
    path.write_text(to_toml([ENTRY]))
    assert read_deviations(path, known_ids=["p/i/case"], today=TODAY) == (ENTRY,)


def entry(**changes: str) -> str:
    fields = {
        "id": "'p/i'",
        "clause": "'c'",
        "signature": "'s'",
        "reason": "'r'",
        "expires": "2027-01-01",
        **changes,
    }
    return "\n".join(["[[deviation]]", *(f"{k} = {v}" for k, v in fields.items() if v)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (entry(id="3"), "deviations.toml"),
        ("nonsense", "deviations.toml"),
        (entry(id="'p/j'"), "p/j"),
        (entry(reason="' '"), "reason"),
        (entry(expires="2028-01-01"), "twelve"),
        (entry(expires=""), "expires"),
        (entry(extra="1"), "extra"),
    ],
)
def test_a_wrong_file_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "deviations.toml"
    path.write_text(text)
    with pytest.raises(UsageFault, match=words):
        read_deviations(path, known_ids=["p/i/case"], today=TODAY)
