"""The target of a bundle: its vendor, its version, and how versions are sorted."""

import re
from typing import Literal

from wireproof_reports.exchange.protocol import report_part
from wireproof_spec.protocol import protocols
from wireproof_spec.record import TargetRecord

Kind = Literal["broker", "client", "proxy", "adapter", "document"]
_VERSIONS = ("version", "generation")
_NUMBER = re.compile(r"0*(\d+)")
_EARLY = re.compile(r"[-.]?(alpha|beta|rc|pre|preview|dev|snapshot)(?![a-z])")
_BEFORE, _END = "!", '"'
"""Of two versions with the same beginning comes first: an early one, the version itself, a
longer one. These two stand before every letter and every sign that versions are written with."""


def vendor(target: TargetRecord, otherwise: str = "") -> str:
    """Return the vendor of a target as its protocol's report part finds it.

    The vendor of a client is the name that its driver gives: clients of one protocol have versions
    of their own. Where the fingerprint does not tell the vendor, return ``otherwise``; if that is
    empty, the name that the protocol gives to a target without a fingerprint, or the protocol
    itself.
    """
    tell = report_part(target.protocol).vendor
    unknown = tell({}) if tell is not None else target.protocol
    told = tell(target.fingerprint) if tell is not None else unknown
    if target.is_client():
        told = target.fingerprint.get("name", unknown)
    return otherwise if otherwise and told == unknown else told


def version(target: TargetRecord, otherwise: str = "") -> str:
    """Return the version that the target reports, or ``otherwise``."""
    said = target.fingerprint
    return next((said[name] for name in _VERSIONS if said.get(name)), otherwise)


def version_key(text: str) -> str:
    """Return a version as a text that sorts by version: numbers by value, pre-releases first."""
    marked = _EARLY.sub(lambda match: _BEFORE + match[1], text.lower())
    return _NUMBER.sub(lambda match: f"{len(match[1]):03d}{match[1]}", marked) + _END


def kind(target: TargetRecord) -> Kind:
    """Return what was judged; a system without a wire by its documents or an adapter."""
    if target.is_client():
        return "client"
    if target.is_traffic():
        return "proxy"
    scheme = target.parts().scheme
    if scheme.endswith("+file"):
        return "document"
    known = protocols().get(target.protocol)
    has_wire = known is None or known.wire
    return "broker" if has_wire and "+" not in scheme else "adapter"
