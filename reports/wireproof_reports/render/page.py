"""The content of one report, collected from a bundle and the catalogue."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from wireproof_reports.bundle_file import Bundle, read_bundle
from wireproof_reports.causes import Cause, count_sides, fold
from wireproof_reports.exchange.repeating import REFERENCE, target_command
from wireproof_reports.render.choices import ClaimView, ReadingView, claim_views, reading_views
from wireproof_reports.render.clauses import CaseView, ClauseView, GroupView, group_views
from wireproof_reports.render.findings import CauseView, Lack, cause_views, lacks, with_verdict
from wireproof_reports.render.fingerprint import client_facts
from wireproof_reports.render.level_reached import LevelReached, levels_reached
from wireproof_reports.wording import LEVEL_MEANINGS, UNCOUNTED, VERDICT_WORDS, Word, count_noun
from wireproof_spec.clauses.catalogue import Catalogue
from wireproof_spec.clauses.origin import BINDING, ORIGIN_MEANINGS


@dataclass(frozen=True, slots=True)
class Headline:
    """A run's result in short: ``tone`` is good, bad or open, ``details`` are sentences."""

    tone: str
    title: str
    details: tuple[str, ...]


def headline(bundle: Bundle, causes: Sequence[Cause]) -> Headline:
    """Return the headline of a bundle's report, for the level that the run counted."""
    counts = bundle.header.counts
    counting = [cause for cause in causes if counts(cause.level, cause.origin)]
    tone, title = _title(bundle, counting)
    return Headline(tone, title, tuple(_details(bundle, causes, counting)))


def _title(bundle: Bundle, counting: Sequence[Cause]) -> tuple[str, str]:
    footer, scope = bundle.footer, bundle.header.scope()
    if counting:
        return "bad", f"{count_noun(len(counting), 'cause')} of failure up to {scope}"
    if footer.stale or footer.expired:
        return "bad", "The list of known deviations is out of date"
    if footer.interrupted:
        return "open", "Interrupted: part of a run, no failure so far"
    if footer.exit == 0:
        return "good", f"No failure up to {scope}"
    if footer.exit == 3:
        return "open", "Undecided: something stands open against a verdict"
    return "open", "Not judged: what was asked for could not be shown"


def _details(bundle: Bundle, causes: Sequence[Cause], counting: Sequence[Cause]) -> list[str]:
    footer = bundle.footer
    failed = sum(cause.count_cases(bundle.header) for cause in counting)
    beyond = len(causes) - len(counting)
    sentences = [f"{count_noun(len(bundle.cases), 'case')} run."]
    if failed:
        sentences.append(f"{count_noun(failed, 'case')} failed, folded by what went wrong.")
    if sides := count_sides(counting, bundle.header):
        sentences.append(f"Causes by side: {sides}.")
    if beyond:
        sentences.append(f"{count_noun(beyond, 'cause')} shown but not counted.")
    if footer.interrupted and counting:
        sentences.append("The run was interrupted.")
    if footer.stale:
        sentences.append(f"{count_noun(len(footer.stale), 'listed deviation')} no longer seen.")
    if footer.expired:
        sentences.append(f"{count_noun(len(footer.expired), 'listed deviation')} expired.")
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
    """A name and a value in a report's table of facts."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """The clauses in one state, such as asserted, and what that state means."""

    state: str
    meaning: str
    clauses: tuple[ClauseView, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a bundle's report, before it is rendered."""

    product: str
    version: str
    bundle: str
    kit: str
    sha256: str
    started: str
    statement: str
    headline: Headline
    reached: tuple[LevelReached, ...]
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
    origins: tuple[tuple[str, str], ...]
    commands: tuple[Fact, ...]

    @property
    def counting(self) -> int:
        """The number of causes that count for the exit code, as the headline says."""
        return sum(cause.counts for cause in self.causes)

    @property
    def unsupported(self) -> int:
        """The number of cases that need a capability which the target does not have."""
        return sum(len(lack.cases) for lack in self.lacks)


