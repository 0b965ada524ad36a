"""Named settings of the behaviour table: dialects, faults and variants."""

from collections.abc import Mapping, Sequence

from wireproof_reference_impl import preset as preset_table
from wireproof_reference_impl.nsq import (
    faults_cluster,
    faults_codes,
    faults_consume,
    faults_content,
    faults_create,
    faults_disk,
    faults_dispatch,
    faults_history,
    faults_http,
    faults_http_trace,
    faults_lookup,
    faults_lookup_meta,
    faults_lookup_nodes,
    faults_order,
    faults_parser,
    faults_partition,
    faults_publish,
    faults_smart_trace,
    faults_stream,
    faults_subscribe,
    faults_trace,
    faults_upgrade,
    variants,
    variants_cluster,
    variants_lookup,
)
from wireproof_reference_impl.nsq.behaviour import (
    DEPLOYED_SETTINGS,
    Behaviour,
    Settings,
    changed,
)
from wireproof_reference_impl.nsq.options import DEPLOYED, PUBLISHED
from wireproof_reference_impl.nsq.preset import late_twin
from wireproof_reference_impl.preset import Preset, named

_DIALECTS: Mapping[str, Settings] = {PUBLISHED: {}, DEPLOYED: DEPLOYED_SETTINGS}


FAULTS: Mapping[str, Preset] = {
    each.name: each
    for family in (
        faults_trace,
        faults_publish,
        faults_codes,
        faults_consume,
        faults_content,
        faults_dispatch,
        faults_http,
        faults_http_trace,
        faults_parser,
        faults_stream,
        faults_subscribe,
        faults_disk,
        faults_upgrade,
        faults_history,
        faults_cluster,
        faults_lookup,
        faults_lookup_nodes,
        faults_lookup_meta,
        faults_create,
        faults_order,
        faults_smart_trace,
        faults_partition,
    )
    for preset in family.FAULTS
    for each in (preset, late_twin(preset))
    if each is not None
}
VARIANTS: Mapping[str, Preset] = {
    preset.name: preset
    for family in (variants, variants_lookup, variants_cluster)
    for preset in family.VARIANTS
}


def conflicts(preset: Preset) -> tuple[str, ...]:
    """Return the variants that one is never mixed with: declared, or set the same thing."""
    return preset_table.conflicts(preset, VARIANTS)


def build(dialect: str, *, fault_names: Sequence[str], variant_names: Sequence[str]) -> Behaviour:
    """Return the behaviour that a dialect, then faults and variants make.

    Raises:
        BadOption: a name that does not exist.
    """
    behaviour = changed(Behaviour(), _DIALECTS[dialect])
    for name in fault_names:
        behaviour = changed(behaviour, named(FAULTS, "fault", name).settings)
    for name in variant_names:
        behaviour = changed(behaviour, named(VARIANTS, "variant", name).settings)
    return behaviour


def listed(preset: Preset) -> str:
    """Return a preset as a line; see `preset.listed`."""
    return preset_table.listed(preset, VARIANTS)
