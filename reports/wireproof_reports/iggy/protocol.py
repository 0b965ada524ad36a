"""The report part of Iggy; functions import what they need when they are called."""

from collections.abc import Sequence

from wireproof_reports.exchange.annotation import Part
from wireproof_reports.exchange.protocol import Plan, ReportPart
from wireproof_spec.record import DifferenceRecord


def _parts(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    from wireproof_reports.iggy.received import received_parts

    return received_parts(data, sent)


def _presumption(observation: str, accepted: Sequence[str]) -> DifferenceRecord | None:
    from wireproof_reports.iggy.received import presumed_difference

    return presumed_difference(observation, accepted)


def _plan(plan: Plan) -> Plan:
    from wireproof_reports.iggy.replayed import make_replayable

    return make_replayable(plan)


REPORTS = ReportPart(
    _parts,
    _presumption,
    _plan,
    addresses=frozenset({"http", "control"}),
    beyond_record=("iggy/frame/login",),
)
