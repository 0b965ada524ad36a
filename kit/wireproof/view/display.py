"""How a run is shown as it goes: line by line, redrawn on a terminal, or as events."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Literal, Protocol, TypeAlias

from wireproof.view.banner import banner
from wireproof.view.events import case_event, header_event, verdict_event, write_event
from wireproof.view.output import write_lines
from wireproof.view.style import COLUMNS, TONES, Style, Tone
from wireproof.view.summary import Result, summary
from wireproof_kit.decoding.printable import clip, escape_unprintable, printable
from wireproof_kit.runner.run_cases import COUNTED
from wireproof_reports.wording import shown_time
from wireproof_spec.record import VERDICTS, CaseRecord, HeaderRecord, Verdict

NAME = 22
LETTERS = 56

Mark: TypeAlias = Verdict | Literal["uncounted"]
"""How a case is shown: by its verdict, or as a failure that the run does not count."""

UNCOUNTED: Literal["uncounted"] = "uncounted"

MARKS: tuple[Mark, ...] = (*VERDICTS, UNCOUNTED)

SIGNS: dict[Mark, str] = {
    "pass": ".",
    "reading": "~",
    "fail": "F",
    "uncounted": "f",
    "known": "x",
    "unsupported": "s",
    "inconclusive": "?",
    "unstable": "u",
    "error": "E",
}

COUNT_WORDS: dict[Mark, str] = {
    "pass": "pass",
    "reading": "other reading",
    "fail": "FAIL",
    "uncounted": "not counted",
    "known": "known",
    "unsupported": "n/a",
    "inconclusive": "undecided",
    "unstable": "unstable",
    "error": "KIT ERROR",
}


def interface(case_id: str) -> str:
    """Return protocol and interface, the first two words of a case id: ``nsq/publish``."""
    return escape_unprintable("/".join(case_id.split("/")[:2]))


def mark(record: CaseRecord, header: HeaderRecord) -> Mark:
    """Return a case's verdict; ``uncounted`` for a failure that the run does not count."""
    if record.verdict == "fail" and not header.counts(record.level, record.origin):
        return UNCOUNTED
    return record.verdict


def by_interface(records: Iterable[CaseRecord], header: HeaderRecord) -> dict[str, list[Mark]]:
    """Return the marks of the cases of each interface, in the order of first appearance."""
    rows: dict[str, list[Mark]] = {}
    for record in records:
        rows.setdefault(interface(record.case), []).append(mark(record, header))
    return rows


def row(name: str, verdicts: Sequence[Mark], style: Style) -> list[str]:
    """Return the lines of one interface: its name, a letter for each verdict, the counts."""
    pieces = [verdicts[at : at + LETTERS] for at in range(0, len(verdicts), LETTERS)]
    heads = [name, *[""] * (len(pieces) - 1)]
    lines = [
        f"{head:<{NAME}}{_letters(piece, style)}"
        for head, piece in zip(heads, pieces, strict=True)
    ]
    plain, painted = counts(verdicts), counts(verdicts, style)
    room = COLUMNS - max(NAME, len(heads[-1])) - len(pieces[-1])
    if len(plain) + 2 > room:
        return [*lines, " " * (COLUMNS - len(plain)) + painted]
    return [*lines[:-1], lines[-1] + " " * (room - len(plain)) + painted]


def counts(verdicts: Iterable[Mark], style: Style | None = None) -> str:
    """Return the number of cases with each verdict as text: ``12 pass 4 FAIL``."""
    found = Counter(verdicts)
    words: list[tuple[Mark, str]] = [
        (name, f"{found[name]} {COUNT_WORDS[name]}") for name in MARKS if found[name]
    ]
    return " ".join(style.paint(word, _tone(name)) if style else word for name, word in words)


def _tone(shown: Mark) -> Tone:
    return "faint" if shown == UNCOUNTED else TONES[shown]


def _letters(verdicts: Sequence[Mark], style: Style) -> str:
    """Return a letter for each verdict; a run of equal ones is painted at once."""
    return "".join(style.paint(SIGNS[run[0]] * len(run), _tone(run[0])) for run in _runs(verdicts))


def _runs(verdicts: Sequence[Mark]) -> list[list[Mark]]:
    runs: list[list[Mark]] = []
    for verdict in verdicts:
        if runs and runs[-1][0] == verdict:
            runs[-1].append(verdict)
        else:
            runs.append([verdict])
    return runs


PROGRESS_EVERY_S = 5.0
REDRAW_EVERY_S = 0.1

Clock = Callable[[], float]


