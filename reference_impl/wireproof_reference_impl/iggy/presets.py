"""Named settings of the behaviour table: generations, dialects, faults and variants."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.faulty import (
    checksum,
    disk,
    frames,
    header_blocks,
    headers,
    http,
    json,
    message,
    offsets,
    parser,
    poll,
    requests,
    send,
    stored,
)
from wireproof_reference_impl.iggy.faulty.apache import admission as apache_admission
from wireproof_reference_impl.iggy.faulty.apache import combined as apache_combined
from wireproof_reference_impl.iggy.faulty.apache import corners as apache_corners
from wireproof_reference_impl.iggy.faulty.apache import frames as apache_frames
from wireproof_reference_impl.iggy.faulty.apache import groups as apache_groups
from wireproof_reference_impl.iggy.faulty.apache import headers as apache_headers
from wireproof_reference_impl.iggy.faulty.apache import logins as apache_logins
from wireproof_reference_impl.iggy.faulty.apache import over_http as apache_over_http
from wireproof_reference_impl.iggy.faulty.apache import oversights as apache_oversights
from wireproof_reference_impl.iggy.faulty.apache import parser as apache_parser
from wireproof_reference_impl.iggy.faulty.apache import polls as apache_polls
from wireproof_reference_impl.iggy.faulty.apache import stored as apache_stored
from wireproof_reference_impl.iggy.faulty.corners import RESTRICTED
from wireproof_reference_impl.iggy.faulty.effect import late_twin
from wireproof_reference_impl.iggy.generations import of_dialect
from wireproof_reference_impl.iggy.variants import apache as apache_variants
from wireproof_reference_impl.iggy.variants import forms, messages, storage
from wireproof_reference_impl.iggy.variants import http as http_variants
from wireproof_reference_impl.iggy.variants.alternatives import ALTERNATIVES
from wireproof_reference_impl.overrides import Override
from wireproof_reference_impl.preset import Preset, find_preset
from wireproof_reference_impl.settings import change_settings

EVERY_FAULT: tuple[Preset, ...] = tuple(
    each
    for family in (
        message,
        checksum,
        headers,
        header_blocks,
        json,
        poll,
        offsets,
        frames,
        requests,
        send,
        stored,
        http,
        disk,
        parser,
        apache_frames,
        apache_logins,
        apache_admission,
        apache_stored,
        apache_headers,
        apache_polls,
        apache_oversights,
        apache_corners,
        apache_combined,
        apache_over_http,
        apache_groups,
        apache_parser,
    )
    for preset in family.FAULTS
    for each in (preset, late_twin(preset))
    if each is not None
)
FAULTS: Mapping[str, Preset] = {each.name: each for each in EVERY_FAULT}

_LEGAL: tuple[Preset, ...] = (
    *messages.VARIANTS,
    *storage.VARIANTS,
    *http_variants.VARIANTS,
    *ALTERNATIVES,
    *forms.ALTERNATIVES,
)
_OTHERS = tuple(preset.name for preset in _LEGAL)
"""Those of the other generations: a server speaks one."""
VARIANTS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        *_LEGAL,
        *(replace(each, not_with=_OTHERS) for each in apache_variants.ALTERNATIVES),
    )
}


def build(
    generation: str, dialect: str, *, fault_names: Sequence[str], variant_names: Sequence[str]
) -> Behaviour:
    """Return the server's behaviour in a generation and dialect, with faults and variants.

    Raises:
        BadOption: a name that does not exist.
    """
    behaviour = of_dialect(generation, dialect)
    for name in fault_names:
        behaviour = change_settings(behaviour, _fault(name).settings)
    for name in variant_names:
        behaviour = change_settings(behaviour, find_preset(VARIANTS, "variant", name).settings)
    return behaviour


def overrides(
    fault_names: Sequence[str], variant_names: Sequence[str] = ()
) -> tuple[Override, ...]:
    """Return the overrides of variants and faults, in the order in which to apply them.

    Raises:
        BadOption: a name that does not exist.
    """
    presets = [find_preset(VARIANTS, "variant", name) for name in variant_names]
    presets += [_fault(name) for name in fault_names]
    return tuple(override for preset in presets for override in preset.overrides)


def _fault(name: str) -> Preset:
    """Return the fault with this name, which may be restricted to a corner: `NAME@CORNER`."""
    return RESTRICTED.find(name, lambda own: find_preset(FAULTS, "fault", own))
