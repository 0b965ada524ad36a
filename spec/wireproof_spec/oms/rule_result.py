"""The result of a rule on a document: not set, as described, or breaches with positions."""

from collections.abc import Iterable
from dataclasses import dataclass

DESCRIBED = "as-described"
UNSET = "unset"
UNREADABLE = "unreadable"
NOT_THERE = "not-there"


@dataclass(frozen=True, slots=True)
class Breach:
    """A breach: its kind, its JSON pointer, what was expected and what was found.

    `at_name` means that the name is wrong, not the value.
    """

    kind: str
    pointer: str
    expected: str
    found: str
    at_name: bool = False


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of one rule; `state` is a word of this module or the kind of the first breach."""

    state: str
    faults: tuple[Breach, ...] = ()


def make_result(faults: Iterable[Breach], otherwise: str = DESCRIBED) -> RuleResult:
    """Return the result with these breaches, or the state `otherwise` if there are none."""
    found = tuple(faults)
    return RuleResult(found[0].kind if found else otherwise, found)
