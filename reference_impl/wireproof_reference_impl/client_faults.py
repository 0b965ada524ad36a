"""How a fault of an example client is written: a row with the overrides of its core."""

import os
from functools import partial
from types import ModuleType
from typing import NoReturn

from wireproof_reference_impl.overrides import Override, replace_function
from wireproof_reference_impl.preset import (
    BOUNDARY,
    CLAUSE,
    CONDITION,
    EXTRA,
    MISSING,
    PARSER,
    VARIANT,
    WRONG_VALUE,
    Preset,
)


class Rows:
    """Makes the faults of one protocol's example client; their clauses begin with `prefix`.

    A clause that begins with one of `whole` is named as it is.
    """

    def __init__(self, prefix: str, *whole: str) -> None:
        self._prefix, self._whole = prefix, whole
        self.missing = partial(self._fault, way=MISSING)
        self.boundary = partial(self._fault, way=BOUNDARY)
        self.wrong_value = partial(self._fault, way=WRONG_VALUE)
        self.extra = partial(self._fault, way=EXTRA)
        self.condition = partial(self._fault, way=CONDITION)

    def _fault(
        self, name: str, text: str, breaks: str, *overrides: Override, may: str = "", way: str
    ) -> Preset:
        """Return a fault; its clauses are words of one string."""
        broken = self._clauses(breaks)
        others = tuple(each for each in self._clauses(may) if each not in broken)
        return Preset(f"client-{name}", CLAUSE, text, {}, broken, others, way, overrides=overrides)

    def _clauses(self, words: str) -> tuple[str, ...]:
        return tuple(
            word if self._whole and word.startswith(self._whole) else f"{self._prefix}{word}"
            for word in words.split()
        )


def parser_fault(name: str, text: str, *overrides: Override) -> Preset:
    """Return a fault that broken frames and answers show, for the fuzzer to find."""
    return Preset(f"parser-client-{name}", PARSER, text, {}, overrides=overrides)


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
