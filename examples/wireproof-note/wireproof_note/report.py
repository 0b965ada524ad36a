"""What reports know of the protocol: the names of the parts of received frames."""

from collections.abc import Sequence

from wireproof_note.frame import FRAME
from wireproof_reports.exchange.annotation import Part
from wireproof_reports.exchange.protocol import ReportPart
from wireproof_spec.decoding import spans


def _parts(data: bytes, sent: Sequence[bytes]) -> tuple[Part, ...]:
    return tuple(Part(s.offset, s.length, s.field, s.value) for s in spans(FRAME, data))


REPORTS = ReportPart(parts=_parts)
