"""The result of a rule on a document: not set, as described, or breaches with positions."""

from collections.abc import Iterable
from dataclasses import dataclass

DESCRIBED = "as-described"
UNSET = "unset"
UNREADABLE = "unreadable"
NOT_THERE = "not-there"


@dataclass(frozen=True, slots=True)
class Breach:
    """A place in a document that breaks a rule: a JSON pointer, what was expected and found.

    `kind` names the sort of breach. `at_name` means that the name is wrong, not the value.
    """

    kind: str
    pointer: str
    expected: str
    found: str
    at_name: bool = False


@dataclass(frozen=True, slots=True)
class RuleResult:
    """A rule's result for a document; `state`: a word of this module or a breach's kind."""

    state: str
    faults: tuple[Breach, ...] = ()


def make_result(faults: Iterable[Breach], otherwise: str = DESCRIBED) -> RuleResult:
    """Return a rule's result: the breaches, or the state `otherwise` if there are none."""
    found = tuple(faults)
    return RuleResult(found[0].kind if found else otherwise, found)
