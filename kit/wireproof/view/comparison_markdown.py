"""Two bundles compared, as Markdown: for a pull request or release notes."""

from collections.abc import Iterator, Sequence

from wireproof.view.comparison import CUT_OFF, display_name, format_counts, verdicts, why
from wireproof_kit.verdicts.diff import KINDS, Change, Comparison
from wireproof_reports.render.markdown import code, plain


def comparison_markdown(found: Comparison) -> Iterator[str]:
    """Return the comparison of two runs as the lines of a Markdown page; nothing is left out."""
    yield f"# {plain(_name_bundles(found))}"
    yield ""
    yield f"**{plain(format_counts(found))}.**"
    yield ""
    yield from (f"{CUT_OFF.format(letter)}." for letter in found.list_cut_off())
    yield from _head(found)
    for kind in KINDS:
        changes = found.of(kind)
        if changes:
            yield f"## {plain(display_name(kind).capitalize())}: {len(changes)}"
            yield ""
            yield f"{plain(KINDS[kind].capitalize())}."
            yield ""
            yield from _cases(changes)
            yield ""


def _name_bundles(found: Comparison) -> str:
    return f"{found.before.path.name} compared with {found.after.path.name}"


def _head(found: Comparison) -> Iterator[str]:
    if not found.differences:
        return
    yield "| differs | A | B |"
    yield "|---|---|---|"
    for item in found.differences:
        yield f"| {plain(item.name)} | {plain(item.before)} | {plain(item.after)} |"
    yield ""


def _cases(changes: Sequence[Change]) -> Iterator[str]:
    yield "| case | clause | verdict | why |"
    yield "|---|---|---|---|"
    for change in changes:
        record = change.pair.after or change.pair.before
        if record is not None:
            about = f"{record.level} {code(record.clause)}"
            told = plain(why(change))
            yield f"| {code(record.case)} | {about} | {verdicts(change.pair)} | {told} |"
