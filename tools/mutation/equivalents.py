"""Mutants that do not count: the list of those that change nothing the law speaks of, and why."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mutants import Mutant

LIST = Path(__file__).with_name("equivalent.toml")
ANY = "*"


@dataclass(frozen=True)
class KnownMutants:
    """Mutants of one line of one function that do not count, and the reason why.

    ``becomes`` are the changed lines; ``*`` stands for every change. ``function`` may be a
    pattern, such as ``core/commands/auth.py:*``.
    """

    function: str
    was: str
    becomes: tuple[str, ...]
    reason: str

    def is_about(self, mutant: Mutant) -> bool:
        return (
            fnmatchcase(f"{mutant.file}:{mutant.function}", self.function)
            and self.was in (mutant.was, ANY)
            and (ANY in self.becomes or mutant.becomes in self.becomes)
        )


def read(path: Path = LIST) -> tuple[KnownMutants, ...]:
    """Read the list of mutants that do not count: by reason, then function, the changed lines.

    Raises:
        ValueError: a reason is missing or without mutants, or a table has another key.
    """
    entries: list[KnownMutants] = []
    for number, group in enumerate(tomllib.loads(path.read_text("utf-8"))["mutants"], 1):
        if set(group) != {"reason", "of"} or not group["reason"].strip() or not group["of"]:
            raise ValueError(
                f"{path}, [[mutants]] {number}: expected a reason and `of`; found {sorted(group)}"
            )
        for function, lines in group["of"].items():
            if not lines or [] in lines.values():
                raise ValueError(
                    f"{path}, {function}: expected changed lines with what they become"
                )
            for was, becomes in lines.items():
                listed = (becomes,) if isinstance(becomes, str) else tuple(becomes)
                entries.append(KnownMutants(function, was, listed, group["reason"]))
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
    return [each for each in entries if not any(each.is_about(mutant) for mutant in mutants)]
