"""The conclusion of a run: clause coverage, the statement by group, the exit code."""

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from wireproof_kit.verdicts.judge import (
    CONFORMING,
    JudgeContext,
    is_shown,
    missing_capability,
)
from wireproof_spec.clauses.catalogue import (
    LEVELS,
    Catalogue,
    Clause,
    Group,
    is_below,
    level_rank,
    matches,
)
from wireproof_spec.clauses.origin import ORIGINS, by_origin
from wireproof_spec.record import (
    CONCLUSIVE,
    CaseRecord,
    FooterRecord,
    GroupRecord,
    HeaderRecord,
    WayRecord,
    list_broken,
)

_DOUBTFUL = frozenset({"inconclusive", "unstable"})

EXCLUDED = "--exclude"
"""The reason in a bundle's header for a case that the user excluded: its group is then partial."""

EXIT_GOOD = 0
EXIT_FAILED = 1
EXIT_NOT_DONE = 2
EXIT_UNDECIDED = 3
# 128 plus SIGINT, as shells report it.
EXIT_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class RunFactors:
    """What the conclusion of a run depends on besides the verdicts and the bundle's header.

    ``stale`` and ``expired`` name entries of the deviations file.
    """

    stale: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    interrupted: bool = False
    allow_unstable: bool = False
    duration_us: int = 0


def conclude(
    header: HeaderRecord,
    records: Sequence[CaseRecord],
    catalogue: Catalogue,
    standing: RunFactors,
    ways: Sequence[WayRecord] = (),
) -> FooterRecord:
    """Return the conclusion of a run, or of a bundle that was judged again.

    A way that was kept makes no group judged; one that was broken counts as a failing case does.
    """
    groups = tuple(_groups(header, records, catalogue))
    code = exit_code(header, [*records, *list_broken(ways)], groups, standing)
    counted = Counter[str](way.result.verdict for way in ways if way.counted)
    return FooterRecord(
        verdicts=dict(Counter(record.verdict for record in records)),
        groups=groups,
        coverage=coverage(records, catalogue),
        exit=code,
        statement=statement(
            header,
            groups,
            code,
            above=describe_above(header, records),
            ways=_describe_ways(counted),
        ),
        stale=standing.stale,
        expired=standing.expired,
        interrupted=standing.interrupted,
        ways=dict(counted),
        duration_us=standing.duration_us,
    )


def _describe_ways(counted: Counter[str]) -> str:
    """Return how many ways were kept, of all that count; empty without any.

    Readers are told of rules: a rule is a clause on one way.
    """
    total = counted.total()
    return f"messages of all cases: {counted['pass']}/{total} rules kept" if total else ""


def exit_code(
    header: HeaderRecord,
    records: Sequence[CaseRecord],
    groups: Sequence[GroupRecord],
    standing: RunFactors,
) -> int:
    """Return the exit code: 0 good, 1 failed, 2 not done, 3 undecided, 130 interrupted."""
    if standing.interrupted:
        return EXIT_INTERRUPTED
    counted = [record for record in records if header.counts(record.level, record.origin)]
    verdicts = {record.verdict for record in counted}
    if "fail" in verdicts or standing.stale or standing.expired:
        return EXIT_FAILED
    if any(record.verdict == "error" for record in records):
        return EXIT_NOT_DONE
    if not verdicts & CONCLUSIVE:
        return EXIT_UNDECIDED if verdicts & _DOUBTFUL else EXIT_NOT_DONE
    return _unless_undecided(verdicts, groups, standing)


def _unless_undecided(
    verdicts: AbstractSet[str], groups: Sequence[GroupRecord], standing: RunFactors
) -> int:
    if any(group.whole and not group.judged and not group.why for group in groups):
        return EXIT_UNDECIDED
    if any(group.whole and not group.judged for group in groups):
        return EXIT_NOT_DONE
    if verdicts & _DOUBTFUL and not standing.allow_unstable:
        return EXIT_UNDECIDED
    return EXIT_GOOD


def coverage(records: Iterable[CaseRecord], catalogue: Catalogue) -> dict[str, int]:
    """Count the clauses that were asserted, run but inconclusive, not testable, and untested."""
    asserted, touched = set[str](), set[str]()
    for record in records:
        (asserted if record.verdict in CONCLUSIVE else touched).add(record.clause)
    clauses = list(catalogue.clauses())
    not_testable = {clause.id for clause in clauses if clause.status == "not testable"}
    known = {clause.id for clause in clauses}
    return {
        "clauses": len(clauses),
        "asserted": len(asserted),
        "touched": len(touched - asserted),
        "not_testable": len(not_testable),
        "untested": len(known - asserted - touched - not_testable),
    }