def read_page(path: Path) -> Page:
    """Read a bundle and return the content of its report.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return page_of(read_bundle(path))


def page_of(bundle: Bundle) -> Page:
    """Return the content of a bundle's report."""
    catalogue = bundle.catalogue()
    causes = fold(bundle.cases, bundle.header)
    groups = group_views(bundle, catalogue, causes)
    header = bundle.header
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
        facts=tuple(_facts(bundle, catalogue)),
        fingerprint=tuple(Fact(*item) for item in header.target.fingerprint.items()),
        tally=tuple(_tally(bundle)),
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
        origins=tuple(ORIGIN_MEANINGS.items()),
        commands=tuple(_commands(bundle)),
    )


def run_command(bundle: Bundle) -> str:
    """Return the command line that repeats the run of a bundle exactly."""
    header = bundle.header
    seed = f"--seed {header.seed}"
    if header.command:
        return header.command if "--seed" in header.command else f"{header.command} {seed}"
    few = set(header.origins) < set(BINDING)
    origins = ["--origin", ",".join(header.origins)] if few else []
    words = [*header.selection, "--profile", header.profile, *origins]
    words += ["--reading", header.reading]
    return f"{target_command(header.target)} {shlex.join(words)} {seed}"


def _product(bundle: Bundle) -> str:
    target = bundle.header.target
    is_reference = target.url == REFERENCE and not target.is_traffic()
    return _name(bundle) or ("The embedded reference" if is_reference else target.name())


def _name(bundle: Bundle) -> str:
    given = bundle.header.target.fingerprint
    return next((given[key] for key in NAMING if given.get(key)), "")


def _facts(bundle: Bundle, catalogue: Catalogue) -> list[Fact]:
    header = bundle.header
    patience = header.waits()
    of_client = client_facts(header)
    facts = [
        *(Fact(f"Client's {name}", value) for name, value in of_client.items()),
        Fact("Target", "" if of_client else header.target.title),
        Fact("Name", _name(bundle)),
        Fact("Version", header.target.fingerprint.get("version", "")),
        Fact("Kit", f"wireproof {header.kit}"),
        Fact("Law", _describe_law(bundle, catalogue)),
        Fact("Selection", ", ".join(header.selection) or "everything"),
        Fact("Counts as failure", f"up to {header.scope()}"),
        Fact("Readings counted", header.reading),
        Fact("Patience, measured", patience),
        Fact("Seed", str(header.seed)),
        Fact("Started", header.started),
    ]
    return [fact for fact in facts if fact.value]


def _describe_law(bundle: Bundle, catalogue: Catalogue) -> str:
    """Name the revisions of the law, and say so if cases were judged by one since withdrawn."""
    spec = bundle.header.spec
    revisions = ", ".join(f"{name} revision {number}" for name, number in spec.items())
    if pinned := bundle.header.pinned():
        revisions = f"{revisions}; {pinned}"
    if not bundle.cases or min(spec.values(), default=0) > catalogue.withdrawn:
        return revisions
    return (
        f"{revisions}. Revision {catalogue.withdrawn} was withdrawn; levels and verdicts here are "
        f"those that it gave. wireproof judge judges the bundle by revision "
        f"{max(catalogue.revisions.values())}"
    )


def _tally(bundle: Bundle) -> Iterator[tuple[Word, int]]:
    """Yield the number of cases with each verdict; failures that do not count stand apart."""
    counts = Counter(case.verdict for case in bundle.cases)
    failed = [case for case in bundle.cases if case.verdict == "fail"]
    counted = sum(bundle.header.counts(case.level, case.origin) for case in failed)
    for name, word in VERDICT_WORDS.items():
        shown = [(word, counted), (UNCOUNTED, len(failed) - counted)]
        yield from (
            each for each in (shown if name == "fail" else [(word, counts[name])]) if each[1]
        )


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
