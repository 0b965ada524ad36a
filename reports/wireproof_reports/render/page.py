"""All that one report says, gathered from a bundle and the catalogue."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.causes import Cause, counts_up_to, fold
from wireproof_reports.exchange.reproducer import named_target
from wireproof_reports.render.choices import ClaimView, ReadingView, claim_views, reading_views
from wireproof_reports.render.clauses import CaseView, ClauseView, GroupView, group_views
from wireproof_reports.render.findings import CauseView, Lack, cause_views, lacks, with_verdict
from wireproof_reports.wording import LEVEL_MEANINGS, VERDICT_WORDS, Word, counted
from wireproof_spec.catalogue import LEVELS
from wireproof_spec.record import GroupRecord


@dataclass(frozen=True, slots=True)
class Reached:
    """What came of one document (a name in the header's ``spec``).

    ``level`` is the weakest level up to which every asserted case conforms, empty when that is
    not shown even for must. ``but`` says in a sentence what stands against more.
    """

    document: str
    revision: int
    level: str
    but: str
    known: int


def levels_reached(bundle: Bundle) -> tuple[Reached, ...]:
    """Return the level reached in each document that the run was about."""
    return tuple(
        _reached(bundle, document, revision) for document, revision in bundle.header.spec.items()
    )


def _reached(bundle: Bundle, document: str, revision: int) -> Reached:
    own = [g for g in bundle.footer.groups if g.group.partition(".")[0] == document]
    judged = [group for group in own if group.judged]
    if not judged:
        why = "none of its groups was judged" if own else "nothing of it was selected"
        return Reached(document, revision, "", f"not judged: {why}", 0)
    level, stop = _climb(judged)
    known = sum(
        case.verdict == "known" and case.clause.partition(".")[0] == document
        for case in bundle.cases
    )
    missing = {
        "not judged": [group.group for group in own if not group.judged],
        "not selected": _absent(bundle, document, own, tested=True),
        "not tested by this kit": _absent(bundle, document, own, tested=False),
    }
    doubts = [stop] if stop else []
    doubts += [f"{words}: {', '.join(names)}" for words, names in missing.items() if names]
    return Reached(document, revision, level, "; ".join(doubts), known)


def _absent(
    bundle: Bundle, document: str, own: Sequence[GroupRecord], *, tested: bool
) -> list[str]:
    """Return the document's groups of which no case was run: with cases, or without any."""
    there = {group.group for group in own}
    return [
        group.group
        for group in bundle.catalogue().groups
        if group.group.partition(".")[0] == document
        and group.group not in there
        and any(clause.status == "tested" for clause in group.clause) == tested
    ]


def _climb(groups: Sequence[GroupRecord]) -> tuple[str, str]:
    """Return the last level at which all conforms, and what stopped at the next."""
    reached = ""
    for level in LEVELS:
        counts = [group.counts.get(level, (0, 0)) for group in groups]
        conforming, asserted = sum(c for c, _ in counts), sum(a for _, a in counts)
        if conforming < asserted:
            return reached, f"{asserted - conforming} of {asserted} {level} cases deviate"
        if level == "must" and not asserted:
            return "", "no must case was asserted"
        reached = level if asserted else reached
    return reached, ""


@dataclass(frozen=True, slots=True)
class Headline:
    """``tone`` is good, bad or open; ``details`` are short sentences below the title."""

    tone: str
    title: str
    details: tuple[str, ...]


def headline(bundle: Bundle, causes: Sequence[Cause]) -> Headline:
    """Say what the run comes to, up to its profile."""
    profile = bundle.header.profile
    counting = [cause for cause in causes if counts_up_to(profile, cause.level)]
    tone, title = _title(bundle, counting, profile)
    return Headline(tone, title, tuple(_details(bundle, causes, counting)))


def _title(bundle: Bundle, counting: Sequence[Cause], profile: str) -> tuple[str, str]:
    footer = bundle.footer
    if counting:
        return "bad", f"{counted(len(counting), 'cause')} of failure up to level {profile}"
    if footer.stale or footer.expired:
        return "bad", "The list of known deviations is out of date"
    if footer.interrupted:
        return "open", "Interrupted: part of a run, no failure so far"
    if footer.exit == 0:
        return "good", f"No failure up to level {profile}"
    if footer.exit == 3:
        return "open", "Undecided: something stands open against a verdict"
    return "open", "Not judged: what was asked for could not be shown"


def _details(bundle: Bundle, causes: Sequence[Cause], counting: Sequence[Cause]) -> list[str]:
    footer = bundle.footer
    failed = sum(len(cause.cases) for cause in counting)
    beyond = len(causes) - len(counting)
    sentences = [f"{counted(len(bundle.cases), 'case')} run."]
    if failed:
        sentences.append(f"{counted(failed, 'case')} failed, folded by what went wrong.")
    if beyond:
        sentences.append(f"{counted(beyond, 'cause')} at a weaker level, shown but not counted.")
    if footer.interrupted and counting:
        sentences.append("The run was interrupted.")
    if footer.stale:
        sentences.append(f"{counted(len(footer.stale), 'listed deviation')} no longer seen.")
    if footer.expired:
        sentences.append(f"{counted(len(footer.expired), 'listed deviation')} expired.")
    waiting = [g.group for g in footer.groups if g.whole and not g.judged]
    if waiting:
        sentences.append(f"Not judged: {', '.join(waiting)}.")
    return sentences


NAMING = ("name", "product", "server")
"""Keys under which a target may say its name, the best first."""

COVERAGE_STATES = (
    ("asserted", "at least one case came to a conclusion"),
    ("touched", "cases ran, none came to a conclusion"),
    ("unsupported", "it needs what the target neither claims nor shows"),
    ("not run", "it was not selected, or something only the user can give was missing"),
    ("not yet tested", "no case has been written for it"),
    ("not testable", "nothing that can be seen from outside would show it"),
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and what stands behind it."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """One state of clauses, what it means, and the clauses in it with the reason."""

    state: str
    meaning: str
    clauses: tuple[ClauseView, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One report."""

    product: str
    version: str
    bundle: str
    kit: str
    sha256: str
    started: str
    statement: str
    headline: Headline
    reached: tuple[Reached, ...]
    facts: tuple[Fact, ...]
    fingerprint: tuple[Fact, ...]
    tally: tuple[tuple[Word, int], ...]
    groups: tuple[GroupView, ...]
    causes: tuple[CauseView, ...]
    readings: tuple[ReadingView, ...]
    claims: tuple[ClaimView, ...]
    known: tuple[CaseView, ...]
    stale: tuple[str, ...]
    expired: tuple[str, ...]
    lacks: tuple[Lack, ...]
    undecided: tuple[CaseView, ...]
    coverage: tuple[Coverage, ...]
    words: tuple[Word, ...]
    levels: tuple[tuple[str, str], ...]
    commands: tuple[Fact, ...]

    @property
    def unsupported(self) -> int:
        """How many cases the target does not support."""
        return sum(len(lack.cases) for lack in self.lacks)


def read_page(path: Path) -> Page:
    """Read a bundle and gather its report.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return page_of(read_bundle(path))


def page_of(bundle: Bundle) -> Page:
    """Gather the report of a bundle."""
    catalogue = bundle.catalogue()
    causes = fold(bundle.cases)
    groups = group_views(bundle, catalogue, causes)
    header = bundle.header
    counts = Counter(case.verdict for case in bundle.cases)
    return Page(
        product=_product(bundle),
        version=header.target.fingerprint.get("version", ""),
        bundle=bundle.name,
        kit=header.kit,
        sha256=bundle.footer.sha256,
        started=header.started,
        statement=bundle.footer.statement,
        headline=headline(bundle, causes),
        reached=levels_reached(bundle),
        facts=tuple(_facts(bundle)),
        fingerprint=tuple(Fact(*item) for item in header.target.fingerprint.items()),
        tally=tuple((word, counts[name]) for name, word in VERDICT_WORDS.items() if counts[name]),
        groups=groups,
        causes=cause_views(bundle, catalogue, causes),
        readings=reading_views(bundle, catalogue),
        claims=claim_views(bundle, catalogue),
        known=with_verdict(bundle, "known"),
        stale=bundle.footer.stale,
        expired=bundle.footer.expired,
        lacks=lacks(bundle, catalogue),
        undecided=with_verdict(bundle, "inconclusive", "unstable", "error"),
        coverage=_coverage(groups),
        words=tuple(VERDICT_WORDS.values()),
        levels=tuple(LEVEL_MEANINGS.items()),
        commands=tuple(_commands(bundle)),
    )


def run_command(bundle: Bundle) -> str:
    """Return the exact command to repeat the run."""
    header = bundle.header
    seed = f"--seed {header.seed}"
    if header.command:
        return header.command if "--seed" in header.command else f"{header.command} {seed}"
    words = [*header.selection, "--profile", header.profile, "--reading", header.reading]
    return f"wireproof run {named_target(header)} {shlex.join(words)} {seed}"


def _product(bundle: Bundle) -> str:
    url = bundle.header.target.url
    return _name(bundle) or (url if "://" in url else "The embedded reference")


def _name(bundle: Bundle) -> str:
    given = bundle.header.target.fingerprint
    return next((given[key] for key in NAMING if given.get(key)), "")


def _facts(bundle: Bundle) -> list[Fact]:
    header = bundle.header
    patience = ", ".join(
        f"{kind} {seconds:g} s" for kind, seconds in header.patience.items() if seconds
    )
    revisions = ", ".join(f"{name} revision {number}" for name, number in header.spec.items())
    facts = [
        Fact("Target", header.target.url),
        Fact("Name", _name(bundle)),
        Fact("Version", header.target.fingerprint.get("version", "")),
        Fact("Kit", f"wireproof {header.kit}"),
        Fact("Law", revisions),
        Fact("Selection", ", ".join(header.selection) or "everything"),
        Fact("Counts as failure", f"up to level {header.profile}"),
        Fact("Readings counted", header.reading),
        Fact("Patience, measured", patience),
        Fact("Seed", str(header.seed)),
        Fact("Started", header.started),
    ]
    return [fact for fact in facts if fact.value]


def _coverage(groups: tuple[GroupView, ...]) -> tuple[Coverage, ...]:
    clauses = [clause for group in groups for clause in group.clauses]
    return tuple(
        Coverage(state, meaning, tuple(c for c in clauses if c.state == state))
        for state, meaning in COVERAGE_STATES
    )


def _commands(bundle: Bundle) -> list[Fact]:
    again = [Fact("The same run again", run_command(bundle))]
    if not bundle.name:
        return again
    return [
        *again,
        Fact("Judge the recorded observations again", f"wireproof judge {bundle.name}"),
        Fact("This report from its bundle", f"wireproof report {bundle.name} --html report.html"),
    ]
