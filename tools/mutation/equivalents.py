"""Mutants that do not count: the list of those that change nothing the law speaks of, and why."""

import functools
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants import Mutant

LIST = Path(__file__).with_name("equivalent.toml")
ANY = "*"


@dataclass(frozen=True)
class KnownMutants:
    """Known mutants, and the reason why they do not count.

    The function (``core/commands/auth.py:*``), the line that changes and what it ``becomes`` are
    patterns, in which ``*`` stands for any text.
    """

    function: str
    was: str
    becomes: tuple[str, ...]
    reason: str

    def is_about(self, mutant: Mutant) -> bool:
        return (
            _fits(f"{mutant.file}:{mutant.function}", self.function)
            and _fits(mutant.was, self.was)
            and any(_fits(mutant.becomes, become) for become in self.becomes)
        )


def _fits(text: str, pattern: str) -> bool:
    return _compile(pattern).fullmatch(text) is not None


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split(ANY))), re.DOTALL)


def read(path: Path = LIST) -> tuple[KnownMutants, ...]:
    """Read the list of mutants that do not count: by reason, then function, the changed lines.

    Raises:
        ValueError: a reason is blank or without mutants.
    """
    entries: list[KnownMutants] = []
    for reason, functions in tomllib.loads(path.read_text("utf-8")).items():
        if not reason.strip() or not functions:
            raise ValueError(f"{path}, [{reason!r}]: expected a reason and its mutants")
        for function, lines in functions.items():
            if not lines or [] in lines.values():
                raise ValueError(
                    f"{path}, {function}: expected changed lines with what they become"
                )
            for was, becomes in lines.items():
                listed = (becomes,) if isinstance(becomes, str) else tuple(becomes)
                entries.append(KnownMutants(function, was, listed, reason))
    return tuple(entries)


def split(
    mutants: Iterable[Mutant], entries: Sequence[KnownMutants]
) -> tuple[list[Mutant], dict[str, KnownMutants]]:
    """Return the mutants that count, and by key the entries for those that do not."""
    count: list[Mutant] = []
    excused: dict[str, KnownMutants] = {}
    for mutant in mutants:
        entry = next((each for each in entries if each.is_about(mutant)), None)
        if entry is None:
            count.append(mutant)
        else:
            excused[mutant.key] = entry
    return count, excused


def idle(mutants: Sequence[Mutant], entries: Sequence[KnownMutants]) -> list[KnownMutants]:
    """Return the entries of the list that match no mutant, since the sources have changed."""
    return [entry for entry in entries if not any(entry.is_about(mutant) for mutant in mutants)]
