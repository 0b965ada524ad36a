"""Faults and variants of the Iggy reference: complete, well-formed, and none without an effect."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from iggy_bench import Bench, polling, sending, sent
from iggy_sessions import transcript

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.iggy import lateness
from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.options import DEPLOYED, PUBLISHED, TAGGED
from wireproof_reference_impl.iggy.presets import FAULTS, VARIANTS, build
from wireproof_reference_impl.preset import CLAUSE, LATE, PARSER, VARIANT, WAYS, Preset
from wireproof_reference_impl.settings import changed
from wireproof_spec.catalogue import load_catalogue
from wireproof_spec.iggy import commands

EVERY = [*FAULTS.values(), *VARIANTS.values()]
OFFERED_BY_NO_BROKER = ("iggy.client.",)
SEEN_BY_NOBODY_LATE = {
    "same-ids-twice",
    "json-headers-empty-as-array",
    "header-values-fitted",
    "header-keys-lower",
    "header-keys-cut-at-254",
}
"""Told wrongly of messages that no case polls for seconds."""


@pytest.mark.parametrize("preset", EVERY, ids=lambda preset: preset.name)
def test_every_preset_changes_the_behaviour(preset: Preset) -> None:
    assert preset.settings
    assert changed(Behaviour(), preset.settings) != Behaviour()


@pytest.mark.parametrize("preset", EVERY, ids=lambda preset: preset.name)
def test_every_preset_is_named_and_described(preset: Preset) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", preset.name)
    assert re.fullmatch(r"[^\t\n]+[^.\t\n]", preset.text)
    assert preset.kind in (CLAUSE, PARSER, VARIANT)
    assert (preset.way in WAYS) == bool(preset.breaks) == (preset.kind == CLAUSE)
    assert (preset.kind == PARSER) == preset.name.startswith("parser-")
    assert not set(preset.breaks) & set(preset.may_break)


def test_names_are_unique() -> None:
    assert not FAULTS.keys() & VARIANTS.keys()
    assert len(VARIANTS) >= 25


def test_clauses_of_faults_exist_and_those_that_must_hold_have_three() -> None:
    clauses = load_catalogue("iggy").clauses()
    named = {name for preset in FAULTS.values() for name in (*preset.breaks, *preset.may_break)}
    assert named <= {each.id for each in clauses}
    breaking = defaultdict(set)
    for preset in FAULTS.values():
        for clause in preset.breaks:
            breaking[clause].add(preset.name)
    lacking = {
        each.id: len(breaking[each.id])
        for each in clauses
        if each.level == "must"
        and not each.id.startswith(OFFERED_BY_NO_BROKER)
        and len(breaking[each.id]) < 3
    }
    assert lacking == {}


def test_generations_and_dialects_are_put_on_top_of_each_other() -> None:
    tagged = build(TAGGED, DEPLOYED, fault_names=["checksum-missing"], variant_names=[])
    assert tagged.framing == build(TAGGED, PUBLISHED, fault_names=[], variant_names=[]).framing
    assert tagged.http == build(PUBLISHED, DEPLOYED, fault_names=[], variant_names=[]).http
    assert build(PUBLISHED, PUBLISHED, fault_names=[], variant_names=[]) == Behaviour()


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(BadOption, match="did you mean 'checksum-missing'"):
        build(PUBLISHED, PUBLISHED, fault_names=["checksum-mising"], variant_names=[])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    return transcript(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize(
    "preset",
    [preset for preset in FAULTS.values() if preset.kind == CLAUSE],
    ids=lambda preset: preset.name,
)
def test_every_fault_shows(preset: Preset, plain: list[object], tmp_path: Path) -> None:
    assert transcript(tmp_path, preset.name) != plain


def test_a_session_without_faults_is_always_the_same(plain: list[object], tmp_path: Path) -> None:
    assert transcript(tmp_path) == plain


CHOSEN_AT_ONCE = {"new-ids-alike", "key-hash-from-one", "send-limit-one-less"}
"""About what is decided when a message comes."""
TELLING = {
    "message.layout",
    "message.arranged",
    "json.message",
    "json.state",
    "poll.delivered",
}


def test_every_fault_that_tells_messages_wrongly_exists_late() -> None:
    told = {
        name
        for name, preset in FAULTS.items()
        if preset.way != LATE
        and preset.kind == CLAUSE
        and all(each in TELLING or each.startswith("store.") for each in preset.settings)
    }
    late = {name.removesuffix("-late") for name, preset in FAULTS.items() if preset.way == LATE}
    assert told - SEEN_BY_NOBODY_LATE - CHOSEN_AT_ONCE == late
    assert len(late) >= 80


@pytest.mark.parametrize(
    "name", ["state-zero-late", "checksum-missing-late", "id-reversed-late", "old-layout-late"]
)
def test_late_faults_tell_rightly_at_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = 10**15
    monkeypatch.setattr(lateness, "time_ns", lambda: now_us * 1000)
    polls = []
    for faults in ([], [name]):
        now_us = 10**15
        client = Bench(faults=faults).with_topic()
        client.ok(commands.SEND_MESSAGES, sending(sent(b"a", number=3)))
        polls.append([client.ok(commands.POLL_MESSAGES, polling())])
        now_us += 3_500_000
        polls[-1].append(client.ok(commands.POLL_MESSAGES, polling()))
    right, wrong = polls
    assert right[0] == right[1] == wrong[0] != wrong[1]