def statement(
    header: HeaderRecord,
    groups: Sequence[GroupRecord],
    code: int,
    *,
    above: str = "",
    ways: str = "",
) -> str:
    """Return the sentence about what a run showed, by group; it is never only `conformant`.

    ``above`` is the sentence that no counting case was run; it is added if that decides the exit
    code. ``ways`` says how many ways were kept.
    """
    said = [_describe_group(header, group) for group in groups]
    said += [ways] if ways else []
    if above and code == EXIT_NOT_DONE:
        said.append(above)
    for why, names in header.list_left_out().items():
        said.append(f"{', '.join(names)} not selected ({why})")
    if header.narrowed:
        said.append(f"narrowed by {', '.join(header.narrowed)}")
    ending = {EXIT_GOOD: "", EXIT_INTERRUPTED: "; interrupted"}.get(code, "")
    return "; ".join(said) + ending if said else "nothing was judged"


def describe_above(header: HeaderRecord, records: Sequence[CaseRecord]) -> str:
    """Return a note when no case that counts was judged: what was is above the level, or the like.

    ``header`` says which levels and origins count.
    """
    if any(record.verdict in CONCLUSIVE and _counts(header, record) for record in records):
        return ""
    was_run = any(_counts(header, record) for record in records)
    others = [record for record in records if not _counts(header, record)]
    if was_run:
        others = [record for record in others if record.verdict in CONCLUSIVE]
    if not others:
        return ""
    kinds = {(record.level, record.origin) for record in others}
    musts = sorted({origin for level, origin in kinds if level == "must"})
    last = max((level for level, _ in kinds), key=level_rank)
    option = f"--origin {','.join(musts)}" if musts else f"--profile {last}"
    done, those = ("judged", "others") if was_run else ("run", "these")
    return f"nothing up to {header.scope()} was {done}: {option} lets {those} count"


def _counts(header: HeaderRecord, record: CaseRecord) -> bool:
    return header.counts(record.level, record.origin)


def _describe_group(header: HeaderRecord, group: GroupRecord) -> str:
    name = group.group
    if group.whole and not group.judged:
        return f"{name} NOT JUDGED ({group.why or 'core cases undecided'})"
    levels = (_describe_level(header, group, level) for level in group.counts)
    counts = ", ".join(words for words in levels if words)
    part = "" if group.whole else " (part)"
    return f"{name}{part} {counts or 'nothing asserted'}"


def _describe_level(header: HeaderRecord, group: GroupRecord, level: str) -> str:
    """Return the number of conforming cases of a level, and of all in the law if some are missing.

    A target must not look better because some cases were not run.
    """
    conforming, asserted = group.counts[level]
    asked, unsupported = group.asked.get(level, asserted), group.unsupported.get(level, 0)
    if not asserted and not unsupported:
        return ""
    origins = by_origin(group.origins, header.origins) if level == "must" else ""
    if not asserted:
        return f"none of {asked} {level} judged ({unsupported} unsupported)"
    missing = f"{asserted} of {asked} judged, {unsupported} unsupported" if unsupported else ""
    notes = ", ".join(note for note in (origins, missing) if note)
    return f"{conforming}/{asserted} {level}{f' ({notes})' if notes else ''}"


def _groups(
    header: HeaderRecord, records: Sequence[CaseRecord], catalogue: Catalogue
) -> Iterable[GroupRecord]:
    for group in catalogue.groups:
        own = [record for record in records if _is_in(record, group)]
        if own or _is_whole(header, group):
            tested = any(clause.status == "tested" for clause in group.clause)
            is_left_out = not own and _is_left_out(header, group, catalogue)
            if tested and group.group not in header.not_selected and not is_left_out:
                yield _group(header, group, own, catalogue)


def _group(
    header: HeaderRecord, group: Group, own: Sequence[CaseRecord], catalogue: Catalogue
) -> GroupRecord:
    missing = [
        clause
        for clause in _core(group)
        if not (_is_asserted(clause, own) or _is_not_offered(header, clause, own, catalogue))
    ]
    is_small = bool(missing) and all(_is_too_much(c, own, header, catalogue) for c in missing)
    whole = _is_whole(header, group) and not is_small
    return GroupRecord(
        group=group.group,
        title=group.title,
        judged=whole and not missing and bool(own),
        whole=whole,
        why=_why(missing, own) if missing else "",
        counts={level: _tally(r for r in own if r.level == level) for level in LEVELS},
        origins=_by_origin([r for r in own if r.level == "must"]),
        asked=dict(Counter(record.level for record in own)),
        unsupported=dict(Counter(r.level for r in own if r.verdict == "unsupported")),
    )


