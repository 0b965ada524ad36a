"""What the figures are held against, and the table of verdicts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

SMALL, MIDDLE, LARGE = 1_000_000, 10_000_000, 50_000_000
SIZES = (SMALL, MIDDLE, LARGE)
FIVE = ("matrix", "durations", "flaky", "flips", "regressions")
"""The questions that DuckDB is asked, too."""

Figures = Mapping[str, object]
WAYS = ("cold", "again", "ours", "tuned", "duck")


@dataclass(frozen=True)
class Bound:
    """A measured figure (None: not measured), and what it must be at most, or at least."""

    what: str
    found: float | None
    limit: float
    is_least: bool = False

    @property
    def verdict(self) -> str:
        if self.found is None:
            return "not measured"
        holds = self.found >= self.limit if self.is_least else self.found <= self.limit
        return "holds" if holds else "MISSED"


def seconds(figures: Figures, way: str, names: Sequence[str] = ()) -> float | None:
    """Return the total seconds of these questions in one way, or of all if none is named.

    What is counted for all questions when a long history is opened belongs to them. None if the
    time of a question is unknown.
    """
    questions = figures["questions"]
    told = [questions.get(name, {}).get(way) for name in names or questions]
    return None if None in told else sum(told) + figures.get("opening", {}).get(way, 0)


def bounds(
    whole: Mapping[int, Figures], alone: Mapping[str, Mapping[str, float]]
) -> Iterator[Bound]:
    """Yield each bound; ``whole`` has figures by number of rows, ``alone`` of single questions."""
    small, middle, large = (whole.get(size, {"questions": {"": {}}}) for size in SIZES)
    for words, way in (("first time", "cold"), ("warm, nothing kept", "ours")):
        by_duck = ratio(seconds(middle, way, FIVE), seconds(middle, "duck", FIVE))
        yield Bound(f"10 M, five questions, {words}: times DuckDB", by_duck, 5.5)
    for size, figures in (("1 M", small), ("10 M", middle)):
        by_hand = ratio(seconds(figures, "ours"), seconds(figures, "tuned"))
        yield Bound(f"{size}, all questions: times what is written by hand", by_hand, 1.3)
    growth = ratio(seconds(large, "cold"), seconds(middle, "cold"))
    yield Bound("50 M, all questions: times 10 M", growth, 3.0)
    for size, figures in (("1 M", small), ("10 M", middle), ("50 M", large)):
        # Java's limit, not a measurement: a driver that needs more ends, and has no figures.
        yield Bound(f"{size}, heap that sufficed, in MiB", figures.get("heap_mib"), 3072)
    for words, figures in (("1 M", small), ("10 M", middle)):
        spent = figures.get("incremental") or {}
        added = ratio(spent.get("added"), spent.get("full"))
        yield Bound(f"{words}, all questions after 1 % new results: times full", added, 0.25)
    # Asked again, nothing is counted at the opening: so both are compared without it.
    unopened = {**middle, "opening": {}}
    again = ratio(seconds(unopened, "again"), seconds(unopened, "cold"))
    yield Bound("10 M, all questions again in one driver: times first", again, 0.7)
    for name in FIVE:
        told = alone.get(name, {})
        found = ratio(told.get("again"), told.get("cold"))
        yield Bound(f"1 M, {name} again in a driver of its own: times first", found, 0.7)


def ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above is not None and below else None


def show(figures: Figures) -> str:
    """Return the figures for one size of history as a table: seconds by question."""
    names = ("rows", "cold s", "again", "ours", "by hand", "DuckDB")
    head = f"{'question':<18}" + "".join(f"{name:>9}" for name in names)
    lines = [f"{figures['rows']:,} results, Spark up in {figures['start_s']} s", head]
    lines.append(f"{'opening':<27}{_spent(figures['opening'])}".rstrip())
    for name, told in figures["questions"].items():
        lines.append(f"{name:<18}{told['rows']:>9,}{_spent(told)}".rstrip())
    lines.append(
        f"{figures['wall_s']:.0f} s in all; Java {figures['java_peak_mib']} MiB at most "
        f"(heap {figures['heap_mib']}), Python {figures['python_peak_mib']} MiB; "
        f"load {figures['load']:.1f}"
    )
    return "\n".join(lines) + "\n"


def _spent(told: Mapping[str, float]) -> str:
    return "".join(f"{told[way]:>9.2f}" if way in told else " " * 9 for way in WAYS)


def verdicts(found: Sequence[Bound]) -> str:
    """Return a table of the bounds: name, maximum, value found, and verdict."""
    lines = [f"{'bound':<60}{'found':>9}{'at most':>9}  verdict"]
    for bound in found:
        value = "" if bound.found is None else f"{bound.found:.2f}"
        lines.append(f"{bound.what:<60}{value:>9}{bound.limit:>9g}  {bound.verdict}")
    return "\n".join(lines)
