"""Corners: a fault that is wrong in some circumstances only, and correct everywhere else.

Real bugs break a rule in one partition, over one path or for the second client. `Corners.make`
makes such a fault of any other fault. Each override and rule of it checks at each call whether the
circumstances are those of the corner. If they are not, or are unknown, the core does its work.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar, cast

from msgspec.structs import replace

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.context import Context
from wireproof_reference_impl.overrides import Original, Override
from wireproof_reference_impl.preset import Preset

SEPARATOR = "@"
BETWEEN = "+"
ENTERED = "corner-entered"
"""The file in the data directory that says that some call was in the corner."""

C = TypeVar("C", bound=Context)
V = TypeVar("V")
Holds = Callable[[C], bool | None]
"""Whether a corner is entered in some circumstances; None where the circumstances do not tell."""

_reported: list[Path] = []


class Corners(Generic[C]):
    """The corners of a protocol, by `dimension=value`: circumstances that may restrict a fault.

    `context` has the circumstances of a call, and `notes` are the overrides that keep it; an
    override that `is_note` accepts is never restricted to a corner. `behaviour` is the behaviour
    table of a reference without faults.
    """

    def __init__(
        self,
        known: Mapping[str, Holds[C]],
        context: C,
        *,
        behaviour: object,
        notes: Sequence[Override],
        is_note: Callable[[Override], bool],
    ) -> None:
        self.known = known
        self._context = context
        self._behaviour = behaviour
        self._notes = notes
        self._is_note = is_note

    def find(self, name: str, find_fault: Callable[[str], Preset]) -> Preset:
        """Return the fault named `NAME`, or restricted to a corner if the name is `NAME@CORNER`.

        Raises:
            BadOption: a fault or a corner that is not known.
        """
        own, at, corner = name.partition(SEPARATOR)
        preset = find_fault(own)
        return self._make(preset, corner) if at else preset

    def _make(self, preset: Preset, corner: str) -> Preset:
        """Return the fault that is wrong only where all of `dimension=value+…` holds."""
        words = corner.split(BETWEEN)
        for word in words:
            if word not in self.known:
                raise BadOption(f"no corner is called {word!r}; known are {', '.join(self.known)}")
        holds = [self.known[word] for word in words]
        changed = {
            name: self._apply_setting(name, setting, holds)
            for name, setting in preset.settings.items()
        }
        overrides = tuple(self._overridden(override, holds) for override in preset.overrides)
        name = f"{preset.name}{SEPARATOR}{corner}"
        return replace(preset, name=name, settings=changed, overrides=(*self._notes, *overrides))

    def _overridden(self, override: Override, holds: Sequence[Holds[C]]) -> Override:
        if self._is_note(override):
            return override

        def wrap(original: Original) -> Callable[..., object]:
            return self._choose(override.wrap(original), original, holds)

        return replace(override, wrap=wrap)

    def _apply_setting(self, name: str, wrong: object, holds: Sequence[Holds[C]]) -> object:
        """Return a setting of the behaviour table that is the given one in the corner only."""
        group, _, own = name.partition(".")
        right: object = getattr(getattr(self._behaviour, group), own)
        if callable(wrong) and callable(right):
            return self._choose(wrong, right, holds)
        if isinstance(right, Mapping):
            rules = cast(Mapping[object, Callable[..., object]], wrong)
            others = cast(Mapping[object, Callable[..., object]], right)
            return {key: self._choose(rules[key], others[key], holds) for key in rules}
        return wrong

    def _choose(
        self, wrong: Callable[..., object], right: Original, holds: Sequence[Holds[C]]
    ) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            with self._context.busy_with((*arguments, *named.values())):
                inside = all(hold(self._context) for hold in holds)
            if inside and _reported:
                _reported.pop().touch()
            return (wrong if inside else right)(*arguments, **named)

        return call


def where(of: Callable[[C], V | None], wanted: Callable[[V], bool]) -> Holds[C]:
    """Return a corner that is entered where a value of the circumstances is wanted."""

    def holds(now: C) -> bool | None:
        value = of(now)
        return None if value is None else wanted(value)

    return holds


def report_to(folder: Path | None) -> None:
    """Let a fault's first call inside its corner create an empty file in this folder."""
    _reported[:] = [] if folder is None else [folder / ENTERED]
