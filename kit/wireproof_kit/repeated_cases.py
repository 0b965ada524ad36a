"""Cases whose experiments are repeated elsewhere: other arguments, some of the parameters."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType

import pytest

from wireproof_kit.case import MARK, case_mark
from wireproof_kit.observation import Observation
from wireproof_spec.clauses.loading import load_catalogue

Experiment = Callable[..., Observation]


def list_must_cases(protocol: str, module: ModuleType) -> Iterator[Experiment]:
    """Yield a module's cases of level must, except those that disturb others or may kill."""
    catalogue = load_catalogue(protocol)
    for function in vars(module).values():
        mark = case_mark(function)
        if mark is None or mark.hazard or mark.alone or function.__module__ != module.__name__:
            continue
        clause = catalogue.clause(mark.clause)
        if clause is not None and clause.level == "must":
            yield function


def name_repeated(function: Experiment) -> str:
    """Return a name for a repeated case; cases of several modules may have one name."""
    return f"{function.__name__}_of_{function.__module__.replace('.', '_')}"


def elsewhere(
    function: Callable[..., Observation],
    *,
    place: str,
    needs: tuple[str, ...],
    arguments: Mapping[str, str],
    adapt: Callable[[Mapping[str, object]], Mapping[str, object]],
) -> Callable[..., Observation]:
    """Return a case that repeats another case with other arguments, such as over HTTP.

    ``arguments`` maps each replaced argument of the old case to the new one. ``adapt`` turns the
    values given, by the old names, into the values for the old function. The new id is the old one
    and ``place``, so that the same accept sets apply.
    """
    mark = case_mark(function)
    if mark is None:
        raise TypeError(f"{function.__name__} is no case")
    signature = inspect.signature(function)
    others = {new: old for old, new in arguments.items()}

    @functools.wraps(function)
    def repeat(**given: object) -> Observation:
        own = {others.get(name, name): value for name, value in given.items()}
        return function(**adapt(own))

    parameters = [
        each.replace(name=arguments.get(name, name), kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in signature.parameters.items()
    ]
    repeat.__dict__["__signature__"] = signature.replace(parameters=parameters)
    setattr(repeat, MARK, replace(mark, needs=(*mark.needs, *needs), place=place))
    return repeat


def keep_values(repeated: Experiment, start: int, step: int | None) -> None:
    """Keep every `step`-th value of a case's longest parameter from `start`; at least one.

    Without a step one value is kept.
    """
    marks = [each for each in getattr(repeated, "pytestmark", []) if isinstance(each, pytest.Mark)]
    longest = max(marks, key=_count_values, default=None)
    kept = [_keep(mark, start, step) if mark is longest else mark for mark in marks]
    repeated.__dict__["pytestmark"] = kept


def _count_values(mark: pytest.Mark) -> int:
    return len([*mark.args[1]]) if mark.name == "parametrize" else 0


def _keep(mark: pytest.Mark, start: int, step: int | None) -> pytest.Mark:
    if mark.name != "parametrize":
        return mark
    names, values = mark.args[0], [*mark.args[1]]
    ids = mark.kwargs.get("ids")
    chosen = range(start % len(values), len(values), step or len(values))
    named = ids if ids is None or callable(ids) else [[*ids][each] for each in chosen]
    return pytest.mark.parametrize(names, [values[each] for each in chosen], ids=named).mark
