"""Dimensions of must clauses, cornered faults, and trials of permitted alternatives."""

import msgspec
import pytest

from wireproof_kit.errors import KitError
from wireproof_kit.runner.collect import collect
from wireproof_kit.runner.instance import Instance
from wireproof_kit.selftest import run_trials as run_trials_module
from wireproof_kit.selftest.dimensions import (
    AT,
    Dimension,
    Dimensions,
    corner_trials,
    judged_clauses,
    read_dimensions,
)
from wireproof_kit.selftest.plan import (
    ALTERNATIVE,
    FAULT,
    VARIANT,
    Trial,
    joint_trials,
    list_trials,
)
from wireproof_kit.selftest.run_trials import run_trials
from wireproof_kit.selftest.shown import (
    all_acceptable,
    list_choices,
    pattern_shown,
    read_reasons,
    unshown,
)
from wireproof_kit.selftest.trial import WAYS, cases_of, interface, is_unexpected
from wireproof_reference_impl.iggy.faulty.corners import CORNERS as IGGY_CORNERS
from wireproof_reference_impl.iggy.presets import VARIANTS as IGGY_VARIANTS
from wireproof_reference_impl.nsq.faulty.corners import CORNERS
from wireproof_reference_impl.nsq.presets import FAULTS, VARIANTS
from wireproof_reference_impl.oms.faulty.corners import CORNERS as OMS_CORNERS
from wireproof_reference_impl.preset import ALTERNATIVE as LISTED_ALTERNATIVE
from wireproof_spec.clauses.catalogue import Level, is_below
from wireproof_spec.record import CaseRecord, Verdict

pytestmark = pytest.mark.long

TABLE = Dimensions(
    {"path": Dimension("by which path", ("tcp", "http"))},
    {"ext": ("path",), "ext.http": ("path=tcp",)},
)


def as_trial(name: str, *, way: str) -> Trial:
    return Trial(name, FAULT, (name,), breaks=("ext.http.accept",), way=way)


KNOWN = {"nsq": CORNERS.keys(), "iggy": IGGY_CORNERS.keys(), "oms": OMS_CORNERS.keys()}


@pytest.mark.parametrize("protocol", KNOWN)
def test_every_must_clause_of_a_broker_has_its_dimensions(protocol: str) -> None:
    table = read_dimensions(protocol)
    assert [each.id for each in judged_clauses(protocol) if table.corners(each.id) is None] == []


@pytest.mark.parametrize("protocol", KNOWN)
def test_every_corner_that_matters_is_known_to_the_reference(protocol: str) -> None:
    table, clauses = read_dimensions(protocol), judged_clauses(protocol)
    corners = {corner for each in clauses for corner in table.corners(each.id) or ()}
    assert corners <= KNOWN[protocol]
    assert {corner.partition("=")[0] for corner in corners} == table.dimension.keys()


def test_the_longest_prefix_decides() -> None:
    assert TABLE.corners("ext.publish.accept") == ["path=tcp", "path=http"]
    assert TABLE.corners("ext.http.accept") == ["path=tcp"]
    assert TABLE.corners("smart.order.again") is None


def test_two_corners_of_different_dimensions_meet() -> None:
    dimensions = {**TABLE.dimension, "topic": Dimension("kind of topic", ("plain", "ext"))}
    table = Dimensions(dimensions, {"ext": ("path", "topic=ext")}, pairs=("ext.consume",))

    assert table.meetings("ext.consume.body") == ["path=tcp+topic=ext", "path=http+topic=ext"]
    assert table.meetings("ext.publish.accept") == []


@pytest.mark.parametrize("protocol", KNOWN)
def test_what_is_broken_in_pairs_has_cases_of_combined_ways(protocol: str) -> None:
    table, clauses = read_dimensions(protocol), judged_clauses(protocol)
    ways = [item for item in collect(protocol) if interface(item) == f"{protocol}/{WAYS}"]

    assert bool(table.pairs) == bool(ways)
    named = [each for each in table.pairs if any(is_below(one.id, each) for one in clauses)]
    assert named == list(table.pairs)


@pytest.mark.parametrize("word", ["colour", "path=udp"])
def test_what_no_dimension_has_is_refused(word: str) -> None:
    with pytest.raises(KitError, match="has no"):
        Dimensions(TABLE.dimension, {"ext": (word,)}).corners("ext.a.b")


def test_a_corner_has_candidates_of_its_clause_the_plain_ones_first() -> None:
    faults = [
        Trial(fault.name, FAULT, (fault.name,), breaks=fault.breaks, way=fault.way)
        for fault in FAULTS.values()
        if fault.kind == "clause"
    ]
    for trial in corner_trials("nsq", faults):
        clause, _, corner = trial.name.partition(AT)
        names = [name.partition(AT)[0] for name in trial.candidates]
        assert all(clause in FAULTS[name].breaks for name in names)
        assert all(name.endswith(f"{AT}{corner}") for name in trial.candidates)
        assert trial.breaks == (clause,)
        assert clause not in trial.may_break


