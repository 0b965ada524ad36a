"""The mark that makes a test function a case of the kit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec

from wireproof_kit.observation import Observation

P = ParamSpec("P")

MARK = "__wireproof_case__"


@dataclass(frozen=True, slots=True)
class CaseMark:
    """What a case says of itself; level, accept sets and needs stand in the catalogue."""

    id: str
    clause: str
    needs: tuple[str, ...] = ()
    waiting: bool = False
    hazard: bool = False
    alone: bool = False


def case(
    id: str,
    *,
    clause: str,
    needs: tuple[str, ...] = (),
    waiting: bool = False,
    hazard: bool = False,
    alone: bool = False,
) -> Callable[[Callable[P, Observation]], Callable[P, Observation]]:
    """Mark a function as the experiment ``id`` (protocol/interface/subject) on ``clause``.

    ``needs`` adds capabilities to those of the clause. ``waiting`` cases mostly wait and are
    started early in a thread; ``alone`` cases disturb others and run after them, one at a time;
    ``hazard`` cases may kill a target and run last of all.
    """
    mark = CaseMark(id, clause, needs, waiting, hazard, alone)

    def marked(function: Callable[P, Observation]) -> Callable[P, Observation]:
        setattr(function, MARK, mark)
        return function

    return marked


def case_mark(function: object) -> CaseMark | None:
    """Return the mark of a function, or None for a plain test."""
    mark = getattr(function, MARK, None)
    return mark if isinstance(mark, CaseMark) else None
