"""Overrides: how a fault changes a broker from outside its core.

A fault replaces functions and methods of the core, which has no hook for it. An override affects
the whole process: a faulty broker is a process of its own, and a test undoes its overrides with
`apply_overrides`.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import ModuleType

from msgspec import Struct

Original = Callable[..., object]
"""What a function is called with first that stands in the place of another: that other one."""


class Override(Struct, frozen=True):
    """A replacement of a function or method, by which a fault changes the correct code.

    `wrap` gets the original and returns the replacement, which may call the original. The core
    must look the function up at each call (`delivery.head(...)` after `from … import delivery`, or
    a method), else the override has no effect.
    """

    owner: ModuleType | type
    name: str
    wrap: Callable[..., Callable[..., object]]


def replace_function(
    owner: ModuleType | type, name: str, value: Callable[..., object]
) -> Override:
    """Return an override that replaces a function by `value`."""

    def wrap(original: Callable[..., object]) -> Callable[..., object]:
        return value

    return Override(owner, name, wrap)


def around(owner: ModuleType | type, name: str, value: Callable[..., object]) -> Override:
    """Return an override that replaces a function by `value`, which gets the original first."""

    def wrap(original: Original) -> Callable[..., object]:
        def call(*args: object, **named: object) -> object:
            return value(original, *args, **named)

        return call

    return Override(owner, name, wrap)


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
