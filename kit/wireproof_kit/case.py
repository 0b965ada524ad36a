"""The decorator that turns a test function into a case of the kit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ParamSpec

from wireproof_kit.observation import Observation

P = ParamSpec("P")

MARK = "__wireproof_case__"


@dataclass(frozen=True, slots=True)
class CaseMark:
    """What the decorator `case` stores of a case: id, clause, needed capabilities and the like."""

    id: str
    clause: str
    needs: tuple[str, ...] = ()
    waiting: bool = False
    hazard: bool = False
    alone: bool = False
    needs_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    place: str = ""
    """The last part of the id of a case that repeats another one elsewhere, such as over HTTP."""


def case(
    id: str,
    *,
    clause: str,
    needs: tuple[str, ...] = (),
    waiting: bool = False,
    hazard: bool = False,
    alone: bool = False,
    needs_of: Mapping[str, tuple[str, ...]] | None = None,
) -> Callable[[Callable[P, Observation]], Callable[P, Observation]]:
    """Return a decorator that marks a function as the case ``id`` (protocol/interface/subject).

    ``needs`` are required capabilities in addition to the clause's. ``waiting`` cases mostly wait
    and are started early in a thread; ``alone`` cases disturb others and run after them, one at a
    time; ``hazard`` cases may kill a target and run last of all. ``needs_of`` maps the id of a
    parameter to the further capabilities that its cases require.
    """
    mark = CaseMark(id, clause, needs, waiting, hazard, alone, needs_of or {})

    def mark_function(function: Callable[P, Observation]) -> Callable[P, Observation]:
        setattr(function, MARK, mark)
        return function

    return mark_function


def case_mark(function: object) -> CaseMark | None:
    """Return the CaseMark of a function, or None for a plain test function."""
    mark = getattr(function, MARK, None)
    return mark if isinstance(mark, CaseMark) else None
