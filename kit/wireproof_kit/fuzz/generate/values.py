"""Values from outlines by Hypothesis, and values drawn by number."""

from collections.abc import Mapping
from random import Random
from typing import Any, Generic, TypeVar

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wireproof_spec import outline as known
from wireproof_spec.outline import Outline

T = TypeVar("T")
Made = st.SearchStrategy[Any]
Rules = Mapping[str | type, Made]
"""Strategies of a protocol for the values that a schema does not determine.

The key is a type, a type and a field (`PubBody.body`), or the name of a field of any type.
"""

_BARE = (known.Fixed, known.Derived)
MOST_ITEMS = 3
MOST_BYTES = 200
_CHOICES = 16_384
"""Random bytes for the choices of one value; frames of all kinds together use a few thousand."""
_ATTEMPTS = 100


def values(outline: Outline, rules: Rules) -> Made:
    """Return a strategy for values of a schema's outline; a matching rule takes precedence."""
    match outline:
        case known.Parts():
            return _record(outline, rules)
        case known.Tuple(each=each):
            return st.lists(values(each, rules), min_size=1, max_size=MOST_ITEMS).map(tuple)
        case known.Perhaps(present=present):
            return st.none() | values(present, rules)
        case known.Mapped(origin=origin, make=make):
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
    absent = set(outline.value_type.__struct_fields__) - parts.keys()
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


class Drawer(Generic[T]):
    """Draws values by number: the same number gives the same value in every process.

    Hypothesis gets its choices as bytes (`fuzz_one_input`). Its normal generation was rejected
    because it also draws constants that it finds in whatever modules are loaded, so that the
    values would depend on them.
    """

    def __init__(self, strategy: st.SearchStrategy[T]) -> None:
        self._found: list[T] = []

        @settings(database=None, deadline=None, suppress_health_check=[HealthCheck.nested_given])
        @given(strategy)
        def keep(value: T) -> None:
            self._found.append(value)

        handle: Any = keep  # the stubs do not tell what a test made by `given` carries
        self._feed = handle.hypothesis.fuzz_one_input

    def draw(self, number: int) -> T:
        """Draw the value for a number; the same number gives the same value in every process.

        Raises:
            ValueError: the strategy rejects everything that is drawn.
        """
        choices = Random(number)
        for _ in range(_ATTEMPTS):
            self._feed(choices.randbytes(_CHOICES))
            if self._found:
                return self._found.pop()
        raise ValueError("nothing can be drawn")
