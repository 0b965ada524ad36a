"""Compares two bundles: changes in the target, apart from changes in the kit.

A pure function over records. Cases are the same when id and content hash agree; a case whose
hash differs is another experiment under an old name and says nothing about the target.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wireproof_kit.bundle.file import Bundle
from wireproof_kit.errors import UsageFault
from wireproof_kit.verdicts.judge import CONFORMING
from wireproof_spec.clauses.catalogue import is_below, level_rank
from wireproof_spec.record import CONCLUSIVE, CaseRecord, FooterRecord, HeaderRecord, Verdict

Kind = Literal[
    "regressed",
    "expired",
    "unstable",
    "otherwise",
    "no-longer-tested",
    "doubtful-fix",
    "fixed",
    "settled",
    "now-tested",
    "reading",
    "still-conforming",
    "rejudged",
    "changed",
]

KINDS: dict[Kind, str] = {
    "regressed": "conformed in A, fails in B or can no longer be judged",
    "expired": "fails as before, but the deviation that listed it is past its date",
    "unstable": "repeats disagree in B",
    "otherwise": "fails in both, in another way",
    "no-longer-tested": "came to a conclusion in A only",
    "doubtful-fix": "failed in A, conforms in B with an answer with which other cases got worse",
    "fixed": "failed in A, conforms in B",
    "settled": "repeats disagreed in A, and no longer do",
    "now-tested": "comes to a conclusion in B only",
    "reading": "conforms in both, under another reading",
    "still-conforming": "conforms in both, but the observation changed",
    "rejudged": "did the same; the law, the readings asked for or the deviations file differ",
    "changed": "the case itself changed, so nothing is said about the target",
}

FAILING: frozenset[Verdict] = frozenset({"fail", "known"})
TESTED: frozenset[Verdict] = CONCLUSIVE | frozenset[Verdict]({"unstable"})
LOST: frozenset[Verdict] = frozenset({"unsupported", "error"})
"""Verdicts that make a conforming case a regression: the target no longer shows the behaviour."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The records of one case in two runs; None where a run does not have the case."""

    before: CaseRecord | None
    after: CaseRecord | None

    @property
    def case(self) -> str:
        """The id of the case."""
        record = self.after or self.before
        return record.case if record else ""

    @property
    def clause(self) -> str:
        """The clause of the case."""
        record = self.after or self.before
        return record.clause if record else ""

    @property
    def level(self) -> str:
        """The level of the case's clause."""
        record = self.after or self.before
        return record.level if record else ""

    def counts(self, header: HeaderRecord) -> bool:
        """Return True if a failure of the case would count in the run with this header."""
        record = self.after or self.before
        return record is not None and header.counts(record.level, record.origin)

    def is_aligned(self) -> bool:
        """Return True if both runs have the case with the same definition."""
        before, after = self.before, self.after
        return bool(before and after and before.case_hash == after.case_hash)

    def is_listed(self) -> bool:
        """Return True if the case fails in the later run exactly as its deviations file lists."""
        return self.after is not None and self.after.verdict == "known"


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose verdict or definition differs between two runs, and the kind of the change."""

    kind: Kind
    pair: Pair


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two runs outside their cases, as text; ``-`` is an absent value."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two bundles; ``compared`` counts the cases defined equally in both."""

    before: Bundle
    after: Bundle
    differences: tuple[Difference, ...]
    changes: tuple[Change, ...]
    compared: int

    def of(self, kind: Kind) -> tuple[Change, ...]:
        """Return the changes of one kind, the strictest level first, then by case id.

        Raises:
            UsageFault: there is no such kind.
        """
        if kind not in KINDS:
            raise UsageFault(f"{kind!r} is no kind of change; expected one of {', '.join(KINDS)}")
        return tuple(change for change in self.changes if change.kind == kind)

    def list_counting(self, kind: Kind) -> tuple[Change, ...]:
        """Return the changes of one kind whose level and origin count in the later run."""
        return tuple(c for c in self.of(kind) if c.pair.counts(self.after.header))

    def list_cut_off(self) -> list[str]:
        """Return ``A`` and ``B`` where the run was interrupted and so lacks cases."""
        runs = {"A": self.before.footer, "B": self.after.footer}
        return [letter for letter, footer in runs.items() if footer and footer.interrupted]

    def meets(self, kinds: Sequence[Kind]) -> bool:
        """Return True if there is a counting change of one of these kinds.

        A case that fails as its deviations file lists does not count as regressed.
        """
        return any(
            not (kind == "regressed" and change.pair.is_listed())
            for kind in kinds
            for change in self.list_counting(kind)
        )


@dataclass(frozen=True, slots=True)
class _Scene:
    before: HeaderRecord
    after: HeaderRecord
    footer: FooterRecord | None

    def same_bindings(self) -> bool:
        return _list_bound(self.before) == _list_bound(self.after)


