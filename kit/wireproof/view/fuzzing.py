"""A campaign of the fuzzer on a terminal, in a log, or as events."""

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TextIO

import msgspec

from wireproof.fuzzing.events import (
    CampaignEvent,
    CampaignVerdictEvent,
    ProgressEvent,
    TargetEvent,
    finding_event,
)
from wireproof.options.global_options import OutputStyle
from wireproof.view.display import waiting_line
from wireproof.view.events import write_event
from wireproof.view.output import echo, write_lines
from wireproof.view.style import HEAD, Style, Tone, wrap_after_heading
from wireproof.view.terminal import columns, is_dumb
from wireproof_kit.decoding.printable import clip, printable
from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.campaign.workers import Status
from wireproof_kit.fuzz.oracle.rules import MEANINGS
from wireproof_kit.fuzz.triage.deaths import describe_times
from wireproof_reports.wording import count_noun
from wireproof_spec.fuzz_record import CampaignRecord, FindingRecord
from wireproof_spec.record import FooterRecord

NOT_TRIED = "not_tried"
"""The name under which a client's session tells the states without cases, and why."""
OFTEN_S, SELDOM_S = 0.5, 10.0
MOST_SHOWN = 200
"""How many bytes of a finding's cases the terminal shows; the bundle has all."""
WORDS = {0: "NOTHING FOUND", 1: "FOUND", 2: "NOT DONE", 3: "INCONCLUSIVE", 130: "INTERRUPTED"}


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The result of a fuzz campaign: figures, findings, and the bundle they were written to."""

    campaign: CampaignRecord
    findings: tuple[FindingRecord, ...]
    footer: FooterRecord
    bundle: Path
    failures: tuple[str, ...] = ()


class FuzzView(Protocol):
    """The interface of what shows a fuzz campaign to the user."""

    def begin(self, url: str, seed: int, bundle: Path, first: int) -> None:
        """Show the start of a campaign: target, seed, bundle, and the first batch of cases."""

    def opened(self, fingerprint: Mapping[str, str]) -> None:
        """Show in which states a client is not tried, and why."""

    def wait(self, what: str, seconds: float) -> None:
        """Show what the first case waits for, and how long; called from another thread."""

    def went_on(self, told: Sequence[Status], findings: Sequence[FindingRecord]) -> None:
        """Show the progress of a campaign: the state of each worker, and the findings so far."""

    def show_finding(self, finding: FindingRecord, left_out: Sequence[str]) -> None:
        """Show a finding; ``left_out`` says which of its files were not written."""

    def end(self, conclusion: Conclusion) -> None:
        """Show the result of a campaign."""


UNWATCHED = (
    "the process of --pid is not watched any more since {:.1f} s: another one has taken its "
    "place; memory and open files are no longer judged"
)


def since_unwatched(told: Sequence[Status]) -> float | None:
    """Return the second from which a worker could not observe the target's process, or None."""
    return min((each.unwatched_s for each in told if each.unwatched_s is not None), default=None)


def choose_fuzz_view(manner: OutputStyle, plan: WorkerPlan) -> FuzzView:
    """Return the view for the output options of the command."""
    if manner.json:
        return EventView(plan)
    style = Style(manner.is_coloured(sys.stdout))
    return TextView(plan, style, quiet=manner.quiet, verbose=bool(manner.verbose))


@dataclass(slots=True)
class TextView:
    """Shows a fuzz campaign as text: findings on stdout, progress on stderr."""

    plan: WorkerPlan
    style: Style
    quiet: bool = False
    verbose: bool = False
    err: TextIO = field(default_factory=lambda: sys.stderr)
    _started: float = field(default_factory=time.monotonic)
    _told: float = 0.0
    _width: int = 0
    _left_out: set[str] = field(default_factory=set[str])
    _is_unwatched: bool = False
    _bundle: Path = Path()

    def begin(self, url: str, seed: int, bundle: Path, first: int) -> None:
        """Print the start of a campaign: target and seed. There may never be a bundle."""
        self._bundle = bundle
        if self.quiet:
            return
        goes_on = f", goes on at batch {first}" if first else ""
        echo(f"fuzz     {url}   seed {seed}{goes_on}")

    def opened(self, fingerprint: Mapping[str, str]) -> None:
        """Print where the bundle is, and in which states a client is not tried, and why."""
        if self.quiet:
            return
        echo(f"bundle   {self._bundle}")
        if lacking := fingerprint.get(NOT_TRIED):
            for line in wrap_after_heading("left out", printable(lacking)):
                echo(line)

    def wait(self, what: str, seconds: float) -> None:
        """Write to stderr what the first case waits for."""
        if not self.quiet:
            write_lines(self.err, [waiting_line(what, seconds)])

    def went_on(self, told: Sequence[Status], findings: Sequence[FindingRecord]) -> None:
        """Print the progress of a campaign to stderr, from time to time."""
        self._tell_unwatched(told)
        now = time.monotonic()
        is_terminal = self.err.isatty() and not is_dumb()
        if self.quiet or now - self._told < (OFTEN_S if is_terminal else SELDOM_S):
            return
        self._told = now
        line = _progress(told, len(findings), now - self._started, self.plan)
        if is_terminal:
            line = clip(line, columns() - 1)  # a line that wraps cannot be written over
            self.err.write(f"\r{line:<{self._width}}")
            self._width = len(line)
        else:
            self.err.write(f"{line}\n")
        self.err.flush()

    def show_finding(self, finding: FindingRecord, left_out: Sequence[str]) -> None:
        """Print a finding; ``left_out`` says which of its files were not written."""
        self._clear()
        if self.quiet:
            return
        for line in _format_finding(finding, self._bundle, self.style):
            echo(line)
        for words in left_out:
            if words not in self._left_out:
                self._left_out.add(words)
                echo(words, err=True)

    def end(self, conclusion: Conclusion) -> None:
        """Print the result of a campaign."""
        self._clear()
        for words in conclusion.failures:
            echo(f"wireproof: {words}", err=True)
        if not self.quiet:
            for line in _summary(conclusion):
                echo(line)
            for line in _table(conclusion.campaign) if self.verbose else ():
                echo(line)
        echo(_last(conclusion, self.style))

    def _tell_unwatched(self, told: Sequence[Status]) -> None:
        """Write once that the target's process is no longer observed."""
        since_s = since_unwatched(told)
        if since_s is not None and not (self._is_unwatched or self.quiet):
            self._is_unwatched = True
            self._clear()
            echo(f"wireproof: {UNWATCHED.format(since_s)}", err=True)

    def _clear(self) -> None:
        if self._width:
            self.err.write("\r" + " " * self._width + "\r")
            self._width = 0


