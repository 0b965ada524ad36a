"""Overrides replace functions and methods of a core, in order, and are taken back."""

from collections.abc import Callable
from types import ModuleType

import pytest

from wireproof_reference_impl.overrides import Override, apply_overrides, replace_function

CORE = ModuleType("core")
CORE.__dict__["count"] = lambda number: number + 1


class Greeter:
    def greet(self) -> str:
        return "hello"


def _doubled(original: Callable[..., object]) -> Callable[..., object]:
    return lambda *arguments: (original(*arguments), original(*arguments))


def test_overrides_hold_within_the_context_and_in_order() -> None:
    twice = Override(CORE, "count", _doubled)
    other = replace_function(Greeter, "greet", lambda self: "go away")

    with apply_overrides([twice, twice, other]):
        assert CORE.count(1) == ((2, 2), (2, 2))
        assert Greeter().greet() == "go away"

    assert CORE.count(1) == 2
    assert Greeter().greet() == "hello"


def test_an_override_of_nothing_is_refused() -> None:
    with (
        pytest.raises(AttributeError, match="core has no function 'cuont'"),
        apply_overrides([replace_function(CORE, "cuont", _doubled)]),
    ):
        pass
