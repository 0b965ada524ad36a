"""The matrix of a selftest: which clauses caught each fault, and what failed unexpectedly."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from wireproof_kit.errors import UsageFault
from wireproof_kit.selftest.plan import (
    ALTERNATIVE,
    FAULT,
    MIX,
    VARIANT,
    TrialResult,
)
from wireproof_kit.selftest.shown import missed_readings, unshown

FORMAT = "wireproof-selftest-1"
PAGE = ".md"
SUFFIXES = (PAGE, ".jsonl")
INTERRUPTED = 130


@dataclass(slots=True)
class Matrix:
    """The results so far of a selftest, which runs the cases against brokers with known faults."""

    protocol: str
    seed: int
    planned: int
    seconds: float = 0.0
    interrupted: bool = False
    complete: bool = False
    """Whether all trials without faults were run with every case."""
    rows: list[TrialResult] = field(default_factory=list[TrialResult])

    def add(self, result: TrialResult) -> None:
        """Add the result of a trial."""
        self.rows.append(result)

    def of(self, kind: str) -> list[TrialResult]:
        """Return the results of trials of one kind, such as faults or variants, sorted by name."""
        rows = [row for row in self.rows if row.trial.kind == kind]
        return sorted(rows, key=lambda row: row.trial.name)

    def with_verdict(self, verdict: str) -> list[TrialResult]:
        """Return the results of trials with this verdict."""
        return [row for row in self.rows if row.verdict == verdict]

    def list_unexpected(self) -> list[TrialResult]:
        """Return the results of faults that made a case fail whose clause they do not declare."""
        return [row for row in self.rows if row.trial.kind == FAULT and row.unexpected]

    def unshown(self) -> list[str]:
        """Return the accepted observations that no faultless trial showed, if all cases ran."""
        legal = [row for row in self.rows if row.trial.kind != FAULT]
        if not legal or self.interrupted or not self.complete:
            return []
        missed = missed_readings(
            self.protocol,
            {row.trial.name: row.shown for row in legal if len(row.trial.switches) == 1},
        )
        return [*missed, *unshown(self.protocol, (line for row in legal for line in row.shown))]

    def groups(self) -> dict[str, "Tally"]:
        """Return how many faults were caught, by the group of the clauses that they break."""
        tallies: dict[str, Tally] = {}
        for row in self.of(FAULT):
            for clause in row.trial.breaks:
                tally = tallies.setdefault(clause.rpartition(".")[0], Tally())
                tally.count(clause, died=clause in row.red)
        return dict(sorted(tallies.items()))

    def summary(self) -> dict[str, int | float | bool]:
        """Return the totals of the selftest by name."""
        return {
            "faults": len(self.of(FAULT)),
            "died": len(self.with_verdict("died")),
            "survived": sum(1 for row in self.rows if row.survived),
            "unexpected": len(self.list_unexpected()),
            "variants": len(self.of(VARIANT)),
            "alternatives": len(self.of(ALTERNATIVE)),
            "mixes": len(self.of(MIX)),
            "false_alarms": len(self.with_verdict("alarm")),
            "unshown": len(self.unshown()),
            "troubles": len(self.with_verdict("trouble")),
            "repeated": sum(1 for row in self.rows if row.first),
            "planned": self.planned,
            "seed": self.seed,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }

    @property
    def exit(self) -> int:
        """Return the exit code: 0 if the kit judged correctly, 1 if not, 2 if undecided."""
        if self.interrupted:
            return INTERRUPTED
        bad = {"survived", "unexpected", "alarm"}
        if any(row.verdict in bad for row in self.rows):
            return 1
        return 2 if not self.rows or self.with_verdict("trouble") else 0


@dataclass(slots=True)
class Tally:
    """How many faults that break clauses of a group were caught; counted once for each clause."""

    due: int = 0
    died: int = 0
    clauses: set[str] = field(default_factory=set[str])

    def count(self, clause: str, *, died: bool) -> None:
        """Count a fault that breaks a clause; ``died`` means that it was caught."""
        self.clauses.add(clause)
        self.due += 1
        self.died += died

    @property
    def percent(self) -> float:
        """Return the share of faults that were caught, in percent."""
        return 100 * self.died / self.due


def check_writable(path: Path) -> None:
    """Check before the selftest starts that a matrix can be written to a file.

    Raises:
        UsageFault: the file cannot be written, or its suffix names no known format.
    """
    if path.suffix not in SUFFIXES:
        raise UsageFault(f"--out {path}: a name that ends in .md or .jsonl is needed")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as error:
        raise UsageFault(f"--out {path} cannot be written: {error.strerror}") from error


def write_matrix(path: Path, matrix: Matrix) -> None:
    """Write a selftest's results as a Markdown page or as JSON lines, by the file's suffix."""
    if path.suffix == PAGE:
        path.write_text("\n".join(page(matrix)) + "\n", encoding="utf-8")
        return
    lines: list[object] = [{"format": FORMAT, "seed": matrix.seed}]
    for kind in (FAULT, VARIANT, ALTERNATIVE, MIX):
        lines += [{"verdict": row.verdict, **_fields(row)} for row in matrix.of(kind)]
    lines.append(matrix.summary())
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def page(matrix: Matrix) -> Iterator[str]:
    """Yield the lines of a selftest's results as a Markdown page."""
    figures = matrix.summary()
    yield f"# How well the judge judges: {matrix.protocol}"
    yield ""
    command = f"wireproof selftest --protocol {matrix.protocol} --out FILE.md"
    yield f"Made by `{command}`; not edited by hand."
    yield ""
    yield (
        f"{figures['faults']} faults, {figures['variants']} variants, "
        f"{figures['alternatives']} permitted alternatives and {figures['mixes']} mixes of "
        f"variants in {matrix.seconds:.0f} s, seed {matrix.seed}: {figures['died']} faults died, "
        f"{figures['survived']} survived, {figures['unexpected']} turned red what they did not "
        f"declare; {figures['false_alarms']} false alarms. {figures['repeated']} trials ended "
        "wrongly beside others and were repeated alone."
    )
    yield ""
    yield (
        "A fault meets all cases of its clauses, until they are red. Of what must not turn red, "
        "the other clauses of its interfaces, and everything when what is on is legal, a trial "
        f"meets {_describe_met(matrix)}. Where what is on is legal, random histories are searched "
        "a thirteenth as far as in a run."
    )
    yield from _group_table(matrix)
    yield from _fault_table(matrix.of(FAULT))
    for title, kind in (
        ("Variants", VARIANT),
        ("Permitted alternatives", ALTERNATIVE),
        ("Mixes of variants", MIX),
    ):
        yield from _legal_table(title, matrix.of(kind))
    yield from _unshown_list(matrix.unshown())


