"""Overrides: how a fault changes a broker from outside its core.

A fault replaces functions and methods of the core, which has no hook for it. An override affects
the whole process: a faulty broker is a process of its own, and a test undoes its overrides with
`apply_overrides`.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, overload

from msgspec import Struct

Function = Callable[..., object]
Owner = ModuleType | type
"""The module of a function, or the class of a method."""
Original = Callable[..., Any]
"""The function that an override replaces; the replacement gets it as its first argument.

What it returns is written down where it is called: a type for each would say the core again."""


class Override(Struct, frozen=True):
    """A replacement of a function or method, by which a fault changes the correct code.

    `wrap` gets the original and returns the replacement, which may call the original. The core
    must look the function up at each call (`delivery.head(...)` after `from … import delivery`, or
    a method), else the override has no effect.
    """

    owner: Owner
    name: str
    wrap: Callable[..., Function]


@overload
def replace_function(owner: Owner, name: str) -> Callable[[Function], Override]: ...


@overload
def replace_function(owner: Owner, name: str, value: Function) -> Override: ...


def replace_function(
    owner: Owner, name: str, value: Function | None = None
) -> Override | Callable[[Function], Override]:
    """Return an override that replaces a function by `value`.

    Without a value, return the seam that makes this override of a value.
    """

    def override(value: Function) -> Override:
        def wrap(original: Original) -> Function:
            return value

        return Override(owner, name, wrap)

    return override if value is None else override(value)


@overload
def around(owner: Owner, name: str) -> Callable[[Function], Override]: ...


@overload
def around(owner: Owner, name: str, value: Function) -> Override: ...


def around(
    owner: Owner, name: str, value: Function | None = None
) -> Override | Callable[[Function], Override]:
    """Return an override that replaces a function by `value`, which gets the original first.

    Without a value, return the seam that makes this override of a value.
    """

    def override(value: Function) -> Override:
        def wrap(original: Original) -> Function:
            def call(*args: object, **named: object) -> object:
                return value(original, *args, **named)

            return call

        return Override(owner, name, wrap)

    return override if value is None else override(value)


def apply(overrides: Sequence[Override]) -> Callable[[], None]:
    """Apply overrides in order; return a function that undoes them.

    Raises:
        AttributeError: the owner has no function or method of this name.
    """
    originals: list[tuple[Override, Callable[..., object]]] = []
    for override in overrides:
        original = vars(override.owner).get(override.name)
        if not callable(original):
            raise AttributeError(f"{override.owner.__name__} has no function {override.name!r}")
        originals.append((override, original))
        setattr(override.owner, override.name, override.wrap(original))

    def take_back() -> None:
        for override, original in reversed(originals):
            setattr(override.owner, override.name, original)

    return take_back


@contextmanager
def apply_overrides(overrides: Sequence[Override]) -> Generator[None]:
    """Apply overrides for the duration of the context."""
    take_back = apply(overrides)
    try:
        yield
    finally:
        take_back()
