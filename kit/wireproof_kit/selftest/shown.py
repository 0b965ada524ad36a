"""Which observations and readings the law accepts, and which of them a legal trial has shown.

A pattern that no reference ever shows is accepted on trust: a target that shows it may be accused
wrongly without anybody noticing.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from wireproof_spec.clauses.catalogue import Law
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.protocol import find_protocol

REASONS = "unshown.toml"
SHOWN = "shown.toml"
REFERENCE = "reference"
"""The name, in a table of choices, of the reference without any variant."""


def accepted_patterns(law: Law) -> tuple[str, ...]:
    """Return the patterns of observations that conform under at least one reading."""
    of_readings = (option for options in law.reading.values() for option in options.values())
    return (*law.accept, *(pattern for patterns in of_readings for pattern in patterns))


def pattern_shown(clause: str, law: str, pattern: str) -> str:
    """Return the line that names an accepted pattern of a clause's case."""
    return f"{clause} {law} {pattern}"


def reading_shown(decision: str, reading: str | None) -> str:
    """Return the line ``decision=reading`` that names a reading."""
    return f"{decision}={reading}"


def all_acceptable(protocol: str) -> Iterator[str]:
    """Yield all observations and readings that a right broker may show, one line each.

    These are each reading, and each accepted pattern if a must case accepts several.
    """
    catalogue = load_catalogue(protocol)
    for decision in catalogue.decisions:
        yield from (reading_shown(decision.id, option.name) for option in decision.option)
    for clause in catalogue.clauses():
        if clause.level != "must" or clause.status != "tested":
            continue
        for law in clause.case:
            patterns = dict.fromkeys(accepted_patterns(law))
            if len(patterns) > 1:
                yield from (pattern_shown(clause.id, law.id, pattern) for pattern in patterns)


def list_choices(protocol: str) -> Iterator[str]:
    """Yield each choice that the texts leave: every option of a reading, every observed clause.

    An observed clause says what real peers do and no text asks for, so that another way is as
    legal.
    """
    catalogue = load_catalogue(protocol)
    for decision in catalogue.decisions:
        yield from (reading_shown(decision.id, option.name) for option in decision.option)
    for clause in catalogue.clauses():
        if clause.level == "observed":
            yield clause.id


def read_choices(protocol: str) -> Mapping[str, Sequence[str]]:
    """Return, by choice, the variants of the reference that take it, or `REFERENCE`."""
    path = find_protocol(protocol).folder() / SHOWN
    if not path.is_file():
        return {}
    table: dict[str, dict[str, list[str]]] = tomllib.loads(path.read_text(encoding="utf-8"))
    return {choice: names for choices in table.values() for choice, names in choices.items()}


def missed_readings(protocol: str, shown_by: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the readings that a variant should show by the table of choices, and did not.

    ``shown_by`` are the lines that each variant showed, by its name.
    """
    decided = {decision.id for decision in load_catalogue(protocol).decisions}
    return [
        f"{choice}: not shown by {name}"
        for choice, names in read_choices(protocol).items()
        for name in names
        if choice.partition("=")[0] in decided and choice not in shown_by.get(name, (choice,))
    ]


def read_reasons(protocol: str) -> Mapping[str, str]:
    """Return, by accepted observation or choice, the written reason why no variant shows it.

    The keys are lines as in `all_acceptable`, or parts of them, or choices as in `list_choices`.
    """
    path = find_protocol(protocol).folder() / REASONS
    if not path.is_file():
        return {}
    reasons: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))["reason"]
    return reasons


def unshown(protocol: str, shown: Iterable[str]) -> list[str]:
    """Return the accepted observations that no variant showed and that have no written reason."""
    seen, reasons = set(shown), tuple(read_reasons(protocol))
    return [
        line
        for line in all_acceptable(protocol)
        if line not in seen and not any(reason in line for reason in reasons)
    ]