def compare(before: Bundle, after: Bundle) -> Comparison:
    """Compare two bundles of whole runs.

    Raises:
        UsageFault: a bundle is incomplete, or the bundles differ in protocol or share no case.
    """
    _check(before, after)
    old = {record.case: record for record in before.cases}
    new = {record.case: record for record in after.cases}
    pairs = [Pair(old.get(name), new.get(name)) for name in sorted(old | new)]
    ways = list(_pair_ways(before, after))
    compared = sum(pair.is_aligned() for pair in pairs)
    if not compared:
        raise UsageFault(_nothing_in_common(before, after, len(old.keys() & new.keys())))
    scene = _Scene(before.header, after.header, after.footer)
    changes = sorted(
        _mark_doubtful(list(_changes([*pairs, *ways], scene))),
        key=lambda c: level_rank(c.pair.level),
    )
    return Comparison(before, after, tuple(_differences(before, after)), tuple(changes), compared)


def _pair_ways(before: Bundle, after: Bundle) -> Iterator[Pair]:
    """Yield the ways of both runs that count, and those that one run alone has and shows broken.

    What no message has come on in a run is no loss: a way is told only where something came.
    """
    old, new = (
        {way.result.case: way.result for way in bundle.ways if way.counted}
        for bundle in (before, after)
    )
    for name in sorted(old | new):
        pair = Pair(old.get(name), new.get(name))
        is_broken = any(each and each.verdict in FAILING for each in (pair.before, pair.after))
        if is_broken or (pair.before and pair.after):
            yield pair


def _changes(pairs: Sequence[Pair], scene: _Scene) -> Iterator[Change]:
    for pair in pairs:
        kind = _kind(pair, scene)
        if kind is not None:
            yield Change(kind, pair)


def _mark_doubtful(changes: Sequence[Change]) -> Iterator[Change]:
    """Yield the changes; a fix is doubtful if its new answer made an equally strict case worse.

    A broker that refuses everything also refuses what it must refuse: that is no fix.
    """
    worse = [change.pair for change in changes if change.kind in ("regressed", "otherwise")]
    for change in changes:
        is_doubtful = change.kind == "fixed" and any(
            _explains(pair, change.pair) for pair in worse
        )
        yield Change("doubtful-fix", change.pair) if is_doubtful else change


def _explains(worse: Pair, fixed: Pair) -> bool:
    """Return True if a case of at least the same level got worse with the same new answer."""
    is_as_strict = level_rank(worse.level) <= level_rank(fixed.level)
    return is_as_strict and bool(_news(worse) & _news(fixed))


def _news(pair: Pair) -> set[str]:
    """Return the parts of the observation in B that are not in A's."""
    if pair.before is None or pair.after is None:
        return set()
    return {*pair.after.observation.split(",")} - {*pair.before.observation.split(",")}


def _check(before: Bundle, after: Bundle) -> None:
    for bundle in (before, after):
        if bundle.footer is None:
            raise UsageFault(
                f"{bundle.path}: expected a footer after {len(bundle.cases)} cases, found none; "
                "the run was cut off, so run it again"
            )
        twice = [name for name, n in Counter(r.case for r in bundle.cases).items() if n > 1]
        if twice:
            raise UsageFault(f"{bundle.path}: expected each case once, found {twice[0]} twice")
    one, other = before.header.target.protocol, after.header.target.protocol
    if one != other:
        raise UsageFault(
            f"{before.path} is of protocol {one!r}, {after.path} of {other!r}; "
            "expected two runs of one protocol"
        )


def _nothing_in_common(before: Bundle, after: Bundle, shared: int) -> str:
    told = f"{before.path} and {after.path} have nothing in common"
    campaigns = [b for b in (before, after) if (b.campaign or b.findings) and not b.cases]
    if campaigns:
        return _of_campaigns(before, after, campaigns)
    if not shared:
        return f"{told}: no case is in both; compare runs of the same selection"
    return (
        f"{told}: all {shared} cases that are in both were changed between kit "
        f"{before.header.kit} and {after.header.kit}; run both targets with one kit"
    )


def _of_campaigns(before: Bundle, after: Bundle, campaigns: Sequence[Bundle]) -> str:
    """Return that findings are not compared, and which of them both campaigns have."""
    if len(campaigns) == 1:
        return f"{campaigns[0].path} is of a fuzz campaign; expected two runs"
    old, new = ({finding.id for finding in bundle.findings} for bundle in (before, after))
    parts = {"both": old & new, "A alone": old - new, "B alone": new - old}
    told = (f"in {name}: {', '.join(sorted(ids)) or 'none'}" for name, ids in parts.items())
    both = f"{before.path} and {after.path} are of fuzz campaigns, which are not compared"
    return f"{both}; findings {'; '.join(told)}; `wireproof replay ID` sends one again"


