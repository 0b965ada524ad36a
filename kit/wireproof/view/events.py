"""The events of ``--json``: one JSON object a line, the verdict last.

Their fields are part of the interface for programs: `wireproof schema` prints them. A field may be
added at any time; `EVENTS` is raised when one is removed or changes its meaning.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TypeAlias

import msgspec

from wireproof.view.output import write_lines
from wireproof.view.summary import Result
from wireproof_kit.verdicts.diff import Kind
from wireproof_reports.causes import Cause
from wireproof_spec.record import CaseRecord, ClaimState, HeaderRecord, Verdict

EVENTS = 1
"""The version of the events' format."""

JsonEvent: TypeAlias = Mapping[str, object] | msgspec.Struct


class HeaderEvent(msgspec.Struct, frozen=True, tag_field="event", tag="header"):
    """The start of a run: target, claims, readings, and how many cases are selected.

    ``target`` has the URL and the properties that the target reports.
    """

    kit: str
    spec: dict[str, int]
    seed: int
    target: dict[str, str]
    claims: dict[str, ClaimState]
    readings: dict[str, str | None]
    not_selected: dict[str, str]
    selected: int
    bundle: str | None


class Judged(msgspec.Struct, frozen=True):
    """How a case was judged. ``signature`` identifies a failure."""

    clause: str
    level: str
    origin: str
    verdict: Verdict
    observation: str
    reason: str
    reading: str | None
    signature: str | None


class CaseEvent(Judged, frozen=True, tag_field="event", tag="case", kw_only=True):
    """A judged case; its exchange is only in the bundle."""

    case: str
    note: str
    duration_us: int


class CauseEvent(msgspec.Struct, frozen=True):
    """A root cause; ``id`` is what an entry of a deviations file names as ``cause``."""

    id: str
    clause: str
    level: str
    origin: str
    field: str
    observation: str
    signature: str | None
    cases: list[str]


class GroupEvent(msgspec.Struct, frozen=True):
    """A clause group; ``counts`` maps a level, and ``origins`` an origin, to (passed, judged)."""

    judged: bool
    why: str
    counts: dict[str, tuple[int, int]]
    origins: dict[str, tuple[int, int]]


class VerdictEvent(msgspec.Struct, frozen=True, tag_field="event", tag="verdict", kw_only=True):
    """The end of a run. ``fault`` says why a run could not be done; then ``exit`` is 2."""

    exit: int
    statement: str = ""
    verdicts: dict[str, int] = {}
    groups: dict[str, GroupEvent] = {}
    coverage: dict[str, int] = {}
    causes: list[CauseEvent] = []
    stale: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    interrupted: bool = False
    next: str = ""
    left_behind: tuple[str, ...] = ()
    bundle: str | None = None
    files: dict[str, str] = {}
    fault: str = ""


RunEvent: TypeAlias = HeaderEvent | CaseEvent | VerdictEvent


class ComparedBundle(msgspec.Struct, frozen=True):
    """One of the two bundles that ``diff`` compares."""

    bundle: str
    target: dict[str, str]
    kit: str
    spec: dict[str, int]


class ComparedCase(Judged, frozen=True, kw_only=True):
    """A case in one of two bundles; ``hash`` is that of its code and clause."""

    hash: str


class ChangeEvent(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """A case that differs between two bundles; None stands for the bundle that lacks it."""

    case: str
    kind: Kind
    before: ComparedCase | None
    after: ComparedCase | None


class DiffEvent(msgspec.Struct, frozen=True, tag_field="event", tag="diff"):
    """The comparison of two bundles; ``differences`` are those of target, kit and law.

    ``interrupted`` names the runs, A and B, that lack cases since they were interrupted.
    """

    a: ComparedBundle
    b: ComparedBundle
    differences: dict[str, tuple[str, str]]
    compared: int
    interrupted: list[str]
    counts: dict[Kind, int]
    cases: list[ChangeEvent]
    exit: int


def write_event(out: IO[str], event: JsonEvent) -> None:
    """Write one event as a line of JSON, and flush the stream."""
    plain: object = msgspec.to_builtins(event)
    write_lines(out, [json.dumps(plain, ensure_ascii=True, separators=(",", ":"))])


def target_object(url: str, fingerprint: Mapping[str, str]) -> dict[str, str]:
    """Return a target's URL and the properties that the target reports, as a JSON object."""
    return {**fingerprint, "url": url}


def header_event(header: HeaderRecord, *, selected: int, bundle: Path | None) -> HeaderEvent:
    """Return the event for the start of a run."""
    return HeaderEvent(
        kit=header.kit,
        spec=header.spec,
        seed=header.seed,
        target=target_object(header.target.url, header.target.fingerprint),
        claims={name: claim.state for name, claim in header.claims.items()},
        readings={name: binding.reading for name, binding in header.readings.items()},
        not_selected=header.not_selected,
        selected=selected,
        bundle=_text(bundle),
    )


def case_event(record: CaseRecord) -> CaseEvent:
    """Return the event for one judged case."""
    return CaseEvent(
        *_judged(record), case=record.case, note=record.note, duration_us=record.duration_us
    )


def compared_case(record: CaseRecord) -> ComparedCase:
    """Return how a case was judged in one of two bundles."""
    return ComparedCase(*_judged(record), hash=record.case_hash)


def verdict_event(result: Result) -> VerdictEvent:
    """Return the event for the end of a run, with its result and exit code."""
    footer = result.footer
    return VerdictEvent(
        exit=footer.exit,
        statement=footer.statement,
        verdicts=footer.verdicts,
        groups={
            group.group: GroupEvent(group.judged, group.why, group.counts, group.origins)
            for group in footer.groups
        },
        coverage=footer.coverage,
        causes=[_cause(cause) for cause in result.causes()],
        stale=footer.stale,
        expired=footer.expired,
        interrupted=footer.interrupted,
        next=result.next_step(),
        left_behind=tuple(result.left_behind),
        bundle=_text(result.bundle),
        files={name: str(path) for name, path in result.files.items()},
    )


def _judged(record: CaseRecord) -> tuple[str, str, str, Verdict, str, str, str | None, str | None]:
    return (
        record.clause,
        record.level,
        record.origin,
        record.verdict,
        record.observation,
        record.reason,
        record.reading,
        record.signature,
    )


def _cause(cause: Cause) -> CauseEvent:
    return CauseEvent(
        id=cause.id,
        clause=cause.clause,
        level=cause.level,
        origin=cause.origin,
        field=cause.field,
        observation=cause.value,
        signature=cause.shown.signature,
        cases=[case.case for case in cause.cases],
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
