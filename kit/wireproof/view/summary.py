"""The output at the end of a run, or after a bundle was judged again."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from wireproof.view.failure import FailureContext, failures
from wireproof.view.style import Style, Tone, cut_id, last_lines, wrap_after_heading
from wireproof_kit.decoding.printable import printable
from wireproof_kit.runner.patience import LEAST_LOAD
from wireproof_kit.verdicts.judge import DIED, TARGET_DIED
from wireproof_kit.verdicts.next_step import next_step
from wireproof_reports.causes import Cause, count_sides, fold
from wireproof_reports.wording import count_noun
from wireproof_spec.clauses.catalogue import is_way
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.record import (
    WITHHELD,
    CaseRecord,
    FooterRecord,
    HeaderRecord,
    Verdict,
    WayRecord,
    list_broken,
)

INDENT = 13
LISTED = 8
LEFT_OPEN: Mapping[int, tuple[Verdict, ...]] = {
    2: ("unsupported", "inconclusive", "unstable", "error"),
    3: ("inconclusive", "unstable"),
}
"""The verdicts for which a run ends with an exit code that says neither good nor bad."""
_PORT = re.compile(r"(127\.0\.0\.1|\[::1\]|localhost):\d+")
"""An address of one case alone: the reasons of many cases differ in nothing else."""


def remarks(header: HeaderRecord, records: Sequence[CaseRecord]) -> Iterator[str]:
    """Return lines on the cases that neither passed nor failed, grouped by reason."""
    yield from _by_reason("known", records, ("known",))
    yield from _readings(header, records)
    yield from _by_reason("n/a", records, ("unsupported",))
    yield from _by_reason("undecided", records, ("inconclusive",))
    yield from _by_reason("unstable", records, ("unstable",))
    yield from _by_reason("kit error", records, ("error",))
    yield from _seen_once(header, records)


def outdated(footer: FooterRecord) -> Iterator[str]:
    """Yield a line for each entry of the deviations file that is to be removed or renewed."""
    for entry in footer.stale:
        yield from wrap_after_heading(
            "stale", f"{entry} passes now; remove it from the deviations file"
        )
    for entry in footer.expired:
        yield from wrap_after_heading(
            "expired", f"{entry} is past its date in the deviations file"
        )


def conclusion(header: HeaderRecord, footer: FooterRecord) -> Iterator[str]:
    """Return the lines on clause coverage, outdated known deviations, and the final statement."""
    yield from outdated(footer)
    if seconds := header.patience.get(WITHHELD):
        told = f"before the cases began, nothing that it acknowledged came within {seconds:g} s"
        yield from wrap_after_heading("delivery", f"the target delivers nothing: {told}")
    covered = footer.coverage
    told = (
        f"{covered.get('clauses', 0)}: asserted {covered.get('asserted', 0)}, "
        f"undecided {covered.get('touched', 0)}, not testable {covered.get('not_testable', 0)}, "
        f"untested {covered.get('untested', 0)}"
    )
    yield from wrap_after_heading("clauses", told)
    for index, part in enumerate(footer.statement.split("; ")):
        yield from wrap_after_heading("" if index else "judged", part)


def verdict(
    header: HeaderRecord, footer: FooterRecord, causes: Sequence[Cause], *, style: Style
) -> Iterator[str]:
    """Return the last line of a run: its result in few words, and the exit code."""
    tone, words = _word(header, footer, causes)
    more = f"{_new(header, footer, causes)}   seed {header.seed}"
    yield from last_lines(words, tone, more, f"exit {footer.exit}", style)


def _word(header: HeaderRecord, footer: FooterRecord, causes: Sequence[Cause]) -> tuple[Tone, str]:
    words: dict[int, tuple[Tone, str]] = {
        0: ("good", f"NO FAILURE up to {header.scope()}"),
        2: ("bad", "NOT JUDGED"),
        3: ("doubt", "UNDECIDED"),
        130: ("doubt", "INTERRUPTED"),
    }
    if footer.exit in words:
        return words[footer.exit]
    if any(header.counts(cause.level, cause.origin) for cause in causes):
        return "bad", "NOT CONFORMANT"
    return "bad", "DEVIATIONS FILE OUT OF DATE"


def _new(header: HeaderRecord, footer: FooterRecord, causes: Sequence[Cause]) -> str:
    counting = [cause for cause in causes if header.counts(cause.level, cause.origin)]
    known = footer.verdicts.get("known", 0)
    pieces: list[str] = []
    if counting:
        counted = [case.case for cause in counting for case in cause.list_counted(header)]
        ways = sum(map(is_way, counted))
        shown = count_noun(len(counted) - ways, "case") if ways < len(counted) else ""
        shown = ", ".join(filter(None, [shown, count_noun(ways, "way") if ways else ""]))
        sides = count_sides(counting, header)
        told = f"{count_noun(len(counting), 'new cause')} ({shown})"
        pieces.append(f"{told}: {sides}" if sides else told)
    if known:
        pieces.append(f"{known} known")
    if footer.stale or footer.expired:
        pieces.append(f"{len(footer.stale)} stale, {len(footer.expired)} expired")
    return ", ".join(pieces) or _cases_meant(footer)


def _cases_meant(footer: FooterRecord) -> str:
    """Return how many cases the first word of the last line is about, of all if not of all."""
    total = count_noun(sum(footer.verdicts.values()), "case")
    meant = sum(footer.verdicts.get(verdict, 0) for verdict in LEFT_OPEN.get(footer.exit, ()))
    return f"{meant} of {total}" if meant else total


def _by_reason(
    head: str, records: Iterable[CaseRecord], verdicts: tuple[str, ...]
) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    told_of: dict[str, list[str]] = {}
    for record in records:
        if record.verdict in verdicts:
            reason = _PORT.sub(r"\1:…", printable(tell_reason(record)))
            reasons.setdefault(reason, []).append(record.case)
            told_of.setdefault(reason, []).extend(_difference(record))
    for reason, cases in reasons.items():
        heading = f"{head} {len(cases):>{INDENT - 2 - len(head)}}"
        yield from wrap_after_heading(heading, reason, indent=INDENT)
        if head != "n/a":
            yield from wrap_after_heading("", _list_cases(cases), indent=INDENT)
        for told in list(dict.fromkeys(told_of[reason]))[:LISTED]:
            yield from wrap_after_heading("", told, indent=INDENT)


def tell_reason(record: CaseRecord) -> str:
    """Return why a case has its verdict, with the observation in words if it is the reason."""
    seen = f"saw {record.observation},"
    words = spoken(record.observation, record.case)
    return record.reason.replace(seen, f"{seen[:-1]} ({words}),", 1)


def _seen_once(header: HeaderRecord, records: Sequence[CaseRecord]) -> Iterator[str]:
    """Yield a sentence if failures count that no repeat has shown; traffic is never repeated."""
    once = [
        record
        for record in records
        if record.verdict == "fail"
        and record.observation != DIED
        and record.repeats.runs == 1
        and not record.repeats.confirmed_by
    ]
    if once and not header.target.is_traffic():
        text = "failures were seen once and count; without --repeat-failed 1 each is repeated"
        yield from wrap_after_heading(f"{'once':<9}{len(once):>3}", text, indent=INDENT)


def _difference(record: CaseRecord) -> Iterator[str]:
    difference = record.difference
    if difference is not None and record.verdict == "inconclusive":
        found, due = printable(difference.found), printable(difference.expected)
        yield f"{difference.field}: expected {due}, found {found}"


def _broken_ways(ways: Sequence[WayRecord]) -> Iterator[str]:
    """Yield the clauses outside the selection that messages of the selected cases broke."""
    broken = [way for way in ways if way.result.verdict == "fail" and not way.counted]
    if not broken:
        return
    text = "a message broke a clause that the selection leaves out; shown, not counted"
    if len(broken) > 1:
        text = "messages broke clauses that the selection leaves out; shown, not counted"
    yield from wrap_after_heading(f"{'besides':<9}{len(broken):>3}", text, indent=INDENT)
    for way in broken[:LISTED]:
        result = way.result
        seen = printable(result.observation)
        told = f"{result.clause} ({result.level}) {result.case.rpartition('/')[2]}: {seen}"
        count = f"{way.broken} of {count_noun(way.kept + way.broken, 'message')}"
        first = f", first in {cut_id(way.cases[0])}" if way.cases else ""
        yield from wrap_after_heading("", f"{told}, {count}{first}", indent=INDENT)
    if len(broken) > LISTED:
        yield from wrap_after_heading("", f"… ({len(broken)} in all)", indent=INDENT)


def _list_cases(cases: Sequence[str]) -> str:
    more = f", … ({len(cases)} in all)" if len(cases) > LISTED else ""
    return ", ".join(map(cut_id, cases[:LISTED])) + more


def _readings(header: HeaderRecord, records: Iterable[CaseRecord]) -> Iterator[str]:
    catalogue = load_catalogue(header.target.protocol)
    followed: dict[str, int] = {}
    for record in records:
        if record.verdict == "reading" and record.reading:
            followed[record.reading] = followed.get(record.reading, 0) + 1
    for name, count in followed.items():
        decision_id, _, option_name = name.partition("=")
        decision = catalogue.decision(decision_id)
        options = decision.option if decision else ()
        meaning = next((o.meaning for o in options if o.name == option_name), "")
        text = f'{decision_id}: follows "{option_name}": {meaning}'
        yield from wrap_after_heading(f"{'reading':<9}{count:>3}", text, indent=INDENT)


@dataclass(frozen=True, slots=True)
class Result:
    """A completed run: its records, and the bundle and report files that were written.

    ``left_behind`` names what the run made on the target and could not delete; waits were at most
    ``lengthened`` times as long, as the machine was busy.
    """

    header: HeaderRecord
    records: Sequence[CaseRecord]
    footer: FooterRecord
    bundle: Path | None = None
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])
    ways: Sequence[WayRecord] = ()
    left_behind: Sequence[str] = ()
    lengthened: float = 1.0

    def causes(self, verdict: Verdict = "fail") -> tuple[Cause, ...]:
        """Return the failures of the run, or what was seen once, folded by root cause."""
        return fold([*self.records, *list_broken(self.ways)], self.header, verdict=verdict)

    def next_step(self) -> str:
        """Return what was missing for what was not judged, and what to give; often empty."""
        catalogue = load_catalogue(self.header.target.protocol)
        return next_step(self.header, self.records, self.footer, catalogue)


def summary(result: Result, *, verbose: int, quiet: bool, style: Style) -> Iterator[str]:
    """Return the lines that follow the cases of a run; the last one contains the exit code."""
    causes = result.causes()
    if not quiet:
        yield ""
        scene = FailureContext(result.header, result.bundle, verbose, style)
        unstable = result.causes("unstable")
        yield from failures([*causes, *unstable], scene)
        shown = {case.case for cause in unstable for case in cause.cases}
        others = [record for record in result.records if record.case not in shown]
        noted = [*remarks(result.header, others), *_broken_ways(result.ways)]
        yield from [*noted, ""] if noted else []
        yield from conclusion(result.header, result.footer)
        if result.lengthened >= LEAST_LOAD:
            told = f"waits, and limits of cases, were up to {result.lengthened:.1f} times as long"
            yield from wrap_after_heading("busy", f"{told}, since this machine was busy")
        for name, path in result.files.items():
            yield f"{name:<9}{path}"
        if left := result.left_behind:
            names = f"{', '.join(left[:LISTED])}{', …' if len(left) > LISTED else ''}"
            count = count_noun(len(left), "thing")
            told = f"the target still has {count} that this run made: {names}"
            if any(record.observation in (DIED, TARGET_DIED) for record in result.records):
                told = f"the target ended, and keeps what it has on disk of {count}: {names}"
            yield from wrap_after_heading("left", told)
        step = result.next_step()
        yield from wrap_after_heading("next", step) if step else []
    yield from verdict(result.header, result.footer, causes, style=style)
