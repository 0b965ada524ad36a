"""How a fault of the example client is written: a row with the overrides of its core."""

import os
from functools import partial
from types import ModuleType
from typing import NoReturn

from wireproof_reference_impl.overrides import Override, around, replace_function
from wireproof_reference_impl.preset import (
    BOUNDARY,
    CLAUSE,
    CONDITION,
    EXTRA,
    MISSING,
    WRONG_VALUE,
    Preset,
)

__all__ = ["around", "boundary", "condition", "constant", "die", "extra", "missing", "wrong_value"]

_DOCUMENTS = ("ext.", "smart.")


def fault(
    name: str, text: str, breaks: str, *overrides: Override, may: str = "", way: str
) -> Preset:
    """Return a fault; clauses are words of one string, those of document 004 without `smart.`."""
    broken = _clauses(breaks)
    others = tuple(each for each in _clauses(may) if each not in broken)
    return Preset(f"client-{name}", CLAUSE, text, {}, broken, others, way, overrides=overrides)


missing = partial(fault, way=MISSING)
boundary = partial(fault, way=BOUNDARY)
wrong_value = partial(fault, way=WRONG_VALUE)
extra = partial(fault, way=EXTRA)
condition = partial(fault, way=CONDITION)


def constant(owner: ModuleType | type, name: str, value: object) -> Override:
    """Return an override after which a function always returns this value."""

    def call(*args: object, **named: object) -> object:
        return value

    return replace_function(owner, name, call)


def die() -> NoReturn:
    """End the process as an unhandled error would."""
    os._exit(2)


def _clauses(words: str) -> tuple[str, ...]:
    return tuple(
        word if word.startswith(_DOCUMENTS) else f"smart.{word}" for word in words.split()
    )
