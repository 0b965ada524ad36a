"""By which command a recorded case is shown again."""

from functools import lru_cache
from typing import Literal
from urllib.parse import parse_qs

from wireproof_reports.exchange.protocol import report_part
from wireproof_spec.clauses.catalogue import is_way
from wireproof_spec.protocol import Group, find_registered
from wireproof_spec.record import CaseRecord, TargetRecord

Way = Literal["replay", "run", "hazardous", "client", "judge"]
"""``wireproof replay``; ``run``, or ``run --hazardous``; ``client``; or ``judge``."""

REFERENCE = "reference"
"""What stands in place of a URL when the embedded reference was judged."""
SENT = frozenset({"send", "request"})
"""Kinds of the steps that are sent to a target."""
_LOGINS = frozenset({"tls", "auth_env"})
"""Options whose files and secrets a bundle does not hold; a replay asks for them."""


def way_again(case: CaseRecord, target: TargetRecord) -> Way:
    """Return the command that shows a case of a target again without more than the bundle.

    ``wireproof replay`` refuses what it cannot send, so a case is run again where nothing was
    sent, or the case did more than its record holds, or the target has no single address, or is
    reached by what the bundle does not hold. Traffic of a proxy, and what a way of messages shows,
    is judged again as recorded.
    """
    if target.is_traffic() or is_way(case.case):
        return "judge"
    if target.is_client():
        return "client"
    if case.hazard:
        return "hazardous"
    sendable, beyond_record = _replayable(target.protocol, target.url, target.given)
    kinds = [step.kind for step in case.transcript.steps if step.kind in SENT]
    is_whole = sendable.issuperset(kinds) and not case.case.startswith(beyond_record)
    return "replay" if kinds and is_whole else "run"


@lru_cache(maxsize=16)  # asked for each case of a bundle
def _replayable(
    protocol: str, url: str, given: tuple[str, ...]
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the kinds of steps that a replay sends by a recorded URL, without further options.

    Beside them stand the beginnings of cases that no replay repeats.
    """
    part = report_part(protocol)
    if protocol not in find_registered(Group.REPLAYERS):
        return frozenset(), part.beyond_record
    if url == REFERENCE:
        return SENT, part.beyond_record
    parts = TargetRecord(url, protocol).parts()
    if not parts.hostname or _LOGINS.intersection(given):
        return frozenset(), part.beyond_record
    beside = part.addresses & set(given) - parse_qs(parts.query).keys()
    return SENT - {"request"} if beside else SENT, part.beyond_record
