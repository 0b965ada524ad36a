"""The calls in progress: what a function of a core is not given may be an argument around it."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar, cast

from wireproof_reference_impl.overrides import Original

T = TypeVar("T")

_AROUND: list[Sequence[object]] = []
"""The arguments of the calls in progress, the innermost last."""


def keep_call(original: Original, *arguments: object, **named: object) -> object:
    """Do what an overridden function does; meanwhile its arguments are those of a call around."""
    _AROUND.append(arguments)
    try:
        return original(*arguments, **named)
    finally:
        _AROUND.pop()


class Calls:
    """The arguments of a call and of the calls around it, the innermost first."""

    looked_into: ClassVar[tuple[type, ...]] = ()
    """The types of arguments whose first item is looked at, too."""

    def __init__(self, arguments: Sequence[object]) -> None:
        self._calls = (arguments, *reversed(_AROUND))

    def _first(self, kind: type[T]) -> T | None:
        for arguments in self._calls:
            for each in arguments:
                if isinstance(each, kind):
                    return each
                if type(each) in self.looked_into:
                    for inner in cast(Sequence[object], each)[:1]:
                        if isinstance(inner, kind):
                            return inner
        return None