def test_a_corner_meets_the_cases_of_its_clause_and_then_those_of_combined_ways() -> None:
    trial = Trial("x", FAULT, (), breaks=("ext.http.accept",), candidates=("a@b",))
    cases = cases_of(trial, collect("nsq"))
    own = [item for item in cases if item.clause.id == "ext.http.accept"]

    assert cases[: len(own)] == own
    assert {interface(item) for item in cases[len(own) :]} == {f"nsq/{WAYS}"}


def test_all_alternatives_are_on_together_and_none_beside_what_it_excludes() -> None:
    one = Trial("one", ALTERNATIVE, ("one",), not_with=("two",))
    two = Trial("two", ALTERNATIVE, ("two",))
    three = Trial("three", ALTERNATIVE, ("three",))
    joint = joint_trials([one, two, three])
    assert [trial.switches for trial in joint] == [("one", "three")]


def test_an_alternative_that_lacks_a_capability_hides_no_case_of_the_others() -> None:
    others = [Trial(name, ALTERNATIVE, (name,)) for name in ("one", "two")]
    poor = Trial("poor", ALTERNATIVE, ("poor",), lacks=("order",))
    assert [trial.switches for trial in joint_trials([poor, *others])] == [("one", "two")]


def collect_of_created_topics(protocol: str) -> tuple[Instance, ...]:
    """Return the cases that create topics, and those that need ordered messages."""
    return tuple(
        item
        for item in collect(protocol)
        if "order" in item.needs or interface(item) == "nsq/create"
    )


@pytest.mark.process
def test_cases_that_a_variant_hides_are_an_alarm_unless_it_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "create-refuses-other-parameters"
    listed = next(each for each in list_trials("nsq", VARIANT) if each.name == name)
    silent = msgspec.structs.replace(listed, name="silent", lacks=(), every=False)
    told = msgspec.structs.replace(listed, every=False)
    monkeypatch.setattr(run_trials_module, "collect", collect_of_created_topics)
    (lived,) = run_trials("nsq", [told], workers=1)
    (alarm,) = run_trials("nsq", [silent], workers=1)  # twice, as each that ends wrongly
    assert [(each.verdict, "ordered" in each.reason) for each in alarm.unexpected] == [
        ("unsupported", True)
    ]
    assert (alarm.trial.name, alarm.first != "") == ("silent", True)
    assert (lived.trial.name, lived.verdict) == (name, "lived")


@pytest.mark.parametrize(("protocol", "least"), [("nsq", 41), ("iggy", 19)])
def test_a_reference_has_permitted_alternatives(protocol: str, least: int) -> None:
    presets = VARIANTS if protocol == "nsq" else IGGY_VARIANTS
    listed = [each.name for each in presets.values() if each.kind == LISTED_ALTERNATIVE]
    assert len(listed) >= least


@pytest.mark.parametrize(
    ("level", "verdict", "is_alarm"),
    [
        ("must", "fail", True),
        ("must", "unstable", True),
        ("must", "unsupported", False),
        ("must", "inconclusive", False),
        ("should", "fail", False),
        ("observed", "error", True),
    ],
)
def test_an_alternative_turns_no_must_red(level: Level, verdict: Verdict, is_alarm: bool) -> None:
    trial = Trial("other", ALTERNATIVE, ("other",))
    record = CaseRecord("nsq/x/y", "", "ext.a.b", level, "", "ok", verdict, "")
    assert is_unexpected(trial, record) is is_alarm
    assert is_unexpected(Trial("v", VARIANT, ("v",)), record)


PATTERNS = {
    "nsq": pattern_shown("ext.publish.trace-response", "nsq/publish/trace-offset", "overlaps"),
    "iggy": pattern_shown("iggy.frame.response", "iggy/frame/error-body", "closed"),
}
READINGS = {"nsq": "order-rdy=deployed", "iggy": "iggy-unknown-state=pass-through"}


@pytest.mark.parametrize("protocol", PATTERNS)
def test_what_no_trial_shows_is_named_unless_a_reason_is_written(protocol: str) -> None:
    lines = list(all_acceptable(protocol))
    assert unshown(protocol, lines) == []
    named = unshown(protocol, [])
    assert PATTERNS[protocol] in named
    assert READINGS[protocol] in named


@pytest.mark.parametrize("protocol", PATTERNS)
def test_reasons_are_about_what_is_accepted(protocol: str) -> None:
    lines = [*all_acceptable(protocol), *list_choices(protocol)]
    reasons = read_reasons(protocol)
    assert [each for each in reasons if not any(each in line for line in lines)] == []
