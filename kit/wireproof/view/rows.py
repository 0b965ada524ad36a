"""A row of letters and counts for each interface."""

from collections import Counter
from collections.abc import Iterable, Sequence

from wireproof.view.style import COLUMNS, TONES, Style
from wireproof_kit.decoding.printable import escape_unprintable
from wireproof_spec.record import VERDICTS, CaseRecord, Verdict

NAME = 22
LETTERS = 56

SIGNS: dict[Verdict, str] = {
    "pass": ".",
    "reading": "~",
    "fail": "F",
    "known": "x",
    "unsupported": "s",
    "inconclusive": "?",
    "unstable": "u",
    "error": "E",
}

COUNT_WORDS: dict[Verdict, str] = {
    "pass": "pass",
    "reading": "other reading",
    "fail": "FAIL",
    "known": "known",
    "unsupported": "n/a",
    "inconclusive": "undecided",
    "unstable": "unstable",
    "error": "KIT ERROR",
}


def interface(case_id: str) -> str:
    """Return protocol and interface of a case id: ``nsq/publish``."""
    return escape_unprintable("/".join(case_id.split("/")[:2]))


def by_interface(records: Iterable[CaseRecord]) -> dict[str, list[Verdict]]:
    """Return the verdicts of each interface in the order in which interfaces came."""
    rows: dict[str, list[Verdict]] = {}
    for record in records:
        rows.setdefault(interface(record.case), []).append(record.verdict)
    return rows


def row(name: str, verdicts: Sequence[Verdict], style: Style) -> list[str]:
    """Return the lines of one interface: its name, a letter a case, the counts on the right."""
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


def counts(verdicts: Iterable[Verdict], style: Style | None = None) -> str:
    """Return how many of each verdict: ``12 pass 4 FAIL``."""
    found = Counter(verdicts)
    words: list[tuple[Verdict, str]] = [
        (name, f"{found[name]} {COUNT_WORDS[name]}") for name in VERDICTS if found[name]
    ]
    return " ".join(style.paint(word, TONES[name]) if style else word for name, word in words)


def _letters(verdicts: Sequence[Verdict], style: Style) -> str:
    """Return a letter for each verdict; a run of equal ones is painted at once."""
    return "".join(style.paint(SIGNS[run[0]] * len(run), TONES[run[0]]) for run in _runs(verdicts))


def _runs(verdicts: Sequence[Verdict]) -> list[list[Verdict]]:
    runs: list[list[Verdict]] = []
    for verdict in verdicts:
        if runs and runs[-1][0] == verdict:
            runs[-1].append(verdict)
        else:
            runs.append([verdict])
    return runs