@dataclass(slots=True)
class EventView:
    """Shows a fuzz campaign as JSON, one object a line; the result is the last one."""

    plan: WorkerPlan
    _told: float = 0.0

    def begin(self, url: str, seed: int, bundle: Path, first: int) -> None:
        """Print the start of a campaign as an event: target, seed and bundle."""
        write_event(sys.stdout, CampaignEvent(url, seed, first, str(bundle)))

    def opened(self, fingerprint: Mapping[str, str]) -> None:
        """Print what is known of the target as an event: version, states, and the like."""
        write_event(sys.stdout, TargetEvent(dict(fingerprint)))

    def wait(self, what: str, seconds: float) -> None:
        """Do nothing: there is no event for it."""

    def went_on(self, told: Sequence[Status], findings: Sequence[FindingRecord]) -> None:
        """Print the progress of a campaign as an event, from time to time."""
        now = time.monotonic()
        if now - self._told < 1.0:
            return
        self._told = now
        executed = sum(each.executed for each in told)
        rows = max((each.rows for each in told), default=0)
        event = ProgressEvent(executed, len(findings), rows, since_unwatched(told))
        write_event(sys.stdout, event)

    def show_finding(self, finding: FindingRecord, left_out: Sequence[str]) -> None:
        """Print a finding as an event; its exchange is only in the bundle."""
        write_event(sys.stdout, finding_event(finding, left_out))

    def end(self, conclusion: Conclusion) -> None:
        """Print the result of a campaign as an event."""
        footer = conclusion.footer
        figures = msgspec.structs.asdict(conclusion.campaign)
        del figures["coverage"]
        write_event(
            sys.stdout,
            CampaignVerdictEvent(
                exit=footer.exit,
                statement=footer.statement,
                verdicts=footer.verdicts,
                coverage=footer.coverage,
                failures=tuple(conclusion.failures),
                findings=tuple(finding.id for finding in conclusion.findings),
                bundle=str(conclusion.bundle),
                **figures,
            ),
        )


def _progress(told: Sequence[Status], findings: int, elapsed: float, plan: WorkerPlan) -> str:
    executed = sum(each.executed for each in told)
    rows = max((each.rows for each in told), default=0)
    left = "" if plan.time_s is None else f"   {max(0.0, plan.time_s - elapsed):.0f} s left"
    if plan.cases is not None:
        left = f"   of {plan.cases}{left}"
    rate = executed / elapsed if elapsed else 0.0
    covered = f"{rows} grammar rows covered"
    return f"{executed} cases{left}   {rate:.0f}/s   {findings} found   {covered}"


def _format_finding(finding: FindingRecord, bundle: Path, style: Style) -> Iterator[str]:
    listed = finding.deviation
    known = listed is not None and not listed.expired
    head = "known" if known else "FOUND" if finding.shown else "once"
    case = finding.cases[-1]
    tone: Tone = "doubt" if known or not finding.shown else "bad"
    where = f"{finding.violated}  {finding.frame} {finding.field}: {case.mutation}"
    times = finding.unconfirmed or _describe_repeats(finding)
    yield style.paint(f"{head:<6}", tone) + f"{finding.id}  {printable(where)}   {times}"
    yield from wrap_after_heading("", MEANINGS.get(finding.violated, finding.violated) + ":")
    yield from wrap_after_heading("", printable(finding.words))
    size = sum(sent.length for each in finding.cases for sent in each.sent)
    cases, length = count_noun(len(finding.cases), "case"), count_noun(size, "byte")
    sent = f"{cases}, {length}, state {finding.state}"
    yield f"         {sent}"
    if 0 < size <= MOST_SHOWN:
        for record in (record for each in finding.cases for record in each.sent):
            first, *rest = _literals(record.data(), columns() - HEAD - len("sent: "))
            yield f"         sent: {first}"
            yield from (f"               {literal}" for literal in rest)
    for line in finding.log.splitlines():
        yield f"         log: {printable(line)}"
    yield f"         wireproof replay {finding.id} --bundle {shlex.quote(str(bundle))}"


