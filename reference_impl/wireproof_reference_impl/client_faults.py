"""What faults and variants of the example clients share."""

import os
from types import ModuleType
from typing import NoReturn

from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_reference_impl.preset import VARIANT, Preset


def client_variant(name: str, text: str, *overrides: Override) -> Preset:
    """Return a legal variant of an example client."""
    return Preset(f"client-{name}", VARIANT, text, {}, overrides=overrides)


def constant(owner: ModuleType | type, name: str, value: object) -> Override:
    """Return an override after which the function `name` of `owner` always returns this value."""

    def call(*args: object, **named: object) -> object:
        return value

    return replace_function(owner, name, call)


def die() -> NoReturn:
    """End the process at once with exit code 2, as an unhandled error would."""
    os._exit(2)
