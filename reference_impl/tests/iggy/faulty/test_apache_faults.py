"""Faults of generation `apache`: they break every rule that must hold, and each shows."""

from collections import Counter
from pathlib import Path

import pytest
from apache_bench import FIRST_US
from apache_sessions import transcript
from check_each import check_each

from wireproof_reference_impl.iggy import presets
from wireproof_reference_impl.iggy.faulty.apache import (
    admission,
    combined,
    corners,
    frames,
    groups,
    headers,
    logins,
    over_http,
    oversights,
    polls,
    stored,
)
from wireproof_reference_impl.iggy.options import APACHE
from wireproof_reference_impl.preset import LATE, Preset
from wireproof_spec.clauses.loading import load_catalogue

FAMILIES = (
    *(admission, combined, corners, frames, groups, headers),
    *(logins, over_http, oversights, polls, stored),
)
FAULTS = [preset for family in FAMILIES for preset in family.FAULTS]
CLAUSE = "iggy.apache."
OF_CLIENTS = f"{CLAUSE}client."


def test_every_rule_of_a_server_that_must_hold_is_broken_by_a_fault() -> None:
    clauses = [each for each in load_catalogue("iggy").clauses() if each.id.startswith(CLAUSE)]
    broken = {name for preset in FAULTS for name in preset.breaks}

    assert broken <= {each.id for each in clauses}
    must = {each.id for each in clauses if each.level == "must"}
    assert {each for each in must - broken if not each.startswith(OF_CLIENTS)} == set()


def test_names_belong_to_one_fault_each() -> None:
    assert all(presets.FAULTS[preset.name] is preset for preset in FAULTS)


def test_each_fault_chooses_the_generation_and_they_are_wrong_in_all_ways() -> None:
    assert all(preset.settings == {"framing.generation": APACHE} for preset in FAULTS)
    ways = Counter(preset.way for preset in FAULTS)
    assert len(ways) == 6
    assert ways.total() >= 120


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    return transcript(tmp_path_factory.mktemp("plain"))


def test_a_session_without_faults_is_always_the_same(plain: list[object], tmp_path: Path) -> None:
    assert transcript(tmp_path) == plain


@pytest.mark.slow
@check_each([preset for preset in FAULTS if preset.way != LATE], lambda preset: preset.name)
def test_every_fault_shows(preset: Preset, plain: list[object], tmp_path: Path) -> None:
    assert transcript(tmp_path / preset.name, preset.name) != plain


def test_the_late_fault_is_right_at_first(
    plain: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_us = FIRST_US
    monkeypatch.setattr(stored, "time_ns", lambda: now_us * 1000)
    assert transcript(tmp_path / "at first", "payload-changes-late") == plain
    now_us += 3_600_000_000
    assert transcript(tmp_path / "late", "payload-changes-late") != plain
