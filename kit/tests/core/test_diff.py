"""Two bundles compared: each class on its own, and what must hold for any two bundles."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_law import header, record

from wireproof_kit.bundle.file import Bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.verdicts.diff import KINDS, TESTED, Comparison, Kind, Pair, compare
from wireproof_spec.deviation_record import DeviationRecord
from wireproof_spec.record import (
    VERDICTS,
    BindingRecord,
    CaseRecord,
    FooterRecord,
    HeaderRecord,
    RepeatsRecord,
    SeenRecord,
    TargetRecord,
    WayRecord,
)

FOOTER = FooterRecord({}, (), {}, 0, "s")
ANCHOR = record("ok,open", case="p/i/anchor", verdict="pass")
"""A case that is the same in every bundle, so that two have something in common."""


def bundle(
    *cases: CaseRecord,
    name: str = "a.jsonl",
    first: HeaderRecord | None = None,
    last: FooterRecord | None = FOOTER,
) -> Bundle:
    return Bundle(Path(name), first or header(), (ANCHOR, *cases), last)


def kinds(found: Comparison) -> dict[str, Kind]:
    return {change.pair.case: change.kind for change in found.changes}


def kind(before: CaseRecord | None, after: CaseRecord | None, **head: HeaderRecord) -> Kind | None:
    old = bundle(*([before] if before else []), first=head.get("old"))
    new = bundle(*([after] if after else []), first=head.get("new"))
    return kinds(compare(old, new)).get("p/i/case/x")


PASS = record("ok,open", verdict="pass")
READING = record("error:D,open", verdict="reading", reading="spelling=deployed")
OTHERWISE = record("ok,delivered:late", verdict="pass")
FAIL = record("error:X,open", verdict="fail", signature="x")
FAIL_OTHERWISE = record("error:Y,open", verdict="fail", signature="y")
KNOWN = record("error:X,open", verdict="known", signature="x")
UNSTABLE = record(
    "error:X,open",
    verdict="unstable",
    repeats=RepeatsRecord(5, 2, (SeenRecord("ok,open"),) * 3),
)
UNSUPPORTED = record("unavailable", verdict="unsupported")
UNDECIDED = record("inconclusive:arrangement", verdict="inconclusive")
ERROR = record("kit-error:timeout", verdict="error")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (PASS, FAIL, "regressed"),
        (READING, FAIL, "regressed"),
        (PASS, KNOWN, "regressed"),
        (FAIL, PASS, "fixed"),
        (FAIL, READING, "fixed"),
        (KNOWN, PASS, "fixed"),
        (FAIL, FAIL_OTHERWISE, "otherwise"),
        (KNOWN, FAIL_OTHERWISE, "otherwise"),
        (FAIL, FAIL, None),
        (PASS, UNSTABLE, "unstable"),
        (FAIL, UNSTABLE, "unstable"),
        (None, UNSTABLE, "unstable"),
        (UNSTABLE, PASS, "settled"),
        (UNSTABLE, FAIL, "settled"),
        (UNSTABLE, UNSTABLE, None),
        (UNSTABLE, UNDECIDED, "no-longer-tested"),
        (PASS, READING, "reading"),
        (READING, PASS, "reading"),
        (None, PASS, "now-tested"),
        (None, FAIL, "now-tested"),
        (UNSUPPORTED, FAIL, "now-tested"),
        (UNDECIDED, PASS, "now-tested"),
        (ERROR, PASS, "now-tested"),
        (PASS, None, "no-longer-tested"),
        (FAIL, UNSUPPORTED, "no-longer-tested"),
        (PASS, UNDECIDED, "no-longer-tested"),
        (PASS, ERROR, "regressed"),
        (READING, UNSUPPORTED, "regressed"),
        (FAIL, ERROR, "no-longer-tested"),
        (PASS, OTHERWISE, "still-conforming"),
        (READING, msgspec.structs.replace(READING, observation="error:D"), "still-conforming"),
        (None, UNSUPPORTED, None),
        (UNSUPPORTED, ERROR, None),
        (UNDECIDED, None, None),
        (FAIL, KNOWN, "rejudged"),
        (KNOWN, FAIL, "rejudged"),
    ],
)
def test_a_change_has_its_class(
    before: CaseRecord | None, after: CaseRecord | None, expected: Kind | None
) -> None:
    assert kind(before, after) == expected


def at(level: str, change: CaseRecord, name: str = "p/i/case/x") -> CaseRecord:
    return msgspec.structs.replace(change, level=level, case=name)


def test_a_case_that_does_not_count_and_is_lost_is_no_regression() -> None:
    lost = kind(at("may", PASS), at("may", UNSUPPORTED))
    assert lost == "no-longer-tested"
    counting = kind(at("may", PASS), at("may", UNSUPPORTED), new=header(profile="may"))
    assert counting == "regressed"


SPOILT = record("error:X,open", verdict="pass")
RIGHT = record("ok,open", verdict="fail", signature="r")


@pytest.mark.parametrize(
    ("level", "worse", "expected"),
    [
        ("must", FAIL, "doubtful-fix"),
        ("may", FAIL, "doubtful-fix"),
        ("observed", FAIL, "fixed"),
        ("must", FAIL_OTHERWISE, "fixed"),
        ("must", PASS, "fixed"),
    ],
)
def test_a_fix_is_doubtful_where_as_strict_a_case_got_worse_with_the_same_answer(
    level: str, worse: CaseRecord, expected: Kind
) -> None:
    """A broker that refuses everything refuses what it must refuse, too."""
    old = bundle(at("may", RIGHT), at(level, PASS, "p/i/other"))
    new = bundle(at("may", SPOILT), at(level, worse, "p/i/other"))
    assert kinds(compare(old, new))["p/i/case/x"] == expected


def test_the_strictest_level_comes_first_whatever_the_ids() -> None:
    levels = ("observed", "may", "should", "must")
    names = [f"p/i/{number}" for number in range(4)]
    old = [at(level, PASS, name) for level, name in zip(levels, names, strict=True)]
    new = [at(level, FAIL, name) for level, name in zip(levels, names, strict=True)]
    found = compare(bundle(*old), bundle(*new))
    assert [change.pair.level for change in found.of("regressed")] == list(reversed(levels))


@pytest.mark.parametrize(("profile", "met"), [("must", False), ("should", True), ("may", True)])
def test_a_class_is_met_by_what_the_profile_of_the_later_run_counts(
    profile: str, *, met: bool
) -> None:
    new = bundle(at("should", FAIL), first=header(profile=profile))
    found = compare(bundle(at("should", PASS)), new)
    assert len(found.of("regressed")) == 1
    assert found.meets(("regressed",)) is met


def test_a_case_with_another_hash_is_a_changed_case_whatever_came_out() -> None:
    changed = msgspec.structs.replace(FAIL, case_hash="1")
    assert kind(PASS, changed) == "changed"
    assert kind(PASS, msgspec.structs.replace(PASS, case_hash="1")) == "changed"


def test_the_same_observation_under_another_law_is_no_regression() -> None:
    stricter = record("ok,open", verdict="fail", signature="z", accepted=("ok,closed",))
    looser = msgspec.structs.replace(PASS, accepted=("ok,*",))
    assert kind(looser, stricter) == "rejudged"
    assert kind(stricter, looser) == "rejudged"


def test_another_observation_under_another_law_is_a_regression() -> None:
    assert kind(PASS, msgspec.structs.replace(FAIL, accepted=("ok,closed",))) == "regressed"


def test_a_reading_bound_otherwise_is_the_targets_doing() -> None:
    bound = {
        name: header(readings={"spelling": BindingRecord(name, "o")})
        for name in ("published", "deployed")
    }
    same = record("error:P,open", verdict="pass", accepted=("error:P,*",))
    fails = record("error:P,open", verdict="fail", signature="p", accepted=("error:D,*",))
    found = kind(same, fails, old=bound["published"], new=bound["deployed"])
    assert found == "regressed"


def test_another_reading_asked_for_is_no_regression() -> None:
    fails = msgspec.structs.replace(READING, verdict="fail", signature="r")
    assert kind(READING, fails, new=header(reading="published")) == "rejudged"


LISTED = msgspec.structs.replace(KNOWN, deviation=DeviationRecord("p/i", "2026-11-20"))


def test_a_known_failure_whose_entry_is_past_its_date_is_expired() -> None:
    now = msgspec.structs.replace(
        FAIL, deviation=DeviationRecord("p/i", "2026-11-20", expired=True)
    )
    assert kind(LISTED, now) == "expired"


@pytest.mark.parametrize(
    ("started", "expected"),
    [("2026-11-21T10:00:00+00:00", "expired"), ("2026-11-20T10:00:00+00:00", "rejudged")],
)
def test_a_run_without_the_file_is_held_to_the_date_in_the_other(
    started: str, expected: Kind
) -> None:
    assert kind(LISTED, FAIL, new=header(started=started)) == expected


def test_an_older_bundle_names_expired_entries_in_its_footer_only() -> None:
    footer = msgspec.structs.replace(FOOTER, expired=("p/i",))
    other = msgspec.structs.replace(FOOTER, expired=("p/j",))
    found = compare(bundle(KNOWN), bundle(FAIL, last=footer))
    assert kinds(found) == {"p/i/case/x": "expired"}
    assert kinds(compare(bundle(KNOWN), bundle(FAIL, last=other))) == {"p/i/case/x": "rejudged"}


def test_another_failure_of_a_case_whose_entry_expired_is_no_expiry() -> None:
    assert kind(LISTED, FAIL_OTHERWISE) == "otherwise"


def test_the_head_names_what_differs_besides_cases() -> None:
    target = TargetRecord("nsq://h:2", "p", {"version": "2"})
    later = msgspec.structs.replace(
        header(readings={"spelling": BindingRecord("deployed", "D")}),
        target=target,
        kit="1",
        spec={"t": 2, "u": 1},
    )
    found = compare(bundle(), bundle(first=later))
    told = {item.name: (item.before, item.after) for item in found.differences}
    assert told == {
        "target": ("nsq://h:1", "nsq://h:2"),
        "target version": ("-", "2"),
        "kit": ("0", "1"),
        "spec t": ("r1", "r2"),
        "spec u": ("-", "r1"),
        "reading spelling": ("-", "deployed"),
    }


@pytest.mark.parametrize(
    ("before", "after", "asked", "met"),
    [
        (PASS, FAIL, ("regressed",), True),
        (PASS, FAIL, ("fixed", "unstable"), False),
        (PASS, FAIL, (), False),
        (PASS, KNOWN, ("regressed",), False),
        (PASS, UNSTABLE, ("regressed", "unstable"), True),
    ],
)
def test_a_class_asked_for_is_met_by_its_changes(
    before: CaseRecord, after: CaseRecord, asked: Sequence[Kind], *, met: bool
) -> None:
    assert compare(bundle(before), bundle(after)).meets(asked) is met


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (bundle(), bundle(last=None, name="b.jsonl"), "b.jsonl: expected a footer after 1 cases"),
        (bundle(last=None), bundle(), "a.jsonl: expected a footer"),
        (bundle(PASS, PASS), bundle(PASS), "a.jsonl: expected each case once"),
        (
            bundle(),
            bundle(
                first=msgspec.structs.replace(header(), target=TargetRecord("iggy://h", "iggy"))
            ),
            "expected two runs of one protocol",
        ),
        (
            Bundle(Path("a"), header(), (PASS,), FOOTER),
            Bundle(Path("b"), header(), (ANCHOR,), FOOTER),
            "nothing in common: no case is in both",
        ),
        (
            Bundle(Path("a"), header(), (PASS,), FOOTER),
            Bundle(Path("b"), header(), (msgspec.structs.replace(PASS, case_hash="1"),), FOOTER),
            "all 1 cases that are in both were changed",
        ),
        (Bundle(Path("a"), header(), (), FOOTER), bundle(), "nothing in common"),
    ],
)
def test_what_cannot_be_compared_is_refused(old: Bundle, new: Bundle, words: str) -> None:
    with pytest.raises(UsageFault, match=words):
        compare(old, new)


def records() -> st.SearchStrategy[list[CaseRecord]]:
    one = st.builds(
        lambda case, hash_, value, verdict, signature, accepted: record(
            value,
            case=f"p/i/{case}",
            case_hash=hash_,
            verdict=verdict,
            signature=signature if verdict in ("fail", "known") else None,
            accepted=accepted,
        ),
        st.sampled_from("abcdef"),
        st.sampled_from("01"),
        st.sampled_from(("ok,open", "error:X,open")),
        st.sampled_from(VERDICTS),
        st.sampled_from("xy"),
        st.sampled_from(((), ("ok,*",))),
    )
    return st.lists(one, unique_by=lambda r: r.case)


@given(records())
def test_a_bundle_does_not_differ_from_itself(cases: list[CaseRecord]) -> None:
    found = compare(bundle(*cases), bundle(*cases))
    assert (found.changes, found.differences) == ((), ())
    assert not found.meets(tuple(KINDS))


def _is_tested(pair: Pair) -> bool:
    return pair.after is not None and pair.after.verdict in TESTED


@given(records(), records())
def test_what_regressed_one_way_is_fixed_the_other(
    old: list[CaseRecord], new: list[CaseRecord]
) -> None:
    there = compare(bundle(*old), bundle(*new))
    back = compare(bundle(*new), bundle(*old))
    turned = {c.pair.case for kind in ("fixed", "doubtful-fix") for c in back.of(kind)}
    assert {c.pair.case for c in there.of("regressed") if _is_tested(c.pair)} == turned
    for same in ("otherwise", "reading", "still-conforming", "changed"):
        assert {c.pair.case for c in there.of(same)} == {c.pair.case for c in back.of(same)}


@given(records(), records())
def test_every_case_has_one_class_and_a_changed_verdict_always_has_one(
    old: list[CaseRecord], new: list[CaseRecord]
) -> None:
    found = compare(bundle(*old), bundle(*new))
    names = [change.pair.case for change in found.changes]
    assert len(names) == len(set(names))
    decided = {"pass", "reading", "fail", "known", "unstable"}
    before = {r.case: r.verdict for r in old}
    for after in new:
        was = before.get(after.case)
        if was in decided and after.verdict in decided and was != after.verdict:
            assert after.case in names


@given(records())
def test_the_order_of_cases_does_not_matter(
    cases: list[CaseRecord],
) -> None:
    turned = list(reversed(cases))
    assert compare(bundle(*cases), bundle(*turned)).changes == ()


WAY = "p/passing/c/again"
KEPT = msgspec.structs.replace(PASS, case=WAY, case_hash="w")
BROKEN = msgspec.structs.replace(FAIL, case=WAY, case_hash="w")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (KEPT, BROKEN, "regressed"),
        (BROKEN, KEPT, "fixed"),
        (BROKEN, BROKEN, None),
        (KEPT, None, None),
        (None, KEPT, None),
        (None, BROKEN, "now-tested"),
        (BROKEN, None, "no-longer-tested"),
    ],
)
def test_a_way_is_compared_where_messages_came_on_it(
    before: CaseRecord | None, after: CaseRecord | None, expected: Kind | None
) -> None:
    found = compare(
        *(
            replace(bundle(), ways=(WayRecord(each, 1, 1, counted=True),)) if each else bundle()
            for each in (before, after)
        )
    )
    assert kinds(found).get(WAY) == expected
    assert found.compared == 1
