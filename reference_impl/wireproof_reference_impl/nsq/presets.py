"""Named settings of the behaviour table: dialects, faults and variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from wireproof_reference_impl.nsq.behaviour import (
    DEPLOYED_SETTINGS,
    Behaviour,
    Settings,
    changed,
)
from wireproof_reference_impl.nsq.options import DEPLOYED, PUBLISHED, BadOption

_DIALECTS: Mapping[str, Settings] = {PUBLISHED: {}, DEPLOYED: DEPLOYED_SETTINGS}


@dataclass(frozen=True, slots=True)
class Preset:
    """One fault or variant: what it is, which clauses it touches, and its settings.

    A fault breaks every clause of `breaks` and may break those of `may_break`; a variant is
    legal and breaks none.
    """

    name: str
    kind: str
    text: str
    settings: Settings
    breaks: tuple[str, ...] = ()
    may_break: tuple[str, ...] = field(default=())

    @property
    def clauses(self) -> tuple[str, ...]:
        """Return the clauses the preset is about."""
        return self.breaks


FAULTS: Mapping[str, Preset] = {}
VARIANTS: Mapping[str, Preset] = {}


def build(dialect: str, *, faults: Sequence[str], variants: Sequence[str]) -> Behaviour:
    """Return the behaviour that a dialect, then faults and variants make.

    Raises:
        BadOption: a name that does not exist.
    """
    behaviour = changed(Behaviour(), _DIALECTS[dialect])
    for name in faults:
        behaviour = changed(behaviour, _named(FAULTS, "fault", name).settings)
    for name in variants:
        behaviour = changed(behaviour, _named(VARIANTS, "variant", name).settings)
    return behaviour


def _named(presets: Mapping[str, Preset], kind: str, name: str) -> Preset:
    if name not in presets:
        near = get_close_matches(name, presets, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise BadOption(f"no {kind} is called {name!r}{hint} (--list-{kind}s shows all)")
    return presets[name]
