"""How a fault is written: as one decorated function.

    @missing("client.lookup-retry", around(Lookups, "_note_failure"))
    def no_lookup_after_failure(original: Original, self: Lookups, address: str) -> None:
        \"\"\"Lookups end when one fails.\"\"\"
        original(self, address)
        self.stop()

The decorator says in which way the fault is wrong, which clauses it breaks, and through which
*seam* the function changes the correct code. The fault's name is that of the function with
hyphens, its text is the docstring. Without a seam, the function takes no argument and returns
what the fault changes.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar, overload

from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import (
    BOUNDARY,
    CLAUSE,
    CONDITION,
    EXTRA,
    LATE,
    MISSING,
    PARSER,
    WRONG_VALUE,
    Effect,
    Preset,
)
from wireproof_reference_impl.settings import Settings

F = TypeVar("F", bound=Callable[..., object])
Change = Effect | Settings | Override | Sequence[Override]
"""What a fault changes, in the form that is shortest to write."""
Wrong = Callable[..., object]
"""The function of a fault."""


class Faults:
    """The decorators for the faults of one server or client.

    Its clauses begin with `prefix`; one that begins with a word of `whole` is named as it is.
    `names` is what the names of faults begin with. `late_settings` returns the settings of the
    late twin of a fault that consists of settings, or None. `always` are overrides that each of
    the faults has.
    """

    def __init__(
        self,
        prefix: str,
        *whole: str,
        names: str = "",
        late_settings: Callable[[Settings], Settings | None] = lambda _: None,
        always: Sequence[Override] = (),
    ) -> None:
        self._always = tuple(always)
        self._prefix, self._whole, self._names = prefix, whole, names
        self._late_settings = late_settings
        self.missing = Way(self, MISSING)
        self.boundary = Way(self, BOUNDARY)
        self.wrong_value = Way(self, WRONG_VALUE)
        self.extra = Way(self, EXTRA)
        self.condition = Way(self, CONDITION)
        self.late = Way(self, LATE)

    @property
    def parser_fault(self) -> "ParserFault":
        """The decorator of faults of a parser."""
        return ParserFault(self)

    def make(
        self, wrong: Wrong, change: Change, *, breaks: str, way: str, also: Sequence[Override]
    ) -> Preset:
        """Return the fault that a function describes; `breaks` has its clauses, with blanks.

        A fault of no way is one of a parser: it breaks no clause, but no parser may have it.
        """
        effect = self._effect(change).followed_by((*also, *self._always))
        return Preset(
            f"{'' if way else 'parser-'}{self._names}{name_of(wrong)}",
            CLAUSE if way else PARSER,
            " ".join((wrong.__doc__ or "").split()),
            effect.settings,
            tuple(dict.fromkeys(self._clause(word) for word in breaks.split())),
            way,
            overrides=effect.overrides,
            late=effect.late if way else None,
        )

    def _effect(self, change: Change) -> Effect:
        if isinstance(change, Effect):
            return change
        if isinstance(change, Override):
            return Effect({}, (change,))
        if not isinstance(change, Mapping):
            return Effect({}, tuple(change))
        late = self._late_settings(change)
        return Effect(change, (), None if late is None else Effect(late))

    def _clause(self, word: str) -> str:
        is_whole = self._whole and word.startswith(self._whole)
        return word if is_whole else f"{self._prefix}{word}"


class Way:
    """The decorator of faults that are wrong in one way, such as `missing`."""

    def __init__(self, faults: Faults, way: str) -> None:
        self._faults, self._way = faults, way

    @overload
    def __call__(
        self, breaks: str, /, *, also: Sequence[Override] = ()
    ) -> Callable[[Callable[[], Change]], Preset]: ...

    @overload
    def __call__(
        self, breaks: str, seam: Callable[[F], Change], /, *, also: Sequence[Override] = ()
    ) -> Callable[[F], Preset]: ...

    def __call__(
        self,
        breaks: str,
        seam: Callable[[F], Change] | None = None,
        /,
        *,
        also: Sequence[Override] = (),
    ) -> Callable[[Callable[[], Change]], Preset] | Callable[[F], Preset]:
        """Decorate a fault that breaks these clauses, with blanks between them.

        `also` are overrides that the fault needs besides, such as one that notes something.
        """
        make = partial(self._faults.make, breaks=breaks, way=self._way, also=also)
        return _called(make) if seam is None else _seamed(make, seam)


class ParserFault:
    """The decorator of faults of a parser."""

    def __init__(self, faults: Faults) -> None:
        self._make = partial(faults.make, breaks="", way="")

    @overload
    def __call__(
        self, /, *, also: Sequence[Override] = ()
    ) -> Callable[[Callable[[], Change]], Preset]: ...

    @overload
    def __call__(
        self, seam: Callable[[F], Change], /, *, also: Sequence[Override] = ()
    ) -> Callable[[F], Preset]: ...

    def __call__(
        self, seam: Callable[[F], Change] | None = None, /, *, also: Sequence[Override] = ()
    ) -> Callable[[Callable[[], Change]], Preset] | Callable[[F], Preset]:
        """Decorate a fault; `also` are overrides that it needs besides."""
        make = partial(self._make, also=also)
        return _called(make) if seam is None else _seamed(make, seam)


def _called(make: Callable[[Wrong, Change], Preset]) -> Callable[[Callable[[], Change]], Preset]:
    return lambda wrong: make(wrong, wrong())


def _seamed(
    make: Callable[[Wrong, Change], Preset], seam: Callable[[F], Change]
) -> Callable[[F], Preset]:
    return lambda wrong: make(wrong, seam(wrong))


def name_of(wrong: Wrong) -> str:
    """Return the name of the fault that a function is, without the prefix of its table."""
    return wrong.__name__.rstrip("_").replace("_", "-")


def setting(name: str) -> Callable[[Wrong], Settings]:
    """Return the seam at which the behaviour table calls a function."""
    return lambda wrong: {name: wrong}


def list_faults(module: str) -> tuple[Preset, ...]:
    """Return the faults that a module defines so far, in their order."""
    return tuple(var for var in vars(sys.modules[module]).values() if isinstance(var, Preset))
