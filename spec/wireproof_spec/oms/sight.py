"""What a rule sees of a document: nothing set, as described, or faults with their places."""

from collections.abc import Iterable
from dataclasses import dataclass

DESCRIBED = "as-described"
UNSET = "unset"
UNREADABLE = "unreadable"
NOT_THERE = "not-there"


@dataclass(frozen=True, slots=True)
class Fault:
    """A breach: its kind in a word, where (a JSON pointer), what was due and what stands there.

    `at_name` says that the name is the culprit, not the value.
    """

    kind: str
    pointer: str
    expected: str
    found: str
    at_name: bool = False


@dataclass(frozen=True, slots=True)
class Sight:
    """What one rule sees; `state` is a word of this module or the kind of the first fault."""

    state: str
    faults: tuple[Fault, ...] = ()


def seen(faults: Iterable[Fault], otherwise: str = DESCRIBED) -> Sight:
    """Return the sight of these faults, or of what there is if there are none."""
    found = tuple(faults)
    return Sight(found[0].kind if found else otherwise, found)