def _describe_met(matrix: Matrix) -> str:
    if all(row.trial.every for row in matrix.rows):
        return "every case"
    return (
        "one case of each function, with other parameters each time, of a third of the functions "
        "or, a mix, of a quarter: other ones in each trial, and at least one of each clause; "
        "`make matrix` tries all"
    )


def _unshown_list(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield from ("", "## Accepted, and shown by no legal trial", "")
        yield from (f"- {line}" for line in lines)


def _group_table(matrix: Matrix) -> Iterator[str]:
    yield from ("", "## By clause group", "")
    yield from ("| group | clauses | faults by clause | died | |", "|---|---:|---:|---:|---:|")
    for group, tally in matrix.groups().items():
        counts = f"{len(tally.clauses)} | {tally.due} | {tally.died}"
        yield f"| {group} | {counts} | {tally.percent:.0f} % |"


def _fault_table(rows: Sequence[TrialResult]) -> Iterator[str]:
    yield from (
        "",
        "## Faults",
        "",
        "| fault | it is wrong by | verdict | red |",
        "|---|---|---|---|",
    )
    for row in rows:
        red = "; ".join(f"{clause} ({case})" for clause, case in row.red.items())
        more = "".join(f"; **{each.clause} ({each.case})**" for each in row.unexpected)
        left = "".join(f"; not {clause}" for clause in row.survived)
        text = f"{row.trial.text} ({row.trial.way})"
        yield f"| {row.trial.name} | {_cell(text)} | {row.verdict} | {red}{more}{left} |"


def _legal_table(title: str, rows: Sequence[TrialResult]) -> Iterator[str]:
    yield from ("", f"## {title}", "", "| name | what is different | cases | verdict |")
    yield "|---|---|---:|---|"
    for row in rows:
        yield f"| {row.trial.name} | {_cell(row.trial.text)} | {row.cases} | {row.verdict} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _fields(row: TrialResult) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(row)
    return fields
