"""Faults and variants of the Iggy reference: complete, well-formed, and none without an effect."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from check_each import check_each
from iggy_bench import FIRST_US, Bench, polling, sending, sent
from iggy_sessions import transcript

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.faulty import lateness
from wireproof_reference_impl.iggy.faulty.lateness import late_settings
from wireproof_reference_impl.iggy.options import DEPLOYED, PUBLISHED, TAGGED
from wireproof_reference_impl.iggy.presets import EVERY_FAULT, FAULTS, VARIANTS, build, overrides
from wireproof_reference_impl.overrides import apply_overrides
from wireproof_reference_impl.preset import (
    ALTERNATIVE,
    CLAUSE,
    LATE,
    PARSER,
    VARIANT,
    WAYS,
    Preset,
)
from wireproof_reference_impl.settings import change_settings
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.iggy import commands

EVERY = [*FAULTS.values(), *VARIANTS.values()]
OFFERED_BY_NO_BROKER = ("iggy.client.", "iggy.apache.client.")
OF_OTHER_SERVER = "framing.generation"
"""Faults that set it are of generation `apache`: test_apache_faults.py has the same for them."""
OURS = {name: each for name, each in FAULTS.items() if OF_OTHER_SERVER not in each.settings}


def test_every_preset_changes_the_behaviour() -> None:
    unchanged = [
        preset.name
        for preset in EVERY
        if not (preset.settings or preset.overrides)
        or (preset.settings and change_settings(Behaviour(), preset.settings) == Behaviour())
    ]
    assert unchanged == []


def test_every_preset_is_named_and_described() -> None:
    assert {preset.name: wrong for preset in EVERY if (wrong := _wrong(preset))} == {}


def _wrong(preset: Preset) -> list[str]:
    """Return what of a preset is not as it should be; the text of a fault is a sentence."""
    end = "." if preset.name in FAULTS else ""
    right = {
        "name": re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", preset.name),
        "text": re.fullmatch(r"[^\t\n]+[^.\t\n]", preset.text.removesuffix(end)),
        "kind": preset.kind in (CLAUSE, PARSER, VARIANT, ALTERNATIVE),
        "way": (preset.way in WAYS) == bool(preset.breaks) == (preset.kind == CLAUSE),
        "prefix": (preset.kind == PARSER) == preset.name.startswith("parser-"),
    }
    return [part for part, is_right in right.items() if not is_right]


def test_names_are_unique() -> None:
    assert not FAULTS.keys() & VARIANTS.keys()
    assert len(EVERY_FAULT) == len(FAULTS)
    assert len(VARIANTS) >= 25


def test_clauses_of_faults_exist_and_those_that_must_hold_have_three() -> None:
    clauses = tuple(load_catalogue("iggy").clauses())
    named = {name for preset in FAULTS.values() for name in preset.breaks}
    assert named <= {each.id for each in clauses}
    breaking = defaultdict(set)
    for preset in FAULTS.values():
        for clause in preset.breaks:
            breaking[clause].add(preset.name)
    lacking = {
        each.id: len(breaking[each.id])
        for each in clauses
        if each.level == "must"
        and each.status == "tested"
        and not each.id.startswith(OFFERED_BY_NO_BROKER)
        # Generation apache has one fault for each so far.
        and len(breaking[each.id]) < (1 if each.id.startswith("iggy.apache.") else 3)
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


@pytest.mark.slow
@check_each(
    [preset for preset in OURS.values() if preset.kind == CLAUSE], lambda preset: preset.name
)
def test_every_fault_shows(preset: Preset, plain: list[object], tmp_path: Path) -> None:
    assert transcript(tmp_path / preset.name, preset.name) != plain


def test_a_session_without_faults_is_always_the_same(plain: list[object], tmp_path: Path) -> None:
    assert transcript(tmp_path) == plain


DELIVERING = {
    "json.message",
    "json.polled",
    "message.head",
    "message.layout",
    "poll.delivered",
    "log.is_known",
    "poll.starts",
    "log.new_id",
}
"""What decides which stored messages a poll brings, or what it tells of them."""
TAKING = "which requests are taken, and how they are read"
REFUSING = "how a refusal is told"
NOT_DELIVERING = {
    "log.record": "the log",
    "log.segment_size": "the log",
    "framing.client_id": "who a client is told to be",
    "framing.generation": TAKING,
    "framing.goes_on": TAKING,
    "framing.unreadable": REFUSING,
    "http.error": REFUSING,
    "http.fields": "what stands in front of any body",
    "http.framing": "where a body ends, and how it is cut",
    "http.keeps_open": "what comes behind an answer",
    "http.most_body_bytes": TAKING,
    "http.reason": "what stands in front of any body",
    "http.sent": TAKING,
    "json.stored_offset": "offsets of consumers",
    "json.encode": "how any JSON is written",
    "pacing.delay_ms": "when and in how many pieces anything is written",
    "pacing.pieces": "when and in how many pieces anything is written",
    "poll.stored": "offsets of consumers",
    "poll.takes_trailing": TAKING,
    "store.choose": "the partition that a message is sent to",
    "log.headers": "what is stored: a fault of that is an override",
    "store.limits": TAKING,
    "store.name": "names of streams and topics",
    "log.repeats": TAKING,
    "log.timestamp": "what is stored: a fault of that is an override",
}
"""What every other setting is about: a fault of these alone needs no late twin."""
FINDING_NOTHING = {
    "poll-empty-refused",
    "json-nothing-is-null",
    "poll-beyond-finds-last",
    "poll-of-none-without-head",
}
"""Faults that show in polls that find no message: nothing was stored that could grow old."""
RETURNING_MUCH = {"poll-skips-101st", "poll-skips-at-a-mebibyte"}
"""Faults that show in large polls: no case repeats these until their messages are old."""
WITHOUT_LATE_TWIN = FINDING_NOTHING | RETURNING_MUCH
TAKEN_BESIDES = {"http-empty-payload-lost-late": "http-unchecked"}
"""Late faults that take more from the beginning: the variant that takes the same."""

DELIVERING_OVERRIDES = {
    ("wire.message", "store_message"),
    ("core.bodies", "encode_polled"),
    ("Partition", "read"),
}
"""Functions of the core whose overrides change which messages a poll brings, or tells of them."""


def _delivers(preset: Preset) -> bool:
    replaced = {
        (each.owner.__name__.removeprefix("wireproof_reference_impl.iggy."), each.name)
        for each in preset.overrides
    }
    return bool(preset.settings.keys() & DELIVERING or replaced & DELIVERING_OVERRIDES)


LATE_FAULTS = [name for name, preset in OURS.items() if preset.way == LATE]


def test_of_every_setting_it_is_known_whether_it_delivers() -> None:
    behaviour = Behaviour()
    settings = {
        f"{table}.{choice}"
        for table in behaviour.__struct_fields__
        for choice in getattr(behaviour, table).__struct_fields__
    }
    assert settings == DELIVERING | NOT_DELIVERING.keys()
    assert not DELIVERING & NOT_DELIVERING.keys()
    assert lateness.DELIVERING == DELIVERING


def test_every_fault_that_delivers_wrongly_exists_late() -> None:
    delivering = {
        name
        for name, preset in OURS.items()
        if preset.kind == CLAUSE and preset.way != LATE and _delivers(preset)
    }
    assert delivering > WITHOUT_LATE_TWIN
    assert {f"{name}-late" for name in delivering - WITHOUT_LATE_TWIN} == {*LATE_FAULTS}
    assert len(LATE_FAULTS) >= 100


def test_faults_without_a_late_twin_find_nothing_return_much_or_do_not_deliver() -> None:
    for name in WITHOUT_LATE_TWIN:
        assert late_settings(FAULTS[name].settings) is not None
        assert FAULTS[name].late is None


@pytest.mark.slow
@check_each(LATE_FAULTS)
def test_late_faults_are_right_at_first(
    name: str, plain: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The time of messages on a bench: nothing is older than a moment.
    monkeypatch.setattr(lateness, "time_ns", lambda: FIRST_US * 1000)
    right = plain
    if name in TAKEN_BESIDES:
        right = transcript(tmp_path / f"{name} right", variants=[TAKEN_BESIDES[name]])
    assert transcript(tmp_path / name, name) == right


@pytest.mark.parametrize("name", ["state-zero-late", "poll-one-more-late", "new-ids-alike-late"])
def test_late_faults_are_wrong_after_three_seconds(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_us = FIRST_US
    monkeypatch.setattr(lateness, "time_ns", lambda: now_us * 1000)
    polls: list[list[bytes]] = []
    for faults in ([], [name]):
        now_us = FIRST_US
        polls.append([])
        with apply_overrides(overrides(faults)):
            client = Bench(faults=faults).with_topic()
            messages = [sent(b"a", number=0), sent(b"b", number=0)]
            client.ok(commands.SEND_MESSAGES, sending(*messages))
            for _ in range(2):
                polls[-1].append(client.ok(commands.POLL_MESSAGES, polling(count=1)))
                now_us += 3_500_000
    right, wrong = polls
    assert right[0] == right[1] == wrong[0] != wrong[1]
