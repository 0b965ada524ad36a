"""The result of a campaign: the rate, the survivors, and the page about a complete campaign."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from equivalents import ANY, KnownMutants, idle, read
from mutants import Mutant

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "out" / "mutation.md"
EXPLAINED = Path(__file__).with_name("survivors.toml")
WANTED = 0.85
DEAD = ("failed", "claim", "refused", "died", "undecided")
LONGEST = 110

Outcomes = Mapping[str, Mapping[str, object]]


def rate(mutants: Sequence[Mutant], outcomes: Outcomes) -> float:
    """Return the share of killed mutants among those that were tried."""
    tried = [str(outcomes[m.key]["how"]) for m in mutants if m.key in outcomes]
    return sum(how in DEAD for how in tried) / len(tried) if tried else 0.0


def describe(mutants: Sequence[Mutant], outcomes: Outcomes, *, excused: int) -> str:
    """Return the outcomes of a campaign in one line."""
    hows = Counter(str(outcomes[m.key]["how"]) for m in mutants if m.key in outcomes)
    parts = ", ".join(f"{count} {how}" for how, count in hows.most_common())
    return (
        f"{rate(mutants, outcomes):.1%} of {sum(hows.values())} mutants dead "
        f"({parts}); {excused} do not count"
    )


def write(
    mutants: Sequence[Mutant],
    outcomes: Outcomes,
    excused: Mapping[str, KnownMutants],
    *,
    seconds: float,
    slots: int,
) -> None:
    """Write ``out/mutation.md``: the rate by module, survivors, and mutants that do not count."""
    lines = _page(mutants, outcomes, excused, seconds=seconds, slots=slots)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(("# Mutants of the reference's cores", "", *lines, "")), "utf-8")


def list_forgotten(mutants: Sequence[Mutant], entries: Sequence[KnownMutants]) -> list[str]:
    """Return lines on entries of the list that match no mutant any more."""
    return [f"{e.function}: {e.was!r} is no mutant's line" for e in idle(mutants, entries)]


def _page(
    mutants: Sequence[Mutant],
    outcomes: Outcomes,
    excused: Mapping[str, KnownMutants],
    *,
    seconds: float,
    slots: int,
) -> Iterator[str]:
    tried = [m for m in mutants if m.key in outcomes]
    summary = describe(tried, outcomes, excused=len(excused))
    yield f"{summary}; trials of {seconds / 60:.0f} minutes, {slots} at a time."
    if len(tried) < len(mutants):
        yield ""
        yield (
            f"This is a sample, spread over all modules: {len(mutants)} mutants count. The list "
            "of those that do not was made while it was read, so the rate of mutants nobody has "
            "read yet is lower. `make mutation` tries them all and writes this page anew."
        )
    yield ""
    yield "| module | counted | dead | survived | rate | do not count |"
    yield "|---|---:|---:|---:|---:|---:|"
    aside = Counter(key.partition(":")[0] for key in excused)
    for file in sorted({m.file for m in tried} | set(aside)):
        own = [m for m in tried if m.file == file]
        dead = sum(outcomes[m.key]["how"] in DEAD for m in own)
        share = f"{rate(own, outcomes):.0%}" if own else ""
        yield f"| {file} | {len(own)} | {dead} | {len(own) - dead} | {share} | {aside[file]} |"
    yield ""
    yield "## Survivors"
    yield ""
    yield from _survivors([m for m in tried if outcomes[m.key]["how"] not in DEAD], outcomes)
    yield ""
    yield "## Do not count"
    yield ""
    yield from _format_excused(excused)


def _survivors(survivors: Sequence[Mutant], outcomes: Outcomes) -> Iterator[str]:
    explained = read(EXPLAINED)
    for function in dict.fromkeys(f"{m.file}:{m.function}" for m in survivors):
        own = [m for m in survivors if f"{m.file}:{m.function}" == function]
        yield f"- `{function}`"
        for mutant in own:
            entry = next((each for each in explained if each.is_about(mutant)), None)
            reached = outcomes[mutant.key].get("why") or "touched, no case shows it"
            why = entry.reason if entry else f"not explained ({reached})"
            yield f"  - {_code(mutant.was)} → {_code(mutant.becomes)}: {why}"


def _format_excused(excused: Mapping[str, KnownMutants]) -> Iterator[str]:
    counts = Counter(excused.values())
    for entry in dict.fromkeys(excused.values()):
        was = "" if entry.was == ANY else f" {_code(entry.was)}"
        yield f"- `{entry.function}`{was} ({counts[entry]}): {entry.reason}"


def _code(line: str) -> str:
    short = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    return f"`` {short} ``" if short else "(nothing)"
