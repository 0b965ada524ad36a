"""Two bundles compared, as Markdown: for a pull request or release notes."""

from collections.abc import Iterator, Sequence

from wireproof.view.comparison import CUT_OFF, display_name, format_counts, verdicts, why
from wireproof_kit.verdicts.diff import KINDS, Change, Comparison
from wireproof_reports.render.markup import Markdown, code, fill


def comparison_markdown(found: Comparison) -> Iterator[Markdown]:
    """Return the comparison of two runs as the lines of a Markdown page; nothing is left out."""
    yield fill("# {}", _name_bundles(found))
    yield Markdown()
    yield fill("**{}.**", format_counts(found))
    yield Markdown()
    yield from (fill("{}.", CUT_OFF.format(letter)) for letter in found.list_cut_off())
    yield from _head(found)
    for kind in KINDS:
        changes = found.of(kind)
        if changes:
            yield fill("## {}: {}", display_name(kind).capitalize(), len(changes))
            yield Markdown()
            yield fill("{}.", KINDS[kind].capitalize())
            yield Markdown()
            yield from _cases(changes)
            yield Markdown()


def _name_bundles(found: Comparison) -> str:
    return f"{found.before.path.name} compared with {found.after.path.name}"


def _head(found: Comparison) -> Iterator[Markdown]:
    if not found.differences:
        return
    yield fill("| differs | A | B |")
    yield fill("|---|---|---|")
    for item in found.differences:
        yield fill("| {} | {} | {} |", item.name, item.before, item.after)
    yield Markdown()


def _cases(changes: Sequence[Change]) -> Iterator[Markdown]:
    yield fill("| case | clause | verdict | why |")
    yield fill("|---|---|---|---|")
    for change in changes:
        record = change.pair.after or change.pair.before
        if record is not None:
            about = fill("{} {}", record.level, code(record.clause))
            verdict = fill("{} -> {}", *verdicts(change.pair))
            reason = why(change)
            yield fill("| {} | {} | {} | {} |", code(record.case), about, verdict, reason)