class Display(Protocol):
    """The interface of what shows a run to the user; ``end`` or ``fault`` is called last."""

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Show the start of the run; `selected` is the number of its cases."""
        ...

    def case(self, record: CaseRecord) -> None:
        """Show one judged case."""
        ...

    def wait(self, what: str, seconds: float) -> None:
        """Show what the run has been waiting for, and how long; called from another thread."""
        ...

    def end(self, result: Result) -> None:
        """Show the result of the completed run."""
        ...

    def fault(self, sentence: str) -> None:
        """Show the sentence that says why the run could not be completed."""
        ...


@dataclass(slots=True)
class Progress:
    """Counts the completed cases of a run and estimates the remaining time."""

    clock: Clock
    selected: int = 0
    done: int = 0
    started: float = 0.0

    def begin(self, selected: int) -> None:
        """Start the clock for a run of `selected` cases."""
        self.selected, self.done, self.started = selected, 0, self.clock()

    def seconds(self) -> float:
        """Return the seconds since the run began."""
        return max(self.clock() - self.started, 0.0)

    def line(self) -> str:
        """Return cases done and time as text; also the time left once it can be estimated."""
        spent = self.seconds()
        told = f"{self.done}/{self.selected}, {spent:.1f} s"
        if self.done >= self.selected:
            return f"[ {told}, {self.done / max(spent, 0.001):.0f} cases/s ]"
        if spent < PROGRESS_EVERY_S or not self.done:
            return f"[ {told} ]"
        left = spent / self.done * (self.selected - self.done)
        return f"[ {told}, about {left:.0f} s left ]"


@dataclass(slots=True)
class LineDisplay:
    """Shows a run as one line per case, for logs; progress goes to a separate stream.

    With ``by_row`` a row of letters for each interface, written at the end, replaces the lines;
    with ``failures_only`` there are lines only for failures that count and undecided cases.
    """

    out: IO[str]
    progress_to: IO[str] | None
    style: Style
    verbose: int = 0
    quiet: bool = False
    by_row: bool = False
    failures_only: bool = False
    bundle: Path | None = None
    clock: Clock = time.monotonic
    _progress: Progress | None = None
    _header: HeaderRecord | None = None
    _told_at: float = 0.0

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Write the first lines of the run: versions, target, claims, readings."""
        self._header = header
        self._progress = Progress(self.clock)
        self._progress.begin(selected)
        if not self.quiet:
            write_lines(self.out, banner(header, bundle=self.bundle))

    def case(self, record: CaseRecord) -> None:
        """Write verdict, id and duration of a case, and the reason unless it passed."""
        if self._header is not None and self._shows(record, self._header):
            write_lines(self.out, [case_line(record, self._header, self.style)])
        self._tell_progress()

    def wait(self, what: str, seconds: float) -> None:
        """Write to the progress stream what the run waits for."""
        if self.progress_to is not None:
            write_lines(self.progress_to, [waiting_line(what, seconds)])

    def end(self, result: Result) -> None:
        """Write the summary of the run."""
        if self.by_row and not self.quiet:
            write_lines(self.out, ["", *rows(result.records, result.header, self.style)])
        ending = summary(result, verbose=self.verbose, quiet=self.quiet, style=self.style)
        write_lines(self.out, ending)

    def fault(self, sentence: str) -> None:
        """Do nothing: the caller reports the error."""

    def _shows(self, record: CaseRecord, header: HeaderRecord) -> bool:
        if self.quiet or self.by_row:
            return False
        return not self.failures_only or mark(record, header) in COUNTED

    def _tell_progress(self) -> None:
        progress = self._progress
        if progress is None:
            return
        progress.done += 1
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
    _records: list[CaseRecord] = field(default_factory=list[CaseRecord])
    _drawn: int = 0
    _drawn_at: float = float("-inf")
    _drawing: threading.RLock = field(default_factory=threading.RLock)

    def begin(self, header: HeaderRecord, *, selected: int) -> None:
        """Write the first lines of the run: versions, target, claims, readings."""
        self._header = header
        self._progress = Progress(self.clock)
        self._progress.begin(selected)
        write_lines(self.out, [*banner(header, bundle=self.bundle), ""])

    def case(self, record: CaseRecord) -> None:
        """Add the letter of a case to its row; the rows are redrawn ten times a second at most."""
        self._records.append(record)
        if self._progress is not None:
            self._progress.done += 1
        if self.clock() - self._drawn_at >= REDRAW_EVERY_S:
            self._draw(whole=False)

    def wait(self, what: str, seconds: float) -> None:
        """Write below the rows what the run waits for; the next case overwrites the line."""
        with self._drawing:
            write_lines(self.out, [waiting_line(what, seconds)])
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
        lines.append(f"{progress:>{COLUMNS}}")
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

    def wait(self, what: str, seconds: float) -> None:
        """Pass what the run waits for to the display for people."""
        self.human.wait(what, seconds)

    def end(self, result: Result) -> None:
        """Write the last event of the run, with its result."""
        self.human.end(result)
        write_event(self.out, verdict_event(result))

    def fault(self, sentence: str) -> None:
        """Write the last event of a run that could not be completed."""
        self.human.fault(sentence)
        write_event(self.out, {"event": "verdict", "exit": 2, "fault": sentence})


def waiting_line(what: str, seconds: float) -> str:
    """Return a line on what a run waits for: ``waiting  [ 40 s for nsq/cluster/moved ]``."""
    return f"waiting  [ {seconds:.0f} s for {printable(what)} ]"


def rows(records: Iterable[CaseRecord], header: HeaderRecord, style: Style) -> Iterable[str]:
    """Return the lines of all interfaces: name, one letter for each verdict, counts."""
    for name, verdicts in by_interface(records, header).items():
        yield from row(name, verdicts, style)


def case_line(record: CaseRecord, header: HeaderRecord, style: Style) -> str:
    """Return one case as a line: ``PASS nsq/publish/… 3 ms``, with the reason unless it passed."""
    shown = mark(record, header)
    word = f"NOT COUNTED ({record.level})" if shown == UNCOUNTED else _WORDS[shown]
    painted = style.paint(word, _tone(shown))
    told = f"{painted} {record.case} {shown_time(record.duration_us)}"
    return told if record.verdict == "pass" else f"{told}  {clip(printable(record.reason), 200)}"


_WORDS: dict[Mark, str] = {
    **COUNT_WORDS,
    "pass": "PASS",
    "reading": "READING",
    "known": "KNOWN",
    "unsupported": "N/A",
    "inconclusive": "UNDECIDED",
    "unstable": "UNSTABLE",
}
