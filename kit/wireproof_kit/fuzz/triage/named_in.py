"""The cases whose frames a target names in its last words: the trace of a crash has functions."""

import re
from collections.abc import Iterator, Sequence, Set
from typing import Final

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.triage.generalize import kind_in

LONG: Final = 6
"""Letters from which on a name is looked for inside another: `send_messages_handler`."""
_WORD: Final = re.compile(r"[a-z0-9]+")


def named_in(log: str, cases: Sequence[Case]) -> list[Case]:
    """Return the cases with a frame that a log names, written with underscores or without."""
    said = set(_WORD.findall(log.lower().replace("_", "")))
    known = {_plain(name) for case in cases for name in _names(case)} if said else set[str]()
    named = {name for word in said for name in _longest_in(word, known)}
    return [case for case in cases if any(_plain(name) in named for name in _names(case))]


def _names(case: Case) -> Iterator[str]:
    yield case.frame_kind
    yield from map(kind_in, case.steps)


def _plain(name: str) -> str:
    return "".join(_WORD.findall(name.lower().replace("_", "")))


def _longest_in(word: str, known: Set[str]) -> list[str]:
    """Return the known names that a word has, but none inside another: `pubext` in `mpubext`."""
    found = [name for name in known if name == word or (len(name) >= LONG and name in word)]
    return [name for name in found if not any(name != other and name in other for other in found)]
