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
    """Return a statement that sets a variable to a new instance; `values` are source."""
    return f"{variable} = {code.constant(value_type, 'class')}({', '.join(values)})"


def make_tuple(
    code: Source, variable: str, value_type: type[Struct], values: Sequence[str]
) -> str:
    """Return a statement that sets a variable to a tuple of fields; `values` are source."""
    return f"{variable} = ({''.join(f'{value}, ' for value in values)})"


def take_object(code: Source, variable: str, value_type: type[Struct]) -> tuple[str, str]:
    """Return as source a test that a variable has another type, and a pattern for a field."""
    return (
        f"{variable}.__class__ is not {code.constant(value_type, 'class')}",
        f"{variable}.{{name}}",
    )


def take_tuple(code: Source, variable: str, value_type: type[Struct]) -> tuple[str, str]:
    """Return as source a test that a variable is no such tuple, and a pattern for an element."""
    size = len(value_type.__struct_fields__)
    return (
        f"{variable}.__class__ is not tuple or len({variable}) != {size}",
        f"{variable}[{{index}}]",
    )
