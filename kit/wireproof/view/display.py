"""How a run is shown as it goes: line by line, redrawn on a terminal, or as events."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from wireproof.view.banner import banner
from wireproof.view.events import (
    VerdictEvent,
    case_event,
    header_event,
    verdict_event,
    write_event,
)
from wireproof.view.output import write_lines
from wireproof.view.rows import case_line, groups, mark, rows
from wireproof.view.style import Style, wrap_after_heading
from wireproof.view.summary import Result, summary
from wireproof.view.terminal import columns
from wireproof_kit.decoding.printable import clip, printable
from wireproof_kit.runner.patience import LEAST_LOAD, read_load
from wireproof_kit.runner.run_cases import COUNTED
from wireproof_reports.wording import count_noun
from wireproof_spec.record import CaseRecord, HeaderRecord

PROGRESS_EVERY_S = 5.0
REDRAW_EVERY_S = 0.1
LEAST_ENDED = 20
"""Cases from which the time left is estimated, or a tenth of all if that is less."""

Clock = Callable[[], float]


class Display(Protocol):
    """The interface of what shows a run to the user; ``end`` or ``fault`` is called last."""

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Show the start of the run; `selected` is the number of its cases."""
        ...

    def case(self, record: CaseRecord) -> None:
        """Show one judged case."""
        ...

    def ended(self, count: int) -> None:
        """Receive how many cases have ended; some of them are shown later, in their order."""
        ...

    def wait(self, what: str, seconds: float) -> None:
        """Show what the run has been waiting for, and how long; called from another thread."""
        ...

    def lengthened(self, load: float) -> None:
        """Show that waits begin to be lengthened, and how many times; called from any thread."""
        ...

    def end(self, result: Result) -> None:
        """Show the result of the completed run."""
        ...

    def fault(self, sentence: str) -> None:
        """Show the sentence that says why the run could not be completed."""
        ...


@dataclass(slots=True)
class Progress:
    """Counts the completed cases of a run and estimates the remaining time.

    ``done`` cases are shown. ``ended`` may be more: cases run in parallel and are shown in their
    order, so that one that hangs holds back those behind it. The estimate is made from ``ended``.
    ``load`` returns how many times the limits of the run's cases are lengthened just now.
    """

    clock: Clock
    load: Callable[[], float] = lambda: 1.0
    selected: int = 0
    done: int = 0
    ended: int = 0
    repeats: int = 0
    started: float = 0.0

    def begin(self, selected: int) -> None:
        """Start the clock for a run of `selected` cases."""
        self.selected, self.started = selected, self.clock()
        self.done = self.ended = self.repeats = 0

    def count(self, record: CaseRecord) -> None:
        """Count a case that is shown, and how often it was repeated."""
        self.done += 1
        self.repeats += record.repeats.runs - 1

    def seconds(self) -> float:
        """Return the seconds since the run began."""
        return max(self.clock() - self.started, 0.0)

    def line(self) -> str:
        """Return cases done and time as text; also the time left once it can be estimated."""
        spent = self.seconds()
        told = f"{self.done}/{self.selected}, {spent:.1f} s"
        if self.done >= self.selected:
            return f"[ {told}, {self.done / max(spent, 0.001):.0f} cases/s ]"
        if self.repeats:
            told += f", {count_noun(self.repeats, 'repeat')}"
        ended = max(self.ended, self.done)
        if spent >= PROGRESS_EVERY_S and ended >= min(LEAST_ENDED, self.selected / 10):
            told += f", about {spent / ended * (self.selected - ended):.0f} s left"
        if (load := self.load()) >= LEAST_LOAD:
            told += f"; the machine is busy, limits are {load:.1f} times as long"
        return f"[ {told} ]"


