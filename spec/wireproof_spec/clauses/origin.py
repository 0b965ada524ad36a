"""Where the force of a clause comes from, and the sentences that need no text."""

from collections.abc import Container, Mapping
from typing import Literal, get_args

Origin = Literal["text", "base", "premise", "inference", "deployed"]
Binding = Literal["text", "base", "premise"]
Premise = Literal["survives", "unharmed", "whole", "at-least-once", "unaltered"]

ORIGINS: tuple[Origin, ...] = get_args(Origin)
BINDING: tuple[Binding, ...] = get_args(Binding)
"""The origins that a must may have."""

ORIGIN_MEANINGS: dict[str, str] = {
    "text": "the published text says so",
    "base": "a document that the published text extends, and leaves unchanged there, says so",
    "premise": "no text has a meaning without it",
    "inference": "plausible, but no text says so",
    "deployed": "real peers do so, and no text says so",
}

PREMISES: dict[Premise, str] = {
    "survives": "The process survives whatever bytes come.",
    "unharmed": "The errors of one connection leave the other connections unharmed.",
    "whole": "Nothing that was received only in part is published.",
    "at-least-once": "What was accepted with OK is delivered at least once.",
    "unaltered": (
        "What was accepted with OK is delivered unaltered: the bytes of the body, the names of "
        "the header to the letter, its values, tags and ids."
    ),
}
"""All premises; the list is closed."""


def by_origin(counts: Mapping[str, tuple[int, int]], counted: Container[str]) -> str:
    """Return how many cases each origin has as text, such as ``12 text, 4 base``.

    `counts` maps an origin to its (conforming, asserted) cases. Where some deviate each origin has
    both numbers: ``11/12 text, 4/4 base``. An origin of musts that is not among the ``counted``
    ones is named as such.
    """
    whole = all(conforming == asserted for conforming, asserted in counts.values())
    told: list[str] = []
    for origin in ORIGINS:
        conforming, asserted = counts.get(origin, (0, 0))
        if asserted:
            number = f"{asserted}" if whole else f"{conforming}/{asserted}"
            left_out = origin in BINDING and origin not in counted
            told.append(f"{number} {origin}" + " not counted" * left_out)
    return ", ".join(told)
