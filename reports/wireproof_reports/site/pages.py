"""The pages of a site: which answers each page shows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class PageOf:
    """A page for some questions; ``picture`` names the chart above the tables.

    ``more`` are further questions whose answers the chart needs.
    """

    name: str
    title: str
    promise: str
    questions: tuple[str, ...]
    picture: str = ""
    more: tuple[str, ...] = ()


KNOWN = (
    PageOf(
        "matrix",
        "Matrix",
        "Which clauses each version of each vendor follows, with the evidence.",
        ("matrix", "evidence"),
        "matrix",
        ("causes",),
    ),
    PageOf(
        "versions",
        "Versions",
        "Levels reached over time; what one version broke and what it mended.",
        ("levels", "regressions"),
        "levels",
    ),
    PageOf(
        "flakes",
        "Flakes",
        "Cases that come out now one way, now the other, and how sure that is.",
        ("flaky", "flips"),
        "flaky",
    ),
    PageOf("causes", "Causes", "Root causes of failure by their reach.", ("causes",), "causes"),
    PageOf(
        "durations",
        "Durations",
        "How long cases take, and where that drifts.",
        ("durations",),
        "durations",
    ),
    PageOf(
        "coverage",
        "Coverage",
        "What was asserted of the law, and what of the grammar was ever sent.",
        ("coverage_clauses", "coverage_grammar"),
        "coverage",
    ),
    PageOf(
        "campaigns",
        "Campaigns",
        "What fuzzing found, once each, and what it covered.",
        ("findings", "campaigns"),
        "findings",
        ("coverage_grammar",),
    ),
    PageOf("deviations", "Deviations", "Known deviations about to expire.", ("deviations",), ""),
    PageOf(
        "separating",
        "Separating cases",
        "Cases that tell vendors apart, and those that never fail.",
        ("separating",),
    ),
)


def pages_for(questions: Iterable[tuple[str, str]]) -> Iterator[PageOf]:
    """Yield the pages for questions given as (name, title); unknown ones get a page each."""
    asked = dict(questions)
    shown: set[str] = set()
    for page in KNOWN:
        own = tuple(name for name in page.questions if name in asked)
        if own:
            shown.update(own)
            more = tuple(name for name in page.more if name in asked)
            yield replace(page, questions=own, more=more)
    for name, title in asked.items():
        if name not in shown:
            yield PageOf(name, title, "", (name,))