@dataclass(slots=True)
class LineDisplay:
    """Shows a run line by line, for logs; progress goes to a separate stream.

    Failures that count and undecided cases have a line as they come; at the end each interface
    has a line with its counts, or with ``recorded`` on a terminal a row of letters. ``verbose``
    shows a line for each case instead, ``failures_only`` nothing but the first lines.
    """

    out: IO[str]
    progress_to: IO[str] | None
    style: Style
    verbose: int = 0
    quiet: bool = False
    recorded: bool = False
    failures_only: bool = False
    bundle: Path | None = None
    clock: Clock = time.monotonic
    _progress: Progress | None = None
    _header: HeaderRecord | None = None
    _busy: float = 0.0
    _told_at: float = 0.0

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Write the first lines of the run: versions, target, claims, readings."""
        self._header = header
        self._progress = Progress(self.clock, _limit_load(header))
        self._progress.begin(selected)
        if not self.quiet:
            write_lines(self.out, banner(header, bundle=self.bundle))
        if self._busy:
            self.lengthened(self._busy)

    def case(self, record: CaseRecord) -> None:
        """Write verdict, id and duration of a case, and the reason unless it passed."""
        if self._header is not None and self._shows(record, self._header):
            write_lines(self.out, [case_line(record, self._header, self.style)])
        self._tell_progress(record)

    def ended(self, count: int) -> None:
        """Keep how many cases have ended, for the estimate of the time left."""
        if self._progress is not None:
            self._progress.ended = count

    def wait(self, what: str, seconds: float) -> None:
        """Write to the progress stream what the run waits for."""
        if self.progress_to is not None:
            write_lines(self.progress_to, [waiting_line(what, seconds)])

    def lengthened(self, load: float) -> None:
        """Write that waits begin to be lengthened, and why; below the first lines of the run."""
        self._busy = load
        if self._header is not None and not (self.quiet or self.failures_only):
            write_lines(self.out, wrap_after_heading("busy", busy_words(load)))

    def end(self, result: Result) -> None:
        """Write the summary of the run."""
        if not (self.quiet or self.failures_only or self._shows_all()):
            show = rows if self.recorded and self.out.isatty() else groups
            lines = show(result.records, result.header, self.style)
            write_lines(self.out, ["", *self._cut_off(result), *lines])
        ending = summary(result, verbose=self.verbose, quiet=self.quiet, style=self.style)
        write_lines(self.out, ending)

    def fault(self, sentence: str) -> None:
        """Do nothing: the caller reports the error."""

    def _cut_off(self, result: Result) -> Iterator[str]:
        """Yield a line if the counts of the interfaces are those of a part of the run."""
        if result.footer.interrupted:
            done, selected = len(result.records), self._progress.selected if self._progress else 0
            of = f" of {selected}" if selected > done else ""
            text = f"interrupted after {done}{of} cases; the counts are of these"
            yield from wrap_after_heading("part", text)

    def _shows(self, record: CaseRecord, header: HeaderRecord) -> bool:
        if self.quiet or (self.recorded and not self.failures_only):
            return False
        return self._shows_all() or mark(record, header) in COUNTED

    def _shows_all(self) -> bool:
        return bool(self.verbose) and not (self.recorded or self.failures_only)

    def _tell_progress(self, record: CaseRecord) -> None:
        progress = self._progress
        if progress is None:
            return
        progress.count(record)
        spent = progress.seconds()
        if self.progress_to is not None and spent - self._told_at >= PROGRESS_EVERY_S:
            self._told_at = spent
            write_lines(self.progress_to, [f"progress {progress.line()}"])


@dataclass(slots=True)
class LiveDisplay:
    """Shows a run in a terminal as rows of letters, which are redrawn as cases complete."""

    out: IO[str]
    style: Style
    height: int
    verbose: int = 0
    bundle: Path | None = None
    clock: Clock = time.monotonic
    _progress: Progress | None = None
    _header: HeaderRecord | None = None
    _busy: float = 0.0
    _records: list[CaseRecord] = field(default_factory=list[CaseRecord])
    _drawn: int = 0
    _drawn_at: float = float("-inf")
    _drawing: threading.RLock = field(default_factory=threading.RLock)

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Write the first lines of the run: versions, target, claims, readings."""
        self._header = header
        self._progress = Progress(self.clock, _limit_load(header))
        self._progress.begin(selected)
        busy = wrap_after_heading("busy", busy_words(self._busy)) if self._busy else []
        write_lines(self.out, [*banner(header, bundle=self.bundle), *busy, ""])

    def case(self, record: CaseRecord) -> None:
        """Add the letter of a case to its row; the rows are redrawn ten times a second at most."""
        self._records.append(record)
        if self._progress is not None:
            self._progress.count(record)
        if self.clock() - self._drawn_at >= REDRAW_EVERY_S:
            self._draw(whole=False)

    def ended(self, count: int) -> None:
        """Keep how many cases have ended, for the estimate of the time left."""
        if self._progress is not None:
            self._progress.ended = count

    def wait(self, what: str, seconds: float) -> None:
        """Write below the rows what the run waits for; the next case overwrites the line."""
        with self._drawing:
            write_lines(self.out, [clip(waiting_line(what, seconds), columns())])
            self._drawn += 1 if self._drawn else 0

    def lengthened(self, load: float) -> None:
        """Write below the rows that waits begin to be lengthened; the next case overwrites it."""
        self._busy = load
        with self._drawing:
            if self._header is None:
                return
            write_lines(self.out, [clip(f"busy     {busy_words(load)}", columns())])
            self._drawn += 1 if self._drawn else 0

    def end(self, result: Result) -> None:
        """Write all rows of letters, and the summary below them."""
        self._draw(whole=True)
        write_lines(self.out, summary(result, verbose=self.verbose, quiet=False, style=self.style))

    def fault(self, sentence: str) -> None:
        """Leave the rows of letters as they are: the caller reports the error."""
        if self._records:
            self._draw(whole=True)

    def _draw(self, *, whole: bool) -> None:
        """Redraw; while the run goes on, never more than fits the screen."""
        with self._drawing:
            self._draw_rows(whole=whole)

    def _draw_rows(self, *, whole: bool) -> None:
        lines = list(rows(self._records, self._header, self.style)) if self._header else []
        progress = self._progress.line() if self._progress else ""
        lines.append(f"{clip(progress, columns()):>{columns()}}")
        if not whole:
            lines = lines[-max(self.height - 2, 1) :]
        if self._drawn:
            self.out.write(f"\x1b[{self._drawn}F\x1b[J")
        write_lines(self.out, lines)
        self._drawn, self._drawn_at = len(lines), self.clock()


