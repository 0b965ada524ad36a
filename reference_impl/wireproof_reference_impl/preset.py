"""A named set of settings of a behaviour table: a fault or a variant."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from textwrap import wrap

from msgspec import Struct

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.settings import Settings

CLAUSE = "clause"
PARSER = "parser"
VARIANT = "variant"
ALTERNATIVE = "alternative"

MISSING = "missing"
BOUNDARY = "boundary"
WRONG_VALUE = "wrong-value"
EXTRA = "extra"
CONDITION = "condition"
LATE = "late"
WAYS = (MISSING, BOUNDARY, WRONG_VALUE, EXTRA, CONDITION, LATE)
"""In what way a fault is wrong: what is due is not done, is not done at a limit, is done with
something else in its place; something comes on top; it is wrong only in some company; too late."""


class Effect(Struct, frozen=True):
    """What a fault changes: settings, overrides of the core, and the same for its late twin."""

    settings: Settings = {}
    overrides: tuple[Override, ...] = ()
    late: "Effect | None" = None

    def followed_by(self, overrides: tuple[Override, ...]) -> "Effect":
        """Return the effect with these overrides applied last, also in its late twin."""
        late = None if self.late is None else self.late.followed_by(overrides)
        return Effect(self.settings, (*self.overrides, *overrides), late)


class Preset(Struct, frozen=True):
    """One fault, variant or alternative: name, text, the clauses it concerns, and what it changes.

    A dialect, a variant and some faults change `settings` of the behaviour table; what only a
    fault does is an override of the core, in `overrides`.

    A fault of the kind `parser` is for fuzzing to find: malformed or unusual bytes show it. Any
    other fault breaks every clause of `breaks`. What else it may turn red stands in the lock file
    beside the faults; if anything more turns red, the judge is wrong. `way` is one of `WAYS`;
    `late` is what its twin changes, which is wrong 3 s late. A variant is legal and breaks
    nothing; it is never combined with those in `not_with`. An alternative is a variant that takes
    another way where the texts leave a choice: it may lack the capabilities in `lacks`, but it
    breaks no must clause. One that lacks some is not combined with others: it would hide their
    cases.
    """

    name: str
    kind: str
    text: str
    settings: Settings
    breaks: tuple[str, ...] = ()
    way: str = ""
    not_with: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    late: Effect | None = None


def variant(name: str, text: str, settings: Settings, *, not_with: str = "") -> Preset:
    """Return a legal variant; `not_with` names, in one string, what it cannot be combined with."""
    return Preset(name, VARIANT, text, settings, not_with=tuple(not_with.split()))


def alternative(
    name: str,
    text: str,
    settings: Settings | None = None,
    *,
    overrides: Sequence[Override] = (),
    not_with: str = "",
    lacks: str = "",
) -> Preset:
    """Return the preset of a permitted alternative.

    `not_with` has the names of the presets that it cannot run together with, with blanks between.
    """
    return Preset(
        name,
        ALTERNATIVE,
        text,
        settings or {},
        not_with=tuple(not_with.split()),
        lacks=tuple(lacks.split()),
        overrides=tuple(overrides),
    )


def conflicts(preset: Preset, variants: Mapping[str, Preset]) -> tuple[str, ...]:
    """Return the names of variants that cannot be combined with a preset.

    They are declared, or have the same setting with another value.
    """
    return tuple(
        other.name
        for other in variants.values()
        if other.name != preset.name
        and (
            other.name in preset.not_with
            or preset.name in other.not_with
            or any(
                other.settings[name] != value
                for name, value in preset.settings.items()
                if name in other.settings
            )
        )
    )


def format_preset(
    preset: Preset, variants: Mapping[str, Preset], may_break: Sequence[str] = ()
) -> str:
    """Return a preset as a line: name, kind, clauses, text and, separated by tabs, one more field.

    `?` marks a clause that may break. In place of clauses, an alternative has the capabilities
    that it lacks. The last field is a fault's way of being wrong, or the variants that a variant
    cannot be combined with.
    """
    doubtful = (f"{each}?" for each in may_break)
    clauses = ",".join([*preset.breaks, *doubtful, *preset.lacks])
    legal = preset.kind in (VARIANT, ALTERNATIVE)
    last = ",".join(conflicts(preset, variants)) if legal else preset.way
    return "\t".join((preset.name, preset.kind, clauses, preset.text, last))


def describe_preset(
    preset: Preset, variants: Mapping[str, Preset], width: int, may_break: Sequence[str] = ()
) -> str:
    """Return a preset as a paragraph for a person: name and kind, then what it is and breaks."""
    legal = preset.kind in (VARIANT, ALTERNATIVE)
    facts = {
        "": (preset.text,),
        "breaks ": preset.breaks,
        "may break ": tuple(may_break),
        "lacks ": preset.lacks,
        "not with ": conflicts(preset, variants) if legal else (),
    }
    told = [f"{heading}{', '.join(facts[heading])}" for heading in facts if facts[heading]]
    way = f", {preset.way}" if preset.way else ""
    lines = [f"{preset.name} ({preset.kind}{way})"]
    for text in told:
        lines += wrap(
            text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
        )
    return "\n".join(lines)


def find_preset(presets: Mapping[str, Preset], kind: str, name: str) -> Preset:
    """Return the fault or variant with this name.

    Raises:
        BadOption: nothing has this name; the message has the most similar name.
    """
    if name not in presets:
        near = get_close_matches(name, presets, n=1, cutoff=0.6)  # 0.5: names that share letters
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise BadOption(f"no {kind} is called {name!r}{hint} (--list-{kind}s shows all)")
    return presets[name]
