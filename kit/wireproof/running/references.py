"""Which references ``--reference`` means: that of each protocol selected, one after another."""

from collections.abc import Sequence
from dataclasses import replace

from wireproof.options.target_choice import REFERENCE, NamedTarget
from wireproof.running.request import RunParameters, collect_narrowed
from wireproof_kit.protocols import (
    known_protocols,
    list_with_reference,
    protocol_of,
    refuse_without_reference,
)
from wireproof_spec.clauses.catalogue import is_below
from wireproof_spec.clauses.loading import load_catalogue

Request = tuple[NamedTarget, RunParameters]


def requests(named: NamedTarget, options: RunParameters) -> list[Request]:
    """Return the run requests: one for the target, or one for the reference of each protocol.

    With a reference, the name of a protocol beside ids of its cases or clauses only chooses the
    reference: in ``--reference nsq ext.publish`` it reads like the value of an option.
    An id that no protocol knows goes to the first protocol, whose run rejects it.
    """
    if named.url != REFERENCE:
        return [(named, options)]
    first, *others = _select_protocols(named.prefixes, options)
    return [
        _request(named, options, first, strange=True),
        *(_request(named, options, protocol, strange=False) for protocol in others),
    ]


def _request(
    named: NamedTarget, options: RunParameters, protocol: str, *, strange: bool
) -> Request:
    def own(ids: Sequence[str]) -> tuple[str, ...]:
        owners = {each: _owners(each) for each in ids}
        return tuple(
            each for each in ids if protocol in owners[each] or (strange and not owners[each])
        )

    part = options.copy()
    part["exclude"] = own(options["exclude"])
    chosen = own(named.prefixes)
    narrower = tuple(prefix for prefix in chosen if prefix != protocol)
    return replace(named, protocol=protocol, prefixes=narrower or chosen), part


def _select_protocols(prefixes: Sequence[str], options: RunParameters) -> list[str]:
    """Return the protocols of which something is selected; at least one.

    Raises:
        UsageFault: something is selected of a protocol without a reference alone.
    """
    for prefix in prefixes:
        owners = [protocol for protocol in known_protocols() if _owns(protocol, prefix)]
        if owners and not any(owner in list_with_reference() for owner in owners):
            refuse_without_reference(owners[0])
    named = {protocol for prefix in prefixes for protocol in _owners(prefix)}
    found = [each for each in list_with_reference() if each in named] or list(
        list_with_reference()
    )
    found = [each for each in found if each not in options["exclude"]] or found
    if len(found) > 1 and (options["expression"] or options["last_failed"]):
        kept = {protocol_of(item.id) for item in collect_narrowed(options)}
        found = [each for each in found if each in kept] or found
    return found if named or not prefixes else found[:1]


def _owners(prefix: str) -> list[str]:
    """Return the protocols among whose cases and clauses a prefix may select."""
    return [each for each in list_with_reference() if _owns(each, prefix)]


def _owns(protocol: str, prefix: str) -> bool:
    clauses = load_catalogue(protocol).clauses()
    return is_below(prefix, protocol) or any(is_below(clause.id, prefix) for clause in clauses)