def _is_left_out(header: HeaderRecord, group: Group, catalogue: Catalogue) -> bool:
    """Return True if a target lacks, for each clause of a group, what else leaves its cases out.

    A bundle of before the group was there does not name it as not selected.
    """

    def lacks(need: str) -> bool:
        capability = catalogue.capability(need)
        return bool(capability and capability.left_out) and not is_shown(need, header.claims)

    return all(any(map(lacks, clause.needs)) for clause in group.clause)


def _is_too_much(
    clause: Clause, own: Sequence[CaseRecord], header: HeaderRecord, catalogue: Catalogue
) -> bool:
    """Return True if a clause was not judged only because the deployment is too small for it."""
    bench = JudgeContext(catalogue, header.claims, header.readings)
    about = [record for record in own if record.clause == clause.id]
    missing = {missing_capability(record.needs or clause.needs, bench) for record in about}
    return bool(about) and all(_is_small(name, bench) for name in missing)


def _is_small(name: str | None, bench: JudgeContext) -> bool:
    """Return True if the probe of a missing capability showed a deployment too small for it."""
    capability = bench.catalogue.capability(name) if name else None
    claim = bench.claims.get(name) if name else None
    return bool(capability and claim and matches(claim.observation, capability.small_by))


def _why(missing: Sequence[Clause], own: Sequence[CaseRecord]) -> str:
    """Return why core clauses were not asserted; empty when no more than undecided cases do so."""
    for clause in missing:
        about = [record for record in own if record.clause == clause.id]
        if not about:
            return f"{clause.id} was not run"
        if not any(record.verdict in ("inconclusive", "unstable") for record in about):
            return f"{clause.id}: {about[0].reason}"
    return ""


def _by_origin(musts: Sequence[CaseRecord]) -> dict[str, tuple[int, int]]:
    told = {origin: _tally(r for r in musts if r.origin == origin) for origin in ORIGINS}
    return {origin: count for origin, count in told.items() if count[1]}


def _tally(own: Iterable[CaseRecord]) -> tuple[int, int]:
    asserted = [record for record in own if record.verdict in CONCLUSIVE]
    return sum(record.verdict in CONFORMING for record in asserted), len(asserted)


def _core(group: Group) -> list[Clause]:
    return [clause for clause in group.clause if clause.core and clause.status == "tested"]


def _is_asserted(clause: Clause, own: Sequence[CaseRecord]) -> bool:
    return any(record.clause == clause.id and record.verdict in CONCLUSIVE for record in own)


def _is_not_offered(
    header: HeaderRecord, clause: Clause, own: Sequence[CaseRecord], catalogue: Catalogue
) -> bool:
    """Return True if a target rightly does not do what the clause is about.

    A producer is no worse client for not consuming, and a system none for leaving out what the
    texts call optional; a broker that lacks its core is not judged.
    """
    about = [record for record in own if record.clause == clause.id]
    if not about or any(record.verdict != "unsupported" for record in about):
        return False
    if header.target.is_client():
        return True
    bench = JudgeContext(catalogue, header.claims, header.readings)
    missing = [missing_capability(record.needs or clause.needs, bench) for record in about]
    lacking = [catalogue.capability(name) if name else None for name in missing]
    return all(each is not None and each.optional for each in lacking)


def _is_in(record: CaseRecord, group: Group) -> bool:
    return is_below(record.clause, group.group)


def _is_whole(header: HeaderRecord, group: Group) -> bool:
    """Return True if the selection includes every case of the group's core clauses."""
    pairs = [(clause.id, law.id) for clause in _core(group) for law in clause.case]
    if header.narrowed or any(_excludes(header, *pair) for pair in pairs):
        return False
    if not header.selection:
        return True
    return bool(pairs) and all(
        any(is_below(clause, prefix) or is_below(law, prefix) for prefix in header.selection)
        for clause, law in pairs
    )


def _excludes(header: HeaderRecord, clause: str, law: str) -> bool:
    """Return True if the user excluded a case of a law, or all of them."""
    names = [name for name, why in header.not_selected.items() if why == EXCLUDED]
    return any(
        is_below(clause, name) or is_below(law, name) or is_below(name, law) for name in names
    )
