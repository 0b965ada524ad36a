"""What a rule sees of a document: nothing set, as described, or faults with their places."""

from collections.abc import Iterable
from dataclasses import dataclass

DESCRIBED = "as-described"
UNSET = "unset"
UNREADABLE = "unreadable"
NOT_THERE = "not-there"


@dataclass(frozen=True, slots=True)
class Breach:
    """A breach: its kind in a word, where (a JSON pointer), what was due and what stands there.

    `at_name` says that the name is the culprit, not the value.
    """

    kind: str
    pointer: str
    expected: str
    found: str
    at_name: bool = False


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule sees; `state` is a word of this module or the kind of the first fault."""

    state: str
    faults: tuple[Breach, ...] = ()


def make_sight(faults: Iterable[Breach], otherwise: str = DESCRIBED) -> RuleResult:
    """Return the sight of these faults, or of what there is if there are none."""
    found = tuple(faults)
    return RuleResult(found[0].kind if found else otherwise, found)