def _kind(pair: Pair, scene: _Scene) -> Kind | None:
    before, after = pair.before, pair.after
    if before and after and before.case_hash != after.case_hash:
        return "changed"
    if before and after and _is_lost(before, after, scene):
        return "regressed"
    was = before.verdict if before and before.verdict in TESTED else None
    now = after.verdict if after and after.verdict in TESTED else None
    if was is None or now is None:
        return _compare_tested(was, now)
    if before is None or after is None:
        return None
    return _both_tested(before, after, scene)


def _is_lost(before: CaseRecord, after: CaseRecord, scene: _Scene) -> bool:
    """Return True if a case that conformed and counts can no longer be judged in B."""
    is_lost = before.verdict in CONFORMING and after.verdict in LOST
    return is_lost and scene.after.counts(after.level, after.origin)


def _compare_tested(was: Verdict | None, now: Verdict | None) -> Kind | None:
    if now == "unstable":
        return "unstable"
    if was is None:
        return None if now is None else "now-tested"
    return "no-longer-tested"


def _both_tested(before: CaseRecord, after: CaseRecord, scene: _Scene) -> Kind | None:
    if before.verdict == after.verdict:
        return _same_verdict(before, after)
    if _is_expired(before, after, scene):
        return "expired"
    if _is_rejudged(before, after, scene):
        return "rejudged"
    if "unstable" in (before.verdict, after.verdict):
        return "unstable" if after.verdict == "unstable" else "settled"
    conformed, conforms = before.verdict in CONFORMING, after.verdict in CONFORMING
    if conformed and conforms:
        return "reading"
    if conformed or conforms:
        return "regressed" if conformed else "fixed"
    return "otherwise"


def _same_verdict(before: CaseRecord, after: CaseRecord) -> Kind | None:
    if before.verdict == "reading" and before.reading != after.reading:
        return "reading"
    if before.verdict in FAILING:
        return "otherwise" if before.signature != after.signature else None
    conforms_otherwise = before.verdict in CONFORMING and before.observation != after.observation
    return "still-conforming" if conforms_otherwise else None


def _is_expired(before: CaseRecord, after: CaseRecord, scene: _Scene) -> bool:
    """Return True if a failure known in A is no longer known because its date has passed.

    A bundle of an older kit names expired entries in its footer only.
    """
    if (before.verdict, after.verdict) != ("known", "fail"):
        return False
    if before.signature != after.signature:
        return False
    if after.deviation is not None:
        return after.deviation.expired
    if before.deviation is not None and scene.after.started:
        return before.deviation.expires < scene.after.started[:10]
    expired = scene.footer.expired if scene.footer else ()
    return any(is_below(after.case, entry) for entry in expired)


def _is_rejudged(before: CaseRecord, after: CaseRecord, scene: _Scene) -> bool:
    """Return True if the observations are equal, so that only the judgement differs.

    Readings are bound by probes: where one is bound otherwise, the target did something else.
    """
    if before.verdict in FAILING and after.verdict in FAILING:
        return before.signature == after.signature
    if _values(before) != _values(after) or not scene.same_bindings():
        return False
    return scene.before.reading != scene.after.reading or before.accepted != after.accepted


def _values(record: CaseRecord) -> set[tuple[str, bool]]:
    return {(seen.value, seen.overdue) for seen in record.list_seen()}


def _differences(before: Bundle, after: Bundle) -> Iterator[Difference]:
    old, new = _head(before), _head(after)
    for name in dict.fromkeys((*old, *new)):
        one, other = old.get(name, "-"), new.get(name, "-")
        if one != other:
            yield Difference(name, one or "-", other or "-")


def _head(bundle: Bundle) -> dict[str, str]:
    header = bundle.header
    target = header.target
    cut = bundle.footer is not None and bundle.footer.interrupted
    return {
        "target": target.url,
        **_add_kind("target", target.fingerprint),
        "given": ", ".join(target.given),
        "kit": header.kit,
        **_add_kind("spec", {name: f"r{revision}" for name, revision in header.spec.items()}),
        "clauses": header.pinned() or "all",
        "level": header.profile,
        "origins": ", ".join(header.origins),
        "readings": header.reading,
        "selection": ", ".join(header.selection) or "everything",
        **_add_kind("left out", header.not_selected),
        **_add_kind("reading", _list_bound(header)),
        **_add_kind("claim", {name: claim.state for name, claim in header.claims.items()}),
        "interrupted": "yes" if cut else "no",
    }


def _list_bound(header: HeaderRecord) -> dict[str, str]:
    return {name: bound.reading or "none" for name, bound in header.readings.items()}


def _add_kind(kind: str, values: Mapping[str, str]) -> dict[str, str]:
    return {f"{kind} {name}": value for name, value in values.items()}