def _literals(data: bytes, width: int) -> list[str]:
    """Return bytes as literals of Python, each within a width, to be copied as they are.

    What wraps words would lose blanks: a magic has two.
    """
    literals, start = list[str](), 0
    while start < len(data) or not literals:
        end = start + 1
        while end < len(data) and len(repr(data[start : end + 1])) <= width:
            end += 1
        literals.append(repr(data[start:end]))
        start = end
    return literals


def _describe_repeats(finding: FindingRecord) -> str:
    times = f"{finding.shown}/{finding.runs} repeats"
    return times if finding.shown else f"{times}: seen in the campaign, but not again"


def _summary(conclusion: Conclusion) -> Iterator[str]:
    campaign = conclusion.campaign
    yield ""
    yield (
        f"sent     in frame {campaign.in_frame} ({_rate(campaign.in_frame, campaign.in_frame_s)})"
        f"   reconnecting {campaign.reconnecting} "
        f"({_rate(campaign.reconnecting, campaign.reconnecting_s)})"
    )
    more = {
        "cases not sent, as they are like those of a finding": campaign.skipped,
        "cases left out without --hazardous, as they may touch what was there before": (
            campaign.left_out
        ),
        "suspicions not reproduced": campaign.not_again,
        "exercises of the kit's own clients left out, as their share of the time was used up": (
            campaign.spared
        ),
    }
    if campaign.deaths or campaign.repeated_deaths:
        yield from wrap_after_heading("", _describe_deaths(campaign))
    if campaign.unwatched_s is not None:
        yield from wrap_after_heading("", UNWATCHED.format(campaign.unwatched_s))
    if any(more.values()):
        told = ", ".join(f"{count} {words}" for words, count in more.items() if count)
        spent = f"{campaign.hunting_s:.1f} s spent on suspicions"
        yield from wrap_after_heading("", f"{told}; {spent}")
    for gap in campaign.gaps:
        yield from wrap_after_heading("gap", gap)
    yield from _coverage(campaign)


def _describe_deaths(campaign: CampaignRecord) -> str:
    """Return how often the target died on new cases, and on cases that were sent again."""
    new, again = campaign.deaths, campaign.repeated_deaths
    if not again:
        return f"the target died {describe_times(new)}"
    parts = [f"on new cases {describe_times(new)}"] if new else []
    parts.append(f"on cases sent again {again} times")
    return f"the target died {len(new) + again} times: {', '.join(parts)}"


def _coverage(campaign: CampaignRecord) -> Iterator[str]:
    if not campaign.coverage:
        return
    lost: Counter[tuple[str, str]] = Counter()
    for why, kinds in campaign.unjudged.items():
        counts = Counter({("frame", kind): sum(states.values()) for kind, states in kinds.items()})
        for states in kinds.values():
            counts.update({("state", state): count for state, count in states.items()})
        lost.update(counts)
        told = sum(sum(states.values()) for states in kinds.values())
        yield from wrap_after_heading("", f"{told} cases only partly judged: {why}")
    yield f"{'covered':<32}{'fields':>8}{'mutations':>11}{'states':>8}{'cases':>10}{'judged':>10}"
    by_state: Counter[str] = Counter()
    for frame, fields in campaign.coverage.items():
        mutations = {name for done in fields.values() for name in done}
        states = Counter[str]()
        for done in fields.values():
            for counts_of in done.values():
                states.update(counts_of)
        by_state.update(states)
        cases = states.total()
        row = f"{len(fields):>8}{len(mutations):>11}{len(states):>8}{cases:>10}"
        yield f"  {printable(frame):<30}{row}{max(cases - lost['frame', frame], 0):>10}"
    for state, cases in sorted(by_state.items()):
        judged = max(cases - lost["state", state], 0)
        yield f"  {'in state ' + printable(state):<57}{cases:>10}{judged:>10}"


def _table(campaign: CampaignRecord) -> Iterator[str]:
    """Yield the coverage table, one line per field."""
    yield ""
    yield from map(printable, Coverage.of_json(campaign.coverage).lines())


def _last(conclusion: Conclusion, style: Style) -> str:
    footer = conclusion.footer
    tone: Tone = "good" if footer.exit == 0 else "bad" if footer.exit in (1, 2) else "doubt"
    words = style.paint(WORDS.get(footer.exit, "NOT DONE"), tone)
    seed = f"seed {conclusion.campaign.seed}"
    return f"{words}   {footer.statement}   {seed}   exit {footer.exit}"


def _rate(count: int, seconds: float) -> str:
    return f"{count / seconds:.0f}/s" if count and seconds else "0/s"
