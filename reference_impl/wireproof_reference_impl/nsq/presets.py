"""Named settings of the behaviour table: dialects, faults and variants."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from wireproof_reference_impl.nsq import (
    faults_consume,
    faults_content,
    faults_disk,
    faults_dispatch,
    faults_http,
    faults_parser,
    faults_publish,
    faults_subscribe,
    faults_trace,
    variants,
)
from wireproof_reference_impl.nsq.behaviour import (
    DEPLOYED_SETTINGS,
    Behaviour,
    Settings,
    changed,
)
from wireproof_reference_impl.nsq.options import DEPLOYED, PUBLISHED, BadOption
from wireproof_reference_impl.nsq.preset import Preset

_DIALECTS: Mapping[str, Settings] = {PUBLISHED: {}, DEPLOYED: DEPLOYED_SETTINGS}


FAULTS: Mapping[str, Preset] = {
    preset.name: preset
    for family in (
        faults_trace,
        faults_publish,
        faults_consume,
        faults_content,
        faults_dispatch,
        faults_http,
        faults_parser,
        faults_subscribe,
        faults_disk,
    )
    for preset in family.FAULTS
}
VARIANTS: Mapping[str, Preset] = {preset.name: preset for preset in variants.VARIANTS}


def build(dialect: str, *, fault_names: Sequence[str], variant_names: Sequence[str]) -> Behaviour:
    """Return the behaviour that a dialect, then faults and variants make.

    Raises:
        BadOption: a name that does not exist.
    """
    behaviour = changed(Behaviour(), _DIALECTS[dialect])
    for name in fault_names:
        behaviour = changed(behaviour, _named(FAULTS, "fault", name).settings)
    for name in variant_names:
        behaviour = changed(behaviour, _named(VARIANTS, "variant", name).settings)
    return behaviour


def _named(presets: Mapping[str, Preset], kind: str, name: str) -> Preset:
    if name not in presets:
        near = get_close_matches(name, presets, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise BadOption(f"no {kind} is called {name!r}{hint} (--list-{kind}s shows all)")
    return presets[name]
