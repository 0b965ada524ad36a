"""Values of a behaviour table by name: what dialects, faults and variants are made of."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")

Settings = Mapping[str, object]
"""Values by dotted name of a field, such as `publish.id_step`."""


def changed(behaviour: T, settings: Settings) -> T:
    """Return a behaviour with other values.

    Raises:
        KeyError: a name that is no field.
    """
    for name, value in settings.items():
        group, _, own = name.partition(".")
        if own:
            value = _with(getattr(behaviour, group), own, value)
        behaviour = _with(behaviour, group, value)
    return behaviour


def _with(values: T, name: str, value: object) -> T:
    if name not in {each.name for each in fields(values)}:
        raise KeyError(name)
    return replace(values, **{name: value})
