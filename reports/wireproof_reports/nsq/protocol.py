"""The report part of NSQ; functions import what they need when they are called."""

from collections.abc import Mapping, Sequence

from wireproof_reports.exchange.annotation import Part
from wireproof_reports.exchange.protocol import Plan, ReportPart
from wireproof_spec.record import DifferenceRecord

_MARKS = {"-HA.": "youzan nsqd", "-wireproof": "wireproof reference"}
"""What only this maker's versions have."""


_BEYOND_RECORD = (
    *("nsq/cluster/", "nsq/upgrade/", "nsq/history/moved", "nsq/disk/upgraded"),
    *("nsq/dispatch/upgraded", "nsq/lookup/extend-upgraded", "nsq/lookup/unwritable"),
)
"""Cases that upgrade a topic, move a leader, or break the cluster."""


def vendor(fingerprint: Mapping[str, str]) -> str:
    """Return the maker of a target from its version; ``nsqd`` if the version does not show it."""
    version = fingerprint.get("version", "")
    return next((name for mark, name in _MARKS.items() if mark in version), "nsqd")


def _parts(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    from wireproof_reports.nsq.received import received_parts

    return received_parts(data, sent)


def _presumption(observation: str, accepted: Sequence[str]) -> DifferenceRecord | None:
    from wireproof_reports.nsq.received import presumed_difference

    return presumed_difference(observation, accepted)


def _is_pushed(data: bytes) -> bool:
    from wireproof_reports.nsq.received import is_message

    return is_message(data)


def _plan(plan: Plan) -> Plan:
    from wireproof_reports.nsq.replayed import make_replayable

    return make_replayable(plan)


def _vendor(fingerprint: Mapping[str, str]) -> str:
    from wireproof_reports.nsq.protocol import vendor

    return vendor(fingerprint)


REPORTS = ReportPart(
    _parts,
    _presumption,
    _plan,
    http_behind=1,
    vendor=_vendor,
    beyond_record=_BEYOND_RECORD,
    addresses=frozenset({"http", "lookupd", "control"}),
    pushed=_is_pushed,
)
