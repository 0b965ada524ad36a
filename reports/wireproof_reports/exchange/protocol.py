"""What a report knows of a protocol beside its law; what is missing, a report does without."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wireproof_reports.exchange.annotation import Part
from wireproof_spec.protocol import Group, find_registered, part
from wireproof_spec.record import DifferenceRecord


@dataclass(frozen=True, slots=True)
class Act:
    """One thing the script does; bytes with a number in them are a sequence of pieces."""

    connection: str
    kind: str
    data: bytes | str | tuple[bytes | int, ...] = b""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the script does, which names may be replaced, what is sent before.

    ``reader`` is the template of what reads answers: `receive`, and `message_id` of what it gave.
    """

    acts: tuple[Act, ...]
    names: tuple[bytes, ...] = ()
    create: tuple[bytes, ...] = ()
    reader: str = "reader.py.jinja"


Planner = Callable[[Plan], Plan]
"""Makes a plan fit for another run."""

Namer = Callable[[bytes, Sequence[bytes]], tuple[Part, ...]]
"""Names the parts of received bytes; takes them, and all that was sent before them."""

Presumption = Callable[[str, Sequence[str]], DifferenceRecord | None]
"""Says in which field an answer differs; takes the observation and what is accepted."""


@dataclass(frozen=True, slots=True)
class ReportPart:
    """What a protocol gives to reports, all of it optional.

    ``parts`` names the parts of received bytes. ``presumption`` says in which field an answer
    differs. ``plan`` makes an exchange fit for another run.
    ``http_behind`` is how far behind the target's own port its HTTP port usually is. ``vendor``
    tells from a target's fingerprint who made it.
    """

    parts: Namer | None = None
    presumption: Presumption | None = None
    plan: Planner | None = None
    http_behind: int | None = None
    vendor: Callable[[Mapping[str, str]], str] | None = None


def report_part(protocol: str) -> ReportPart:
    """Return what reports know of a protocol; nothing if no package says anything."""
    if protocol not in find_registered(Group.REPORTS):
        return ReportPart()
    return part(Group.REPORTS, protocol, ReportPart)
