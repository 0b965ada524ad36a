"""Faults of which attributes a message may have."""

from collections.abc import Callable, Mapping
from typing import cast

from wireproof_reference_impl.oms.core import sent
from wireproof_reference_impl.oms.core.refusal import BAD_REQUEST, Refusal
from wireproof_reference_impl.oms.faulty.effect import boundary, condition, missing
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document
from wireproof_spec.strict_json import JsonValue

SUBSET = "extension-header.subset"

Attributes = Mapping[str, JsonValue]


def _refuse(is_refused: Callable[[Attributes | None], bool]) -> Override:
    """Return an override that refuses some messages for the attributes that they have."""

    def check(original: Original, document: Document) -> None:
        original(document)
        found = document.extension_header
        if is_refused(cast(Attributes, found) if isinstance(found, Mapping) else None):
            raise Refusal(BAD_REQUEST, "the extension header is incomplete")

    return around(sent, "check_rules", check)


FAULTS: tuple[Preset, ...] = (
    missing(
        "extension-header-required",
        "a message without an extension header is refused",
        _refuse(lambda attributes: attributes is None),
        breaks=SUBSET,
    ),
    boundary(
        "extension-header-empty-refused",
        "a message with an empty extension header is refused",
        _refuse(lambda attributes: attributes is not None and not attributes),
        breaks=SUBSET,
    ),
    condition(
        "trace-id-needs-correlation-id",
        "a message with a traceId is refused unless it has a correlationId as well",
        _refuse(
            lambda attributes: (
                names.TRACE_ID in (attributes or {})
                and names.CORRELATION_ID not in (attributes or {})
            )
        ),
        breaks=SUBSET,
        may_break="round-trip.trace-id round-trip.unchanged round-trip.claimed",
    ),
)
