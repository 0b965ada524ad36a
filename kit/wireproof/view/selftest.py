"""What a self-test tells: a line a trial, a row a clause group, and what went wrong."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from wireproof.options.global_options import Manner
from wireproof.view.output import write_lines
from wireproof.view.style import COLUMNS, Ink, Tone, wrapped
from wireproof_kit.decoding.printable import printable
from wireproof_kit.selftest.matrix import Matrix
from wireproof_kit.selftest.plan import Shown
from wireproof_reports.wording import counted

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


@dataclass(slots=True)
class RehearsalView:
    """Tells people on ``out`` and, with ``--json``, machines on ``events``."""

    out: IO[str]
    progress_to: IO[str] | None
    events: IO[str] | None
    ink: Ink
    total: int
    quiet: bool = False
    verbose: int = 0
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    told_at: float = 0.0

    def shown(self, row: Shown) -> None:
        """Tell what one trial showed."""
        self.done += 1
        if self.events is not None:
            event = {"event": "trial", "verdict": row.verdict, **msgspec.to_builtins(row)}
            write_lines(self.events, [json.dumps(event)])
        if not self.quiet:
            write_lines(self.out, self._lines(row))
        spent = time.monotonic() - self.started
        if self.progress_to is not None and spent - self.told_at >= PROGRESS_EVERY_S:
            self.told_at = spent
            left = spent / self.done * (self.total - self.done)
            told = f"{self.done}/{self.total}, {spent:.0f} s, about {left:.0f} s left"
            write_lines(self.progress_to, [f"progress [ {told} ]"])

    def end(self, matrix: Matrix, out: Path | None) -> None:
        """Tell what all came to."""
        if not self.quiet:
            write_lines(self.out, ["", *group_rows(matrix)])
        write_lines(self.out, [*problems(matrix), *conclusion(matrix, out, self.ink)])
        if self.events is not None:
            write_lines(self.events, [json.dumps({**matrix.summary(), "exit": matrix.exit})])

    def _lines(self, row: Shown) -> Iterator[str]:
        word = self.ink.paint(f"{row.verdict.upper():<10}", TONES[row.verdict])
        yield f"{word} {row.trial.name}   {row.seconds:.1f} s, {counted(row.cases, 'case')}"
        if self.verbose:
            for clause, case in row.red.items():
                yield f"{'':<10} red {clause}   {case}"


def choose_view(manner: Manner, *, total: int) -> RehearsalView:
    """Return the view that fits what the user asked for."""
    out = sys.stderr if manner.json else sys.stdout
    return RehearsalView(
        out=out,
        progress_to=None if manner.quiet else sys.stderr,
        events=sys.stdout if manner.json else None,
        ink=Ink(manner.is_coloured(out)),
        total=total,
        quiet=manner.quiet,
        verbose=manner.verbose,
    )


def group_rows(matrix: Matrix) -> Iterator[str]:
    """Return a row for each clause group: how many faults died of its clauses."""
    for group, tally in matrix.groups().items():
        died = f"{tally.died}/{tally.due} died"
        clauses = counted(len(tally.clauses), "clause")
        yield f"{group:<24}{clauses:>12}{died:>18}{tally.percent:>10.0f} %"


def problems(matrix: Matrix) -> Iterator[str]:
    """Return what survived, what turned red unasked, and what could not be told."""
    for row in matrix.rows:
        for clause in row.survived:
            yield from wrapped("SURVIVED", f"{row.trial.name} breaks {clause}, no case saw it")
        word = "FALSE" if row.verdict == "alarm" else "RED"
        for each in row.unexpected[:LISTED]:
            reason = printable(each.reason)
            told = f"{row.trial.name} turned {each.case} ({each.clause}) {each.verdict}: {reason}"
            yield from wrapped(word, told)
        if len(row.unexpected) > LISTED:
            yield from wrapped("", f"and {len(row.unexpected) - LISTED} more of {row.trial.name}")
        if row.trouble:
            yield from wrapped("TROUBLE", f"{row.trial.name}: {printable(row.trouble)}")


def conclusion(matrix: Matrix, out: Path | None, ink: Ink) -> Iterator[str]:
    """Return the figures, where the matrix is, and the last line with the exit code."""
    figures = matrix.summary()
    legal = f"{counted(int(figures['variants']), 'variant')}, {figures['mixes']} mixes"
    faults = counted(int(figures["faults"]), "fault")
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
    told = f"{word}   {len(matrix.rows)} of {matrix.planned} in {matrix.seconds:.0f} s"
    end = f"seed {matrix.seed}   exit {matrix.exit}"
    yield ink.paint(word, tone) + told.removeprefix(word) + f"{end:>{COLUMNS - len(told)}}"
