"""Clause groups, clauses and cases as a report shows them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from wireproof_reports.bundle_file import Bundle
from wireproof_reports.causes import Cause
from wireproof_reports.exchange.evidence import Exchange, case_exchange, share_lines, talk
from wireproof_reports.exchange.repeating import repeat_command
from wireproof_reports.wording import VERDICT_WORDS, Word, repeated, shown_time
from wireproof_spec.clauses.catalogue import LEVELS, Catalogue, Clause, Group, is_below
from wireproof_spec.clauses.origin import PREMISES, by_origin
from wireproof_spec.clauses.spoken import spoken, spoken_patterns
from wireproof_spec.record import CONCLUSIVE, CaseRecord, GroupRecord

MOST_EXCHANGES = 2000
"""Cases; above it passing cases are listed without their exchange, so that a page stays light."""

_ORDER = ("judged", "part", "not judged", "not selected", "not tested")


@dataclass(frozen=True, slots=True)
class Score:
    """How many asserted cases of one level conform; ``origins``: the musts by origin."""

    level: str
    conforming: int
    asserted: int
    origins: str = ""


@dataclass(frozen=True, slots=True)
class CaseView:
    """A case as shown, with annotated bytes (``exchange``), plain lines (``talk``), or neither."""

    id: str
    anchor: str
    title: str
    level: str
    word: Word
    observation: str
    observed: str
    expected: tuple[str, ...]
    reason: str
    note: str
    repeats: str
    time: str
    hazard: bool
    command: str
    cause: str
    exchange: Exchange | None
    talk: str


@dataclass(frozen=True, slots=True)
class ClauseView:
    """A clause as shown; ``state`` is what this run shows about it, ``why`` the reason."""

    id: str
    anchor: str
    level: str
    core: bool
    law: str
    origin: str
    words: tuple[str, ...]
    source: str
    peers: str
    role: str
    needs: str
    since: int
    state: str
    why: str
    tally: tuple[tuple[Word, int], ...]
    cases: tuple[CaseView, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A clause group as shown, with its scores and clauses.

    ``state`` is judged, part, not judged, not selected or not tested.
    """

    id: str
    name: str
    anchor: str
    title: str
    state: str
    why: str
    scores: tuple[Score, ...]
    clauses: tuple[ClauseView, ...]


def group_views(
    bundle: Bundle, catalogue: Catalogue, causes: Iterable[Cause]
) -> tuple[GroupView, ...]:
    """Return the views of the clause groups of all documents that the run covers."""
    places = {case.case: cause.anchor for cause in causes for case in cause.cases}
    standing = {group.group: group for group in bundle.footer.groups}
    by_clause: dict[str, list[CaseRecord]] = {}
    for case in bundle.cases:
        by_clause.setdefault(case.clause, []).append(case)
    groups = [
        _group(bundle, group, standing.get(group.group), by_clause=by_clause, places=places)
        for group in catalogue.groups
        if group.group.partition(".")[0] in bundle.header.spec
    ]
    groups.sort(key=lambda group: _ORDER.index(group.state))
    strangers = [name for name in by_clause if catalogue.clause(name) is None]
    if strangers:
        groups.append(_strangers(bundle, strangers, by_clause=by_clause, places=places))
    return tuple(groups)


def case_view(bundle: Bundle, case: CaseRecord, *, cause: str = "", whole: bool) -> CaseView:
    """Return the view of a case; ``whole``: with annotated bytes instead of one line per step."""
    has_steps = bool(case.transcript.steps) and not cause
    is_large = len(bundle.cases) > MOST_EXCHANGES
    return CaseView(
        id=case.case,
        anchor=anchor("case", case.case),
        title=case.title,
        level=case.level,
        word=VERDICT_WORDS[case.verdict],
        observation=case.observation,
        observed=spoken(case.observation, case.case),
        expected=spoken_patterns(case.accepted, case.case),
        reason=case.reason,
        note=case.note,
        repeats=_repeats(case),
        time=shown_time(case.duration_us),
        hazard=case.hazard,
        command=repeat_command(case, bundle.header, bundle.name),
        cause=cause,
        exchange=case_exchange(
            case, bundle.header.target.protocol, share_lines(bundle.steps_of_troubles)
        )
        if whole and has_steps
        else None,
        talk="" if whole or cause or is_large else talk(case.transcript),
    )


def anchor(kind: str, name: str) -> str:
    """Return the HTML id for a name; it is stable and works for any name."""
    return f"{kind}-{quote(name.replace('~', '%7E'), safe='/')}".replace("%", "~")


def unknown_clause(clause_id: str) -> Clause:
    """Return a placeholder for a clause that this version's catalogue does not have."""
    return Clause(
        id=clause_id,
        level="observed",
        origin="deployed",
        role="",
        since=0,
        section="",
        law="This version of the catalogue does not hold this clause.",
        observed="",
        status="tested",
    )


