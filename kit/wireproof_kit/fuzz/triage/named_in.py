"""The cases whose frames a target names in its last words: the trace of a crash has functions."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.triage.generalize import kind_in

LONG: Final = 6
"""Letters from which on a name is looked for inside another: `send_messages_handler`."""
_WORD: Final = re.compile(r"[a-z0-9]+")


def named_in(log: str, cases: Sequence[Case]) -> list[Case]:
    """Return the cases with a frame that a log names, written with underscores or without."""
    said = set(_WORD.findall(log.lower().replace("_", "")))
    return [case for case in cases if said and any(_is_said(n, said) for n in _names(case))]


def _names(case: Case) -> Iterator[str]:
    yield case.frame_kind
    yield from map(kind_in, case.steps)


def _is_said(name: str, said: set[str]) -> bool:
    wanted = "".join(_WORD.findall(name.lower().replace("_", "")))
    if len(wanted) >= LONG:
        return any(wanted in word for word in said)
    return wanted in said
