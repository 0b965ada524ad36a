"""Faults of which attributes a message may have."""

from collections.abc import Callable, Mapping

from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.oms.core import sent
from wireproof_reference_impl.oms.core.refusal import BAD_REQUEST, Refusal
from wireproof_reference_impl.oms.faulty.ways import boundary, condition, missing
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document
from wireproof_spec.strict_json import JsonValue

Attributes = Mapping[str, JsonValue]


def _refuse(is_refused: Callable[[Attributes | None], bool]) -> Override:
    """Return an override that refuses some messages for the attributes that they have."""

    def check(original: Original, document: Document) -> None:
        original(document)
        found = document.extension_header
        if is_refused(found if isinstance(found, Mapping) else None):
            raise Refusal(BAD_REQUEST, "the extension header is incomplete")

    return around(sent, "check_rules", check)


@missing("extension-header.subset", _refuse)
def extension_header_required(attributes: Attributes | None) -> bool:
    """A message without an extension header is refused."""
    return attributes is None


@boundary("extension-header.subset", _refuse)
def extension_header_empty_refused(attributes: Attributes | None) -> bool:
    """A message with an empty extension header is refused."""
    return attributes is not None and not attributes


@condition("extension-header.subset", _refuse)
def trace_id_needs_correlation_id(attributes: Attributes | None) -> bool:
    """A message with a traceId is refused unless it has a correlationId as well."""
    return names.TRACE_ID in (attributes or {}) and names.CORRELATION_ID not in (attributes or {})


FAULTS = list_faults(__name__)