@dataclass(slots=True)
class EventDisplay:
    """Writes a run to stdout as JSON, one object per line; text goes to another display."""

    out: IO[str]
    human: Display
    bundle: Path | None = None

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Write the first event of the run: target, claims, readings, number of cases."""
        self.human.begin(header, selected=selected)
        write_event(self.out, header_event(header, selected=selected, bundle=self.bundle))

    def case(self, record: CaseRecord) -> None:
        """Write the event of one judged case."""
        self.human.case(record)
        write_event(self.out, case_event(record))

    def ended(self, count: int) -> None:
        """Pass how many cases have ended to the display for people."""
        self.human.ended(count)

    def wait(self, what: str, seconds: float) -> None:
        """Pass what the run waits for to the display for people."""
        self.human.wait(what, seconds)

    def lengthened(self, load: float) -> None:
        """Pass to the display for people that waits begin to be lengthened."""
        self.human.lengthened(load)

    def end(self, result: Result) -> None:
        """Write the last event of the run, with its result."""
        self.human.end(result)
        write_event(self.out, verdict_event(result))

    def fault(self, sentence: str) -> None:
        """Write the last event of a run that could not be completed."""
        self.human.fault(sentence)
        write_event(self.out, VerdictEvent(exit=2, fault=sentence))


def busy_words(load: float) -> str:
    """Return why waits are lengthened, and how many times."""
    average, processors = os.getloadavg()[0], count_noun(os.cpu_count() or 1, "processor")
    why = f"this machine is busy (load {average:.1f} on {processors})"
    return f"{why}: waits, and limits of cases, are up to {load:.1f} times as long"


def _limit_load(header: HeaderRecord) -> Callable[[], float]:
    """Return the function that says how many times the limits of a client's cases are longer."""
    return read_load if header.target.is_client() else lambda: 1.0


def waiting_line(what: str, seconds: float) -> str:
    """Return a line on what a run waits for: ``waiting  [ 40 s for nsq/cluster/moved ]``."""
    return f"waiting  [ {seconds:.0f} s for {printable(what)} ]"
