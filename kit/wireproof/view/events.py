"""A run as events: one JSON object a line, the verdict last."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from wireproof.view.output import write_lines
from wireproof.view.summary import Result
from wireproof_reports.causes import Cause
from wireproof_spec.record import CaseRecord, HeaderRecord

Event = Mapping[str, object]


def write_event(out: IO[str], event: Event) -> None:
    """Write one event as a line of JSON, and flush the stream."""
    write_lines(out, [json.dumps(event, ensure_ascii=True, separators=(",", ":"))])


def target_object(url: str, fingerprint: Mapping[str, str]) -> Mapping[str, str]:
    """Return a target's URL and the properties that the target reports, as a JSON object."""
    return {**fingerprint, "url": url}


def header_event(header: HeaderRecord, *, selected: int, bundle: Path | None) -> Event:
    """Return the JSON event for the start of a run: target, claims, readings, number of cases."""
    return {
        "event": "header",
        "kit": header.kit,
        "spec": header.spec,
        "seed": header.seed,
        "target": target_object(header.target.url, header.target.fingerprint),
        "claims": {name: claim.state for name, claim in header.claims.items()},
        "readings": {name: binding.reading for name, binding in header.readings.items()},
        "not_selected": header.not_selected,
        "selected": selected,
        "bundle": _text(bundle),
    }


def case_event(record: CaseRecord) -> Event:
    """Return the JSON event for one judged case; its exchange is only in the bundle."""
    return {
        "event": "case",
        "case": record.case,
        **judgement(record),
        "note": record.note,
        "duration_us": record.duration_us,
    }


def judgement(record: CaseRecord) -> Event:
    """Return the fields of a case that say how it was judged: verdict, clause, level and so on."""
    return {
        "clause": record.clause,
        "level": record.level,
        "origin": record.origin,
        "verdict": record.verdict,
        "observation": record.observation,
        "reason": record.reason,
        "reading": record.reading,
        "signature": record.signature,
    }


def verdict_event(result: Result) -> Event:
    """Return the JSON event for the end of a run, with its result and exit code."""
    footer = result.footer
    return {
        "event": "verdict",
        "exit": footer.exit,
        "statement": footer.statement,
        "verdicts": footer.verdicts,
        "groups": {
            group.group: {
                "judged": group.judged,
                "why": group.why,
                **group.counts,
                "origins": group.origins,
            }
            for group in footer.groups
        },
        "coverage": footer.coverage,
        "causes": [_cause(cause) for cause in result.causes()],
        "stale": footer.stale,
        "expired": footer.expired,
        "interrupted": footer.interrupted,
        "next": result.next_step(),
        "bundle": _text(result.bundle),
        "files": {name: str(path) for name, path in result.files.items()},
    }


def _cause(cause: Cause) -> Event:
    return {
        "id": cause.id,
        "clause": cause.clause,
        "level": cause.level,
        "origin": cause.origin,
        "field": cause.field,
        "observation": cause.value,
        "signature": cause.shown.signature,
        "cases": [case.case for case in cause.cases],
    }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
