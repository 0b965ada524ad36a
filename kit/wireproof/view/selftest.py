"""The terminal output of a selftest: a line a trial, a row a clause group, the problems."""

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from wireproof.options.global_options import OutputStyle
from wireproof.view.events import write_event
from wireproof.view.output import write_lines
from wireproof.view.style import Style, Tone, last_lines, wrap_after_heading
from wireproof_kit.decoding.printable import printable
from wireproof_kit.selftest.lock import FaultLock
from wireproof_kit.selftest.matrix import Matrix
from wireproof_kit.selftest.plan import TrialResult
from wireproof_reports.wording import count_noun

PROGRESS_EVERY_S = 5.0
LISTED = 3
TONES: dict[str, Tone] = {
    "died": "good",
    "lived": "good",
    "survived": "bad",
    "unexpected": "bad",
    "alarm": "bad",
    "trouble": "doubt",
}


class TrialEvent(TrialResult, frozen=True, tag_field="event", tag="trial", kw_only=True):
    """The result of one trial, with its verdict."""

    verdict: str  # pyright: ignore[reportIncompatibleMethodOverride]  # the property, as a member


class SelftestEvent(msgspec.Struct, frozen=True, tag_field="event", tag="verdict"):
    """The end of a selftest: how many trials ended in which way."""

    faults: int
    died: int
    survived: int
    unexpected: int
    variants: int
    alternatives: int
    mixes: int
    false_alarms: int
    unshown: int
    troubles: int
    repeated: int
    planned: int
    seed: int
    seconds: float
    interrupted: bool
    exit: int


@dataclass(slots=True)
class SelftestView:
    """Shows a selftest: text goes to ``out`` and, with ``--json``, JSON objects to ``events``."""

    out: IO[str]
    progress_to: IO[str] | None
    events: IO[str] | None
    style: Style
    total: int
    quiet: bool = False
    verbose: int = 0
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    progress_at: float = 0.0

    def show(self, row: TrialResult) -> None:
        """Write the result of one trial: a fault or variant, and which cases failed."""
        self.done += 1
        if self.events is not None:
            fields = {name: getattr(row, name) for name in row.__struct_fields__}
            write_event(self.events, TrialEvent(**fields, verdict=row.verdict))
        if not self.quiet:
            write_lines(self.out, self._lines(row))
        spent = time.monotonic() - self.started
        if self.progress_to is not None and spent - self.progress_at >= PROGRESS_EVERY_S:
            self.progress_at = spent
            left = spent / self.done * (self.total - self.done)
            progress = f"{self.done}/{self.total}, {spent:.0f} s, about {left:.0f} s left"
            write_lines(self.progress_to, [f"progress [ {progress} ]"])

    def end(self, matrix: Matrix, out: Path | None, lock: FaultLock | None) -> None:
        """Write totals by clause group, problems and conclusion.

        `out` is the matrix file, and `lock` the lock file of faults if these were recorded.
        """
        if not self.quiet:
            write_lines(self.out, ["", *group_rows(matrix)])
        write_lines(self.out, problems(matrix))
        if lock is not None:
            added = count_noun(lock.added, "clause")
            write_lines(self.out, [f"recorded {added} in {lock.path}; read the difference"])
        write_lines(self.out, conclusion(matrix, out, self.style))
        if self.events is not None:
            ended = {"event": "verdict", **matrix.summary(), "exit": matrix.exit}
            write_event(self.events, msgspec.convert(ended, SelftestEvent))

    def _lines(self, row: TrialResult) -> Iterator[str]:
        word = self.style.paint(f"{row.verdict.upper():<10}", TONES[row.verdict])
        again = f"; repeated alone, beside others {row.first}" if row.first else ""
        spent = f"{row.seconds:.1f} s, {count_noun(row.cases, 'case')}"
        yield f"{word} {row.trial.name}   {spent}{again}"
        if self.verbose:
            for clause, case in row.red.items():
                yield f"{'':<10} red {clause}   {case}"


def choose_view(manner: OutputStyle, *, total: int) -> SelftestView:
    """Return the view of a selftest for the output options of the command line."""
    out = sys.stderr if manner.json else sys.stdout
    return SelftestView(
        out=out,
        progress_to=None if manner.quiet else sys.stderr,
        events=sys.stdout if manner.json else None,
        style=Style(manner.is_coloured(out)),
        total=total,
        quiet=manner.quiet,
        verbose=manner.verbose,
    )


def group_rows(matrix: Matrix) -> Iterator[str]:
    """Yield a line for each clause group: how many faults its clauses detected."""
    for group, tally in matrix.groups().items():
        died = f"{tally.died}/{tally.due} died"
        clauses = count_noun(len(tally.clauses), "clause")
        yield f"{group:<24}{clauses:>12}{died:>18}{tally.percent:>10.0f} %"


def problems(matrix: Matrix) -> Iterator[str]:
    """Yield lines on faults not detected, unexpected failures, and trials that could not run."""
    for row in matrix.rows:
        for clause in row.survived:
            yield from wrap_after_heading(
                "SURVIVED", f"{row.trial.name} breaks {clause}, no case saw it"
            )
        word = "FALSE" if row.verdict == "alarm" else "RED"
        for each in row.unexpected[:LISTED]:
            reason = printable(each.reason)
            text = f"{row.trial.name} turned {each.case} ({each.clause}) {each.verdict}: {reason}"
            yield from wrap_after_heading(word, text)
        if len(row.unexpected) > LISTED:
            yield from wrap_after_heading(
                "", f"and {len(row.unexpected) - LISTED} more of {row.trial.name}"
            )
        if row.verdict == "unexpected":
            command = f"wireproof selftest --record {row.trial.name}"
            yield from wrap_after_heading("", f"If that is right, `{command}` adds it to the lock")
        if row.trouble:
            yield from wrap_after_heading("TROUBLE", f"{row.trial.name}: {printable(row.trouble)}")
    for line in matrix.unshown():
        yield from wrap_after_heading("UNSHOWN", f"{line} is accepted; no legal trial showed it")


def conclusion(matrix: Matrix, out: Path | None, style: Style) -> Iterator[str]:
    """Yield the last lines of a selftest: totals, the matrix file, and the exit code."""
    figures = matrix.summary()
    variants = count_noun(int(figures["variants"]), "variant")
    alternatives = count_noun(int(figures["alternatives"]), "alternative")
    legal = f"{variants}, {alternatives}, {figures['mixes']} mixes"
    faults = count_noun(int(figures["faults"]), "fault")
    yield f"{faults}: {figures['died']} died, {figures['survived']} survived"
    yield f"{legal}: {figures['false_alarms']} false alarms"
    if out is not None:
        yield f"matrix   {out}"
    words: dict[int, tuple[Tone, str]] = {
        0: ("good", "THE JUDGE HOLDS"),
        1: ("bad", "THE JUDGE IS WRONG"),
        2: ("doubt", "NOT TOLD"),
        130: ("doubt", "INTERRUPTED"),
    }
    tone, word = words[matrix.exit]
    more = f"{len(matrix.rows)} of {matrix.planned} in {matrix.seconds:.0f} s"
    end = f"seed {matrix.seed}   exit {matrix.exit}"
    yield from last_lines(word, tone, more, end, style)
