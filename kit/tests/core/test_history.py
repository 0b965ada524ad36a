"""Searching histories: found, shrunk within bounds, remembered, the same for the same seed."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.observation import Observation
from wireproof_kit.runner import rule_machine
from wireproof_kit.runner.rule_machine import DEEP, SHORT, Effort, LawBroken, search, usual_effort

MOVES = ("a", "b", "c")
SMALL = Effort(examples=20, steps=10, seconds=30.0, shrinks=60, shrink_seconds=30.0)

Judge = Callable[[str], str]


@dataclass
class Stage:
    """Begins histories of letters; the judge gives the word for all that was done so far."""

    judge: Judge
    at_end: Judge = lambda letters: ""
    begun: list[bool] = field(default_factory=list[bool])
    shown: int = 0
    closed: int = 0
    told: list[str] = field(default_factory=list[str])

    def __call__(self, *, hurried: bool, shown: bool) -> "Letters":
        self.begun.append(hurried)
        self.shown += shown
        return Letters(self)

    def search(self, *, seed: int = 1, effort: Effort = SMALL) -> Observation:
        return search(self, MOVES, seed=seed, tell=self.told.append, effort=effort)


@dataclass
class Letters:
    stage: Stage
    done: str = ""

    def move(self, name: str, choice: int) -> str:
        assert 0 <= choice < 8
        self.done += name
        self._say(self.stage.judge(self.done))
        return name

    def end(self) -> None:
        self._say(self.stage.at_end(self.done))

    def close(self) -> None:
        self.stage.closed += 1

    def _say(self, word: str) -> None:
        if word:
            raise LawBroken(word, "seen", overdue=word == "lost")


def nothing(letters: str) -> str:
    return ""


def two_a_then_b(letters: str) -> str:
    return "lost" if letters.endswith("b") and letters.count("a") >= 2 else ""


def test_a_target_that_keeps_the_law_is_asked_all_histories() -> None:
    stage = Stage(nothing)
    observation = stage.search()
    assert observation.value == "kept"
    assert observation.note.startswith("20 histories, 1")
    assert len(stage.begun) == len(stage.told) == stage.closed == 20


def test_the_same_seed_gives_the_same_histories() -> None:
    first, second, other = Stage(nothing), Stage(nothing), Stage(nothing)
    first.search()
    second.search()
    other.search(seed=2)
    assert first.told == second.told != other.told


def test_what_breaks_is_shrunk_and_shown_with_all_patience() -> None:
    stage = Stage(two_a_then_b)
    observation = stage.search()
    assert observation.value == "lost"
    assert observation.overdue
    assert observation.note == "a; a; b → seen"
    assert (stage.shown, stage.begun[0], stage.begun[-1]) == (1, False, False)
    assert any(stage.begun)
    assert stage.closed == len(stage.begun)


def test_a_search_is_repeated_to_the_letter() -> None:
    assert Stage(two_a_then_b).search() == Stage(two_a_then_b).search()


def test_what_only_the_end_shows_counts() -> None:
    observation = Stage(nothing, at_end=lambda letters: "lost" * ("c" in letters)).search()
    assert (observation.value, observation.note) == ("lost", "c → seen")


def test_what_does_not_come_again_is_reported_as_it_was_seen() -> None:
    seen: list[str] = []

    def once(letters: str) -> str:
        if seen or "b" not in letters:
            return ""
        seen.append("; ".join(letters))
        return "lost"

    observation = Stage(once).search()
    assert (observation.value, observation.note) == ("lost", f"{seen[0]} → seen")


def test_another_way_of_breaking_does_not_replace_the_first() -> None:
    words: list[str] = []

    def judge(letters: str) -> str:
        if "c" not in letters:
            return ""
        words.append("swapped" if words and len(letters) < 2 else "lost")
        return words[-1]

    assert Stage(judge).search().value == "lost"


def test_shrinking_is_bounded() -> None:
    bounded = Effort(examples=20, steps=10, seconds=30.0, shrinks=3)
    stage = Stage(two_a_then_b)
    assert stage.search(effort=bounded).value == "lost"
    assert sum(stage.begun) <= 3


def test_what_keeps_the_kit_from_its_job_is_no_history() -> None:
    def judge(letters: str) -> str:
        raise ArrangementFailed("no topic")

    with pytest.raises(ArrangementFailed, match="no topic"):
        Stage(judge).search()


def test_what_was_found_is_kept_when_the_target_then_goes() -> None:
    found: list[str] = []

    def judge(letters: str) -> str:
        if found:
            raise ArrangementFailed("gone")
        if letters.endswith("c"):
            found.append(letters)
            return "lost"
        return ""

    assert Stage(judge).search().value == "lost"


def test_a_search_without_time_decides_nothing() -> None:
    with pytest.raises(ArrangementFailed, match="no history came to its end in 0 s"):
        Stage(nothing).search(effort=Effort(seconds=0.0))


def test_time_brings_the_history_at_hand_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []

    def slow(letters: str) -> str:
        steps.append(letters)
        return ""

    def monotonic() -> float:
        return time.monotonic() + 0.3 * len(steps)

    monkeypatch.setattr(rule_machine, "time", SimpleNamespace(monotonic=monotonic))
    stage = Stage(slow)
    observation = stage.search(effort=Effort(examples=50, steps=20, seconds=2.0))
    assert observation.value == "kept"
    assert len(stage.told) == len(stage.begun) == 1
    assert 0 < len(stage.told[0].split("; ")) < 20


def test_a_bug_of_ours_is_no_finding() -> None:
    def judge(letters: str) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Stage(judge).search()


@pytest.mark.slow
def test_several_searches_run_beside_each_other() -> None:
    values: list[str] = []

    def go() -> None:
        values.append(Stage(nothing).search().value)

    threads = [threading.Thread(target=go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == ["kept"] * 6


def test_the_profile_says_how_far_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYPOTHESIS_PROFILE", raising=False)
    assert usual_effort() == SHORT
    assert usual_effort(SMALL) == SMALL
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "deep")
    assert usual_effort(SMALL) == DEEP
    monkeypatch.setenv("HYPOTHESIS_PROFILE", "light")
    assert usual_effort(Effort(examples=14, steps=9)) == Effort(examples=2, steps=9)
