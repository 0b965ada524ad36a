"""The cases of a run by interface: rows of letters, counts, and a line for one case."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from wireproof.view.style import TONES, Style, Tone, cut_id
from wireproof.view.terminal import columns
from wireproof_kit.decoding.printable import clip, escape_unprintable, printable
from wireproof_reports.wording import shown_time
from wireproof_spec.record import VERDICTS, CaseRecord, HeaderRecord, Verdict

NAME = 22

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


def interface(record: CaseRecord) -> str:
    """Return protocol and interface of a case: ``nsq/publish``, ``iggy/apache/poll``.

    It has as many words of the case's id as the group of the clause has.
    """
    words = max(record.clause.count("."), 2)
    return escape_unprintable("/".join(record.case.split("/")[:words]))


def mark(record: CaseRecord, header: HeaderRecord) -> Mark:
    """Return a case's verdict; ``uncounted`` for a failure that the run does not count."""
    if record.verdict == "fail" and not header.counts(record.level, record.origin):
        return UNCOUNTED
    return record.verdict


def by_interface(records: Iterable[CaseRecord], header: HeaderRecord) -> dict[str, list[Mark]]:
    """Return the marks of the cases of each interface, in the order of first appearance."""
    rows: dict[str, list[Mark]] = {}
    for record in records:
        rows.setdefault(interface(record), []).append(mark(record, header))
    return rows


def row(name: str, verdicts: Sequence[Mark], style: Style) -> list[str]:
    """Return the lines of one interface: its name, a letter for each verdict, the counts."""
    most = columns() - NAME - 2
    pieces = [verdicts[at : at + most] for at in range(0, len(verdicts), most)]
    heads = [name, *[""] * (len(pieces) - 1)]
    lines = [
        f"{clip(head, NAME - 1):<{NAME}}{_letters(piece, style)}"
        for head, piece in zip(heads, pieces, strict=True)
    ]
    plain, room = counts(verdicts), columns() - NAME - len(pieces[-1])
    if len(plain) + 2 <= room:
        return [*lines[:-1], lines[-1] + " " * (room - len(plain)) + counts(verdicts, style)]
    return [*lines, *_count_lines(verdicts, style)]


def _count_lines(verdicts: Sequence[Mark], style: Style) -> Iterator[str]:
    """Return the counts at the right end of as many lines as they need."""
    line: list[Mark] = []
    found = Counter(verdicts)
    for name in MARKS:
        if not found[name]:
            continue
        if line and len(_counts_of(verdicts, [*line, name])) > columns():
            yield _at_the_right(verdicts, line, style)
            line = []
        line.append(name)
    yield _at_the_right(verdicts, line, style)


def _at_the_right(verdicts: Sequence[Mark], names: Sequence[Mark], style: Style) -> str:
    room = columns() - len(_counts_of(verdicts, names))
    return " " * room + _counts_of(verdicts, names, style)


def groups(records: Iterable[CaseRecord], header: HeaderRecord, style: Style) -> Iterator[str]:
    """Return a line for each interface: its name, and the number of cases with each verdict."""
    rows = by_interface(records, header)
    width = max(map(len, rows), default=0)
    for name, verdicts in rows.items():
        if width + 2 + len(counts(verdicts)) <= columns():
            yield f"{name:<{width}}  {counts(verdicts, style)}"
        else:
            yield from (name, *_count_lines(verdicts, style))


def counts(verdicts: Iterable[Mark], style: Style | None = None) -> str:
    """Return the number of cases with each verdict as text: ``12 pass 4 FAIL``."""
    return _counts_of(verdicts, MARKS, style)


def _counts_of(verdicts: Iterable[Mark], names: Sequence[Mark], style: Style | None = None) -> str:
    found = Counter(verdicts)
    words: list[tuple[Mark, str]] = [
        (name, f"{found[name]} {COUNT_WORDS[name]}") for name in names if found[name]
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


def rows(records: Iterable[CaseRecord], header: HeaderRecord, style: Style) -> Iterable[str]:
    """Return the lines of all interfaces: name, one letter for each verdict, counts."""
    for name, verdicts in by_interface(records, header).items():
        yield from row(name, verdicts, style)


def case_line(record: CaseRecord, header: HeaderRecord, style: Style) -> str:
    """Return one case as a line: ``PASS nsq/publish/… 3 ms``, with the reason of a failure."""
    shown = mark(record, header)
    word = f"NOT COUNTED ({record.level})" if shown == UNCOUNTED else _WORDS[shown]
    painted = style.paint(word, _tone(shown))
    told = f"{painted} {cut_id(record.case)} {shown_time(record.duration_us)}"
    if record.verdict in ("pass", "unsupported"):
        return told  # the summary has each reason for which cases were left out once
    return f"{told}  {clip(printable(record.reason), 200)}"


_WORDS: dict[Mark, str] = {
    **COUNT_WORDS,
    "pass": "PASS",
    "reading": "READING",
    "known": "KNOWN",
    "unsupported": "N/A",
    "inconclusive": "UNDECIDED",
    "unstable": "UNSTABLE",
}
