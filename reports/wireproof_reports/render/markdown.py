"""The compatibility statement in Markdown, for release notes or a wiki."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from wireproof_reports.exchange.failing import DIED
from wireproof_reports.render.clauses import CaseView, GroupView, Score
from wireproof_reports.render.markup import Markdown, block, code, fill, join
from wireproof_reports.render.page import Page, read_page
from wireproof_reports.wording import count_noun
from wireproof_spec.clauses.catalogue import LEVELS

EMPTY = Markdown()


def write(bundle: Path, out: Path) -> None:
    """Write the statement of a bundle as a Markdown file.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    out.write_text(render(bundle), encoding="utf-8", newline="\n")


def render(bundle: Path) -> str:
    """Return the Markdown statement of a bundle.

    Raises:
        BundleFault: the bundle cannot be read.
    """
    return "\n".join(_lines(read_page(bundle))) + "\n"


def _lines(page: Page) -> Iterator[Markdown]:
    yield fill("# Compatibility statement: {}", f"{page.product} {page.version}".strip())
    yield EMPTY
    yield fill("**{}.** {}", page.headline.title, " ".join(page.headline.details))
    yield EMPTY
    yield from _format_reached(page)
    yield from _groups(page.groups)
    yield from _causes(page)
    yield from _cases(fill("Known deviations"), page.known)
    yield from _readings(page)
    yield from _format_unsupported(page)
    yield from _cases(fill("Undecided"), page.undecided)
    yield from _run(page)


def _format_reached(page: Page) -> Iterator[Markdown]:
    yield fill("| Protocol | Level reached | Known deviations | |")
    yield fill("|---|---|---:|---|")
    for item in page.reached:
        about = fill("{} r{} | {}", code(item.document), item.revision, item.level or "none")
        yield fill("| {} | {} | {} |", about, item.known, item.but)
    yield EMPTY


def _groups(groups: Sequence[GroupView]) -> Iterator[Markdown]:
    yield fill("Cases that conform, of those that came to a conclusion:")
    yield EMPTY
    yield fill("| Group | {} | |", join(" | ", [fill("{}", level) for level in LEVELS]))
    yield fill("|---|{}---|", join("", [fill("---:|") for _ in LEVELS]))
    for group in groups:
        scores = {score.level: _score(score) for score in group.scores}
        shown = scores if group.state in ("judged", "part") else {}
        cells = join(" | ", [shown.get(level, EMPTY) for level in LEVELS])
        note = EMPTY if group.state == "judged" else fill("{}: {}", group.state, group.why)
        yield fill("| {} {} | {} | {} |", group.title, code(group.id), cells, note)
    yield EMPTY


def _score(score: Score) -> Markdown:
    origins = fill(" ({})", score.origins) if score.origins else EMPTY
    return fill("{}/{}{}", score.conforming, score.asserted, origins)


def _causes(page: Page) -> Iterator[Markdown]:
    yield fill("## Failures, by root cause")
    yield EMPTY
    for cause in page.causes:
        size = count_noun(cause.size, "case")
        weaker = "" if cause.counts else ", not counted by this run"
        origin = fill(" (origin {})", cause.origin) if cause.origin else EMPTY
        side = fill("{} ", cause.side) if cause.side else EMPTY
        about = fill("{}{}{} {}", side, cause.level, origin, code(cause.clause))
        yield fill("{}. {} ({}, {}{})", cause.number, cause.law, about, size, weaker)
        yield fill("   - observed: {}, {}", cause.observed, code(cause.first.observation))
        if cause.first.observation == DIED and cause.first.note:
            yield fill("   - {}", cause.first.note)
        if cause.difference is not None:
            found = cause.difference
            parts = [code(each) for each in (found.field, found.expected, found.found)]
            yield fill("   - first difference: {}, expected {}, found {}", *parts)
        yield fill("   - repeat: {}", code(cause.reproducer.command))
    yield from ([] if page.causes else [fill("None.")])
    yield EMPTY


def _cases(title: Markdown, cases: Sequence[CaseView]) -> Iterator[Markdown]:
    yield fill("## {}", title)
    yield EMPTY
    for case in cases:
        yield fill("- {} ({}): {}", code(case.id), case.word.title, case.reason)
    yield from ([] if cases else [fill("None.")])
    yield EMPTY


def _readings(page: Page) -> Iterator[Markdown]:
    yield fill("## Readings followed, other than the published wording")
    yield EMPTY
    others = [reading for reading in page.readings if reading.other]
    for reading in others:
        chosen = next((option for option in reading.options if option.followed), None)
        meaning = chosen.meaning if chosen else "a reading that this version does not know"
        peers = fill(" (as {})", chosen.peers) if chosen and chosen.peers else EMPTY
        yield fill("- {}: {}{}", code(reading.id), meaning, peers)
    yield from ([] if others else [fill("None.")])
    yield EMPTY


def _format_unsupported(page: Page) -> Iterator[Markdown]:
    yield fill("## Unsupported")
    yield EMPTY
    for lack in page.lacks:
        yield fill("- {}: {}", lack.title, count_noun(len(lack.cases), "case"))
    yield from ([] if page.lacks else [fill("Nothing that was selected.")])
    yield EMPTY


def _run(page: Page) -> Iterator[Markdown]:
    yield fill("## The run")
    yield EMPTY
    for fact in page.facts:
        yield fill("- {}: {}", fact.name, fact.value)
    covered = ", ".join(f"{len(item.clauses)} {item.state}" for item in page.coverage)
    yield fill("- Clauses: {}", covered)
    yield fill("- Bundle: {}, sha256 {}", code(page.bundle), code(page.sha256))
    yield EMPTY
    yield fill("To repeat it:")
    yield EMPTY
    yield from (block(command.value) for command in page.commands[:1])