def _group(
    bundle: Bundle,
    group: Group,
    standing: GroupRecord | None,
    *,
    by_clause: Mapping[str, Sequence[CaseRecord]],
    places: Mapping[str, str],
) -> GroupView:
    skipped = _not_selected(bundle, group.group)
    state, why = _group_state(group, standing, skipped)
    counts = standing.counts if standing else {}
    origins = by_origin(standing.origins, bundle.header.origins) if standing else ""
    scores = [
        Score(level, *counts[level], origins if level == "must" else "")
        for level in LEVELS
        if level in counts
    ]
    return GroupView(
        id=group.group,
        name=group.group,
        anchor=anchor("group", group.group),
        title=group.title,
        state=state,
        why=why,
        scores=tuple(score for score in scores if score.asserted),
        clauses=tuple(
            _clause(bundle, clause, by_clause.get(clause.id, ()), places=places, skipped=skipped)
            for clause in group.clause
        ),
    )


def _group_state(
    group: Group, standing: GroupRecord | None, skipped: str | None
) -> tuple[str, str]:
    if standing is not None and standing.judged:
        return "judged", ""
    if standing is not None and not standing.whole:
        return "part", "only some of its cases were selected"
    if standing is not None:
        return "not judged", standing.why or "its core clauses are undecided"
    if skipped is not None:
        return "not selected", skipped
    if all(clause.status != "tested" for clause in group.clause):
        return "not tested", next((clause.why for clause in group.clause if clause.why), "")
    return "not selected", "not part of this run's selection"


def _strangers(
    bundle: Bundle,
    names: Sequence[str],
    *,
    by_clause: Mapping[str, Sequence[CaseRecord]],
    places: Mapping[str, str],
) -> GroupView:
    clauses = [
        _clause(bundle, unknown_clause(name), by_clause[name], places=places, skipped=None)
        for name in names
    ]
    return GroupView(
        id="other",
        name="other",
        anchor="group-other",
        title="Clauses that this version's catalogue does not hold",
        state="part",
        why="the bundle was written under another catalogue",
        scores=(),
        clauses=tuple(clauses),
    )


def _clause(
    bundle: Bundle,
    clause: Clause,
    records: Sequence[CaseRecord],
    *,
    places: Mapping[str, str],
    skipped: str | None,
) -> ClauseView:
    state, why = _clause_state(clause, records, skipped)
    counts = Counter(record.verdict for record in records)
    return ClauseView(
        id=clause.id,
        anchor=anchor("clause", clause.id),
        level=clause.level,
        core=clause.core,
        law=clause.law,
        origin=clause.origin,
        words=clause.words,
        source=source(clause),
        peers=clause.observed,
        role=clause.role,
        needs=", ".join(clause.needs),
        since=clause.since,
        state=state,
        why=why,
        tally=tuple((word, counts[name]) for name, word in VERDICT_WORDS.items() if counts[name]),
        cases=tuple(
            case_view(
                bundle,
                record,
                cause=places.get(record.case, ""),
                whole=record.verdict not in ("pass", "reading"),
            )
            for record in records
        ),
    )


def source(clause: Clause) -> str:
    """Return where a clause comes from, as text: a document and section, or a premise."""
    if not clause.document:
        return ""
    if clause.premise is not None:
        return f"premise: {PREMISES[clause.premise]}"
    section = f", section “{clause.section}”" if clause.section else ""
    if clause.origin == "base":
        return f"base document {clause.document}{section}"
    text = f"published text {clause.document}{section}"
    if clause.origin == "text":
        return text
    where = "inferred" if clause.origin == "inference" else "seen on real peers"
    return f"{where}; the {text}, does not say it"


def _clause_state(
    clause: Clause, records: Sequence[CaseRecord], skipped: str | None
) -> tuple[str, str]:
    """Return the state of a clause in this run, and the reason if it is not asserted."""
    if any(record.verdict in CONCLUSIVE for record in records):
        return "asserted", ""
    if records and all(record.verdict == "unsupported" for record in records):
        return "unsupported", records[0].reason
    if records:
        return "touched", records[0].reason
    if clause.status != "tested":
        return clause.status, clause.why
    return "not run", skipped or "no case of it was selected"


def _not_selected(bundle: Bundle, group: str) -> str | None:
    for name, why in bundle.header.not_selected.items():
        if is_below(group, name) or is_below(name, group) or group.endswith(f".{name}"):
            return why
    return None


def _repeats(case: CaseRecord) -> str:
    """Return how many repeats had the same outcome; empty if the case ran once."""
    told = case.repeats
    return repeated(told) if told.runs > 1 or told.confirmed_by else ""
