"""The events of ``wireproof fuzz --json``, see `wireproof.view.events`."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from wireproof_spec.deviation_record import DeviationRecord
from wireproof_spec.fuzz_record import FindingRecord


class CampaignEvent(msgspec.Struct, frozen=True, tag_field="event", tag="header"):
    """The start of a campaign; ``first`` is the number of its first batch of cases."""

    target: str
    seed: int
    first: int
    bundle: str


class TargetEvent(msgspec.Struct, frozen=True, tag_field="event", tag="target"):
    """What the target reports of itself, such as its version."""

    fingerprint: dict[str, str]


class ProgressEvent(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """The progress of a campaign, about once a second.

    ``rows`` counts what was covered of the grammar. ``unwatched_s`` is the time from which the
    target's process is no longer observed.
    """

    executed: int
    findings: int
    rows: int
    unwatched_s: float | None


class FindingEvent(msgspec.Struct, frozen=True, tag_field="event", tag="finding", kw_only=True):
    """A finding, see `FindingRecord`; its cases and their exchange are only in the bundle.

    ``mutation`` says what is wrong in the last case. ``left_out`` says which files of the
    finding were not written, and why.
    """

    id: str
    violated: str
    words: str
    state: str
    frame: str
    field: str
    answer: str
    seed: int
    shown: int
    runs: int
    seen: int
    at_s: float
    names: dict[str, str]
    deviation: DeviationRecord | None
    unconfirmed: str
    log: str
    mutation: str
    left_out: tuple[str, ...]


class CampaignVerdictEvent(
    msgspec.Struct, frozen=True, tag_field="event", tag="verdict", kw_only=True
):
    """The end of a campaign: exit code, findings by id, and the figures of `CampaignRecord`."""

    exit: int
    statement: str
    verdicts: dict[str, int]
    coverage: dict[str, int]
    failures: tuple[str, ...]
    findings: tuple[str, ...]
    bundle: str
    seed: int
    seconds: float
    executed: int
    in_frame: int
    in_frame_s: float
    reconnecting: int
    reconnecting_s: float
    skipped: int
    left_out: int
    not_again: int
    hunting_s: float
    next_batch: int
    workers: int
    unwatched_s: float | None
    deaths: tuple[float, ...]
    repeated_deaths: int
    spared: int
    gaps: tuple[str, ...]
    unjudged: dict[str, dict[str, dict[str, int]]]


FuzzEvent: TypeAlias = (
    CampaignEvent | TargetEvent | ProgressEvent | FindingEvent | CampaignVerdictEvent
)


def finding_event(finding: FindingRecord, left_out: Sequence[str]) -> FindingEvent:
    """Return the event of a finding."""
    own = {
        name: getattr(finding, name)
        for name in FindingEvent.__struct_fields__
        if name not in ("mutation", "left_out")
    }
    mutation = finding.cases[-1].mutation if finding.cases else ""
    return FindingEvent(**own, mutation=mutation, left_out=tuple(left_out))
