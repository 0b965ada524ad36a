"""The compatibility statement in Markdown, for release notes or a wiki."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from wireproof_reports.render.clauses import CaseView, GroupView, Score
from wireproof_reports.render.page import Page, read_page
from wireproof_reports.wording import count_noun, escape_unprintable
from wireproof_spec.clauses.catalogue import LEVELS

_ACTIVE = r"[\\`*_{}\[\]<>|#~&!]"
"""Signs by which text becomes Markdown or HTML."""


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


def _lines(page: Page) -> Iterator[str]:
    yield f"# Compatibility statement: {plain(f'{page.product} {page.version}'.strip())}"
    yield ""
    yield f"**{plain(page.headline.title)}.** {plain(' '.join(page.headline.details))}"
    yield ""
    yield from _format_reached(page)
    yield from _groups(page.groups)
    yield from _causes(page)
    yield from _cases("Known deviations", page.known)
    yield from _readings(page)
    yield from _format_unsupported(page)
    yield from _cases("Undecided", page.undecided)
    yield from _run(page)


def _format_reached(page: Page) -> Iterator[str]:
    yield "| Protocol | Level reached | Known deviations | |"
    yield "|---|---|---:|---|"
    for item in page.reached:
        about = f"{code(item.document)} r{item.revision} | {item.level or 'none'} | {item.known}"
        yield f"| {about} | {plain(item.but)} |"
    yield ""


def _groups(groups: Sequence[GroupView]) -> Iterator[str]:
    yield "Cases that conform, of those that came to a conclusion:"
    yield ""
    yield f"| Group | {' | '.join(LEVELS)} | |"
    yield f"|---|{'---:|' * len(LEVELS)}---|"
    for group in groups:
        scores = {score.level: _score(score) for score in group.scores}
        shown = scores if group.state in ("judged", "part") else {}
        cells = " | ".join(shown.get(level, "") for level in LEVELS)
        note = "" if group.state == "judged" else f"{group.state}: {plain(group.why)}"
        yield f"| {plain(group.title)} {code(group.id)} | {cells} | {note} |"
    yield ""


def _score(score: Score) -> str:
    return f"{score.conforming}/{score.asserted}" + (
        f" ({plain(score.origins)})" if score.origins else ""
    )


def _causes(page: Page) -> Iterator[str]:
    yield "## Failures, by root cause"
    yield ""
    for cause in page.causes:
        size = count_noun(cause.size, "case")
        weaker = "" if cause.counts else ", not counted by this run"
        origin = f" (origin {plain(cause.origin)})" if cause.origin else ""
        side = f"{cause.side} " if cause.side else ""
        about = f"{side}{cause.level}{origin} {code(cause.clause)}, {size}{weaker}"
        yield f"{cause.number}. {plain(cause.law)} ({about})"
        yield f"   - observed: {plain(cause.observed)}, {code(cause.first.observation)}"
        if cause.difference is not None:
            found = cause.difference
            yield (
                f"   - first difference: {code(found.field)}, expected {code(found.expected)}, "
                f"found {code(found.found)}"
            )
        yield f"   - repeat: {code(cause.reproducer.command)}"
    yield from ([] if page.causes else ["None."])
    yield ""


def _cases(title: str, cases: Sequence[CaseView]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    for case in cases:
        yield f"- {code(case.id)} ({case.word.title}): {plain(case.reason)}"
    yield from ([] if cases else ["None."])
    yield ""


def _readings(page: Page) -> Iterator[str]:
    yield "## Readings followed, other than the published wording"
    yield ""
    others = [reading for reading in page.readings if reading.other]
    for reading in others:
        chosen = next((option for option in reading.options if option.followed), None)
        meaning = chosen.meaning if chosen else "a reading that this version does not know"
        peers = f" (as {plain(chosen.peers)})" if chosen and chosen.peers else ""
        yield f"- {code(reading.id)}: {plain(meaning)}{peers}"
    yield from ([] if others else ["None."])
    yield ""


def _format_unsupported(page: Page) -> Iterator[str]:
    yield "## Unsupported"
    yield ""
    for lack in page.lacks:
        yield f"- {plain(lack.title)}: {count_noun(len(lack.cases), 'case')}"
    yield from ([] if page.lacks else ["Nothing that was selected."])
    yield ""


def _run(page: Page) -> Iterator[str]:
    yield "## The run"
    yield ""
    for fact in page.facts:
        yield f"- {plain(fact.name)}: {plain(fact.value)}"
    covered = ", ".join(f"{len(item.clauses)} {item.state}" for item in page.coverage)
    yield f"- Clauses: {covered}"
    yield f"- Bundle: {code(page.bundle)}, sha256 {code(page.sha256)}"
    yield ""
    yield "To repeat it:"
    yield ""
    yield from (f"    {_line(command.value)}" for command in page.commands[:1])


def plain(text: str) -> str:
    """Return the text with all Markdown and HTML markup escaped."""
    return re.sub(_ACTIVE, r"\\\g<0>", _line(text))


def code(text: str) -> str:
    """Return the text as inline code, with a fence longer than its backticks.

    A bar in a fence would end the cell of a table, so a text with a bar is code in HTML.
    """
    line = _line(text) or " "
    if "|" in line:
        return f"<code>{re.sub(_ACTIVE, lambda sign: f'&#{ord(sign[0])};', line)}</code>"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _line(text: str) -> str:
    """Return text as one line of printable signs."""
    return escape_unprintable(" ".join(text.split()))
