"""Every choice that the texts leave is taken by a reference, or a reason says why by none.

A must case that could not pass under one of these references would accuse an innocent target. The
selftest runs all cases under each alternative, and under all that can be combined.
"""

import functools

import pytest

from wireproof_kit.selftest.plan import FAULT, Trial, list_trials
from wireproof_kit.selftest.shown import (
    REFERENCE,
    list_choices,
    missed_readings,
    read_choices,
    read_reasons,
)
from wireproof_spec.clauses.loading import load_catalogue

PROTOCOLS = ("nsq", "iggy", "oms")
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)


@functools.cache
def trials(protocol: str) -> dict[str, Trial]:
    of_client = (False, True) if protocol != "oms" else (False,)
    return {
        trial.name: trial
        for kind in ("variant", "fault")
        for client in of_client
        for trial in list_trials(protocol, kind, of_client=client)
    }


def breaks_a_must(protocol: str, trial: Trial) -> bool:
    catalogue = load_catalogue(protocol)
    broken = (catalogue.clause(name) for name in (*trial.breaks, *trial.may_break))
    return any(clause is not None and clause.level == "must" for clause in broken)


@each_protocol
def test_each_choice_has_a_reference_or_a_reason(protocol: str) -> None:
    named, reasons = read_choices(protocol), read_reasons(protocol)
    both_or_neither = [c for c in list_choices(protocol) if (c in named) == (c in reasons)]
    assert both_or_neither == []


@each_protocol
def test_only_choices_are_named(protocol: str) -> None:
    assert set(read_choices(protocol)) <= set(list_choices(protocol))


@pytest.mark.process
@each_protocol
def test_each_named_reference_is_there_and_breaks_no_must(protocol: str) -> None:
    known = trials(protocol)
    for choice, names in read_choices(protocol).items():
        assert names, choice
        for name in set(names) - {REFERENCE}:
            assert name in known, f"{choice}: there is no variant {name}"
            is_fault = known[name].kind == FAULT
            assert not (is_fault and breaks_a_must(protocol, known[name])), f"{choice}: {name}"


def test_a_reading_that_its_variant_does_not_show_is_told() -> None:
    shown = {"order-offset-first": ["order-ext-place=deployed"]}
    assert missed_readings("nsq", shown) == [
        "order-ext-place=offset-first: not shown by order-offset-first"
    ]
    assert missed_readings("nsq", {}) == []
