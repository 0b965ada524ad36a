"""Settings: values of a behaviour table by name, as dialects, faults and variants set them."""

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

T = TypeVar("T", bound=Struct)

Settings = Mapping[str, object]
"""Values by dotted name of a field, such as `publish.id_step`."""


def change_settings(behaviour: T, settings: Settings) -> T:
    """Return a behaviour with these settings changed.

    Raises:
        KeyError: a setting does not exist.
    """
    for name, value in settings.items():
        group, _, own = name.partition(".")
        if own:
            value = _with(getattr(behaviour, group), own, value)
        behaviour = _with(behaviour, group, value)
    return behaviour


def _with(values: T, name: str, value: object) -> T:
    if name not in values.__struct_fields__:
        raise KeyError(name)
    return replace(values, **{name: value})
