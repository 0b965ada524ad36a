"""The table of protocols: what a report knows of each, as dotted names imported when used."""

import importlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProtocolEntry:
    """Where a protocol's own knowledge lives; what is empty, a report does without.

    ``parts`` names the parts of received bytes. ``presumption`` says in which field an answer
    differs. ``plan`` makes an exchange fit for another run.
    ``http_behind`` is how far behind the target's own port its HTTP port usually is. ``vendor``
    tells from a target's fingerprint who made it.
    """

    parts: str = ""
    presumption: str = ""
    plan: str = ""
    http_behind: int | None = None
    vendor: str = ""


PROTOCOLS = {
    "nsq": ProtocolEntry(
        parts="wireproof_reports.nsq.received:received_parts",
        presumption="wireproof_reports.nsq.received:presumed_difference",
        plan="wireproof_reports.nsq.replayed:replayed",
        http_behind=1,
        vendor="wireproof_reports.nsq.vendor:vendor",
    ),
    "iggy": ProtocolEntry(
        parts="wireproof_reports.iggy.received:received_parts",
        presumption="wireproof_reports.iggy.received:presumed_difference",
    ),
}


NOTHING = ProtocolEntry()


def known(protocol: str, part: str) -> object | None:
    """Import one part of what is known of a protocol; None when it has none."""
    dotted: str = getattr(PROTOCOLS.get(protocol, NOTHING), part)
    module, _, name = dotted.partition(":")
    return getattr(importlib.import_module(module), name) if dotted else None
