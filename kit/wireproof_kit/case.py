"""The decorator that turns a test function into a case of the kit."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ParamSpec

from wireproof_kit.observation import Observation

P = ParamSpec("P")

MARK = "__wireproof_case__"


@dataclass(frozen=True, slots=True)
class CaseMark:
    """The id and clause of a case; its level, accept sets and needs are in the catalogue."""

    id: str
    clause: str
    needs: tuple[str, ...] = ()
    waiting: bool = False
    hazard: bool = False
    alone: bool = False
    needs_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    place: str = ""
    """Where an experiment of another case is repeated; the last part of the id."""


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

    ``needs`` adds capabilities to those of the clause. ``waiting`` cases mostly wait and are
    started early in a thread; ``alone`` cases disturb others and run after them, one at a time;
    ``hazard`` cases may kill a target and run last of all. ``needs_of`` adds capabilities to the
    cases of one parameter, by its id.
    """
    mark = CaseMark(id, clause, needs, waiting, hazard, alone, needs_of or {})

    def mark_function(function: Callable[P, Observation]) -> Callable[P, Observation]:
        setattr(function, MARK, mark)
        return function

    return mark_function


def elsewhere(
    function: Callable[..., Observation],
    *,
    place: str,
    needs: tuple[str, ...],
    arguments: Mapping[str, str],
    adapt: Callable[[str, object], object],
) -> Callable[..., Observation]:
    """Return the experiment of a case as another case, with other arguments.

    ``arguments`` name by which argument each of the case's own is replaced; ``adapt`` makes of
    what comes under the case's own name what is passed to it. The id is that of the case and then
    ``place``, so that the same accept sets apply.
    """
    mark = case_mark(function)
    if mark is None:
        raise TypeError(f"{function.__name__} is no case")
    signature = inspect.signature(function)
    others = {new: old for old, new in arguments.items()}

    @functools.wraps(function)
    def repeat(**given: object) -> Observation:
        own = {others.get(name, name): value for name, value in given.items()}
        return function(**{name: adapt(name, value) for name, value in own.items()})

    parameters = [
        each.replace(name=arguments.get(name, name), kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in signature.parameters.items()
    ]
    repeat.__dict__["__signature__"] = signature.replace(parameters=parameters)
    setattr(repeat, MARK, replace(mark, needs=(*mark.needs, *needs), place=place))
    return repeat


def case_mark(function: object) -> CaseMark | None:
    """Return the CaseMark of a function, or None for a plain test function."""
    mark = getattr(function, MARK, None)
    return mark if isinstance(mark, CaseMark) else None
