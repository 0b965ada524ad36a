"""Named settings of the behaviour table: generations, dialects, faults and variants."""

from collections.abc import Mapping, Sequence

from wireproof_reference_impl.iggy import (
    faults_checksum,
    faults_disk,
    faults_frames,
    faults_headers,
    faults_http,
    faults_json,
    faults_message,
    faults_offsets,
    faults_parser,
    faults_poll,
    faults_send,
    variants,
    variants_http,
    variants_messages,
)
from wireproof_reference_impl.iggy.behaviour import Behaviour, of_dialect
from wireproof_reference_impl.iggy.preset import late_twin
from wireproof_reference_impl.preset import Preset, named
from wireproof_reference_impl.settings import changed

FAULTS: Mapping[str, Preset] = {
    each.name: each
    for family in (
        faults_message,
        faults_checksum,
        faults_headers,
        faults_json,
        faults_poll,
        faults_offsets,
        faults_frames,
        faults_send,
        faults_http,
        faults_disk,
        faults_parser,
    )
    for preset in family.FAULTS
    for each in (preset, late_twin(preset))
    if each is not None
}
VARIANTS: Mapping[str, Preset] = {
    preset.name: preset
    for family in (variants, variants_messages, variants_http)
    for preset in family.VARIANTS
}


def build(
    generation: str, dialect: str, *, fault_names: Sequence[str], variant_names: Sequence[str]
) -> Behaviour:
    """Return the behaviour that a generation, a dialect, then faults and variants make.

    Raises:
        BadOption: a name that does not exist.
    """
    behaviour = of_dialect(generation, dialect)
    for name in fault_names:
        behaviour = changed(behaviour, named(FAULTS, "fault", name).settings)
    for name in variant_names:
        behaviour = changed(behaviour, named(VARIANTS, "variant", name).settings)
    return behaviour
