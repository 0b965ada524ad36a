"""How generated code creates values and takes them apart: as instances or as plain tuples."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from wireproof_spec.codec.source import Source

Maker: TypeAlias = Callable[[Source, str, type[Struct], Sequence[str]], str]
"""Takes a variable, a value type and the source of its fields; returns statements."""

Taker: TypeAlias = Callable[[Source, str, type[Struct]], tuple[str, str]]
"""Takes a variable and a value type; returns the test that it is none, and a field's pattern."""


def make_object(
    code: Source, variable: str, value_type: type[Struct], values: Sequence[str]
) -> str:
    """Write a statement that creates an instance of the type."""
    return f"{variable} = {code.constant(value_type, 'class')}({', '.join(values)})"


def make_tuple(
    code: Source, variable: str, value_type: type[Struct], values: Sequence[str]
) -> str:
    """Write a statement that creates a tuple of the fields in their order."""
    return f"{variable} = ({''.join(f'{value}, ' for value in values)})"


def take_object(code: Source, variable: str, value_type: type[Struct]) -> tuple[str, str]:
    """Return the source of a type test, and a pattern for the source of a field."""
    return (
        f"{variable}.__class__ is not {code.constant(value_type, 'class')}",
        f"{variable}.{{name}}",
    )


def take_tuple(code: Source, variable: str, value_type: type[Struct]) -> tuple[str, str]:
    """Return the source of a tuple test, and a pattern for the source of an element."""
    size = len(value_type.__struct_fields__)
    return (
        f"{variable}.__class__ is not tuple or len({variable}) != {size}",
        f"{variable}[{{index}}]",
    )
