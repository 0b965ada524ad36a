"""How values are made and taken apart: as instances of their dataclass, or as plain tuples.

The constructor of a frozen dataclass stores each field by a call. Generated code fills the slots
of a twin class instead, which has the same slots and is not frozen, and then gives it its class.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TypeAlias

from wireproof_spec.codec.source import Source

Maker: TypeAlias = Callable[[Source, str, type, Sequence[str]], str]
"""Takes a variable, a value type and the source of its fields; returns statements."""

Taker: TypeAlias = Callable[[Source, str, type], tuple[str, str]]
"""Takes a variable and a value type; returns the test that it is none, and a field's pattern."""


def make_object(code: Source, variable: str, value_type: type, values: Sequence[str]) -> str:
    """Return statements that make an instance of a dataclass."""
    made = code.constant(value_type, "class")
    if not values or not _has_twin(value_type):
        return f"{variable} = {made}({', '.join(values)})"
    twin = code.constant(_twin(value_type), "twin")
    names = [member.name for member in fields(value_type)]
    stores = [f"{variable}.{name} = {value}" for name, value in zip(names, values, strict=True)]
    return "\n".join([f"{variable} = {twin}()", *stores, f"{variable}.__class__ = {made}"])


def make_tuple(code: Source, variable: str, value_type: type, values: Sequence[str]) -> str:
    """Return a statement that makes a tuple of the fields in their order."""
    return f"{variable} = ({''.join(f'{value}, ' for value in values)})"


def take_object(code: Source, variable: str, value_type: type) -> tuple[str, str]:
    """Return how an instance of a dataclass is tested and asked for a field."""
    return (
        f"{variable}.__class__ is not {code.constant(value_type, 'class')}",
        f"{variable}.{{name}}",
    )


def take_tuple(code: Source, variable: str, value_type: type) -> tuple[str, str]:
    """Return how a tuple of the fields is tested and asked for one."""
    size = len(fields(value_type))
    return (
        f"{variable}.__class__ is not tuple or len({variable}) != {size}",
        f"{variable}[{{index}}]",
    )


@functools.cache
def _twin(value_type: type) -> type:
    names = tuple(member.name for member in fields(value_type))
    return type(f"_{value_type.__name__}", (), {"__slots__": names})


def _has_twin(value_type: type) -> bool:
    if hasattr(value_type, "__post_init__") or value_type.__bases__ != (object,):
        return False
    try:
        _twin(value_type)().__class__ = value_type
    except TypeError:
        return False
    return True
