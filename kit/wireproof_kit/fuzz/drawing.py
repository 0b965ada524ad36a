"""Values out of outlines by Hypothesis, and frames drawn from a seed."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from wireproof_spec import outline as known
from wireproof_spec.outline import Outline

T = TypeVar("T")
Made = st.SearchStrategy[Any]
Rules = Mapping[str | type, Made]
"""What a protocol says of parts that their shape does not tell.

By the type of a value, by type and field (`PubBody.body`), or by a field's name anywhere.
"""

_BARE = (known.Fixed, known.Derived)
MOST_ITEMS = 3
MOST_BYTES = 200


def values(outline: Outline, rules: Rules) -> Made:
    """Make values that fit an outline, by rules where there are any."""
    match outline:
        case known.Parts():
            return _record(outline, rules)
        case known.Tuple(each=each):
            return st.lists(values(each, rules), min_size=1, max_size=MOST_ITEMS).map(tuple)
        case known.Perhaps(present=present):
            return st.none() | values(present, rules)
        case known.Made(origin=origin, make=make):
            return values(origin, rules).map(make)
        case _:
            return _leaf(outline)


def _record(outline: known.Parts, rules: Rules) -> Made:
    if outline.value_type in rules:
        return rules[outline.value_type]
    parts: dict[str, Made] = {}
    for name, part in outline.parts:
        if not isinstance(part, _BARE):
            of_owner = f"{outline.value_type.__name__}.{name}"
            rule = next((rules[key] for key in (of_owner, name) if key in rules), None)
            parts[name] = values(part, rules) if rule is None else rule
    absent = {member.name for member in fields(outline.value_type)} - parts.keys()
    return st.builds(outline.value_type, **parts, **{name: st.none() for name in absent})


def _leaf(outline: Outline) -> Made:
    match outline:
        case known.Whole(lowest, highest):
            edges = st.sampled_from((lowest, max(lowest, 0), min(highest, 1), highest))
            return st.integers(lowest, highest) | edges
        case known.Choice(choices):
            return st.sampled_from(choices)
        case known.Real():
            return st.floats(width=32, allow_nan=False, allow_infinity=False)
        case known.Flag():
            return st.booleans()
        case _:
            return _octets(outline)


def _octets(outline: Outline) -> Made:
    match outline:
        case known.Octets(None):
            return st.binary(min_size=1, max_size=MOST_BYTES)
        case known.Octets(size):
            return st.binary(min_size=size or 0, max_size=size)
        case known.Letters():
            return st.text(min_size=1, max_size=20)
        case known.Word(pattern):
            return st.from_regex(pattern, fullmatch=True)
        case _:
            raise TypeError(f"no values for {outline!r}")


def drawn(strategy: st.SearchStrategy[T], number: int, count: int) -> list[T]:
    """Draw some values: the same ones for the same number, the simplest one first."""
    found: list[T] = []

    def keep(value: T) -> None:
        found.append(value)

    _run(strategy, number, count, keep)
    return found


def _run(
    strategy: st.SearchStrategy[T], number: int, count: int, keep: Callable[[T], None]
) -> None:
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(number)
    @given(strategy)
    def run(value: T) -> None:
        keep(value)

    run()
