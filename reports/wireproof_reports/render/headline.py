"""The headline of a report: the result of the run in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass

from wireproof_reports.bundle_file import Bundle
from wireproof_reports.causes import Cause
from wireproof_reports.wording import count_noun


@dataclass(frozen=True, slots=True)
class Headline:
    """``tone`` is good, bad or open; ``details`` are short sentences below the title."""

    tone: str
    title: str
    details: tuple[str, ...]


def headline(bundle: Bundle, causes: Sequence[Cause]) -> Headline:
    """Return the headline for the run's profile."""
    counts = bundle.header.counts
    counting = [cause for cause in causes if counts(cause.level, cause.origin)]
    tone, title = _title(bundle, counting)
    return Headline(tone, title, tuple(_details(bundle, causes, counting)))


def _title(bundle: Bundle, counting: Sequence[Cause]) -> tuple[str, str]:
    footer, scope = bundle.footer, bundle.header.scope()
    if counting:
        return "bad", f"{count_noun(len(counting), 'cause')} of failure up to {scope}"
    if footer.stale or footer.expired:
        return "bad", "The list of known deviations is out of date"
    if footer.interrupted:
        return "open", "Interrupted: part of a run, no failure so far"
    if footer.exit == 0:
        return "good", f"No failure up to {scope}"
    if footer.exit == 3:
        return "open", "Undecided: something stands open against a verdict"
    return "open", "Not judged: what was asked for could not be shown"


def _details(bundle: Bundle, causes: Sequence[Cause], counting: Sequence[Cause]) -> list[str]:
    footer = bundle.footer
    failed = sum(len(cause.cases) for cause in counting)
    beyond = len(causes) - len(counting)
    sentences = [f"{count_noun(len(bundle.cases), 'case')} run."]
    if failed:
        sentences.append(f"{count_noun(failed, 'case')} failed, folded by what went wrong.")
    if beyond:
        sentences.append(f"{count_noun(beyond, 'cause')} shown but not counted.")
    if footer.interrupted and counting:
        sentences.append("The run was interrupted.")
    if footer.stale:
        sentences.append(f"{count_noun(len(footer.stale), 'listed deviation')} no longer seen.")
    if footer.expired:
        sentences.append(f"{count_noun(len(footer.expired), 'listed deviation')} expired.")
    waiting = [g.group for g in footer.groups if g.whole and not g.judged]
    if waiting:
        sentences.append(f"Not judged: {', '.join(waiting)}.")
    return sentences
