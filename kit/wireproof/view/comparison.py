"""Two bundles compared, as text: what differs in the head, then the cases class by class."""

from collections.abc import Iterator, Sequence

from wireproof.view.style import COLUMNS, Style, Tone, wrap_after_heading
from wireproof_kit.decoding.printable import printable
from wireproof_kit.verdicts.diff import KINDS, Change, Comparison, Kind, Pair
from wireproof_reports.wording import count_noun

LISTED = 20
INDENT = 4

TONES: dict[Kind, Tone] = {
    "regressed": "bad",
    "expired": "bad",
    "unstable": "doubt",
    "otherwise": "doubt",
    "no-longer-tested": "doubt",
    "fixed": "good",
    "settled": "good",
    "now-tested": "good",
    "reading": "other",
    "rejudged": "faint",
    "changed": "faint",
}


def comparison(found: Comparison, *, verbose: int, style: Style) -> Iterator[str]:
    """Return all lines but the last; long classes are cut unless ``verbose``."""
    for letter, bundle in (("A", found.before), ("B", found.after)):
        yield from wrap_after_heading(
            letter, printable(f"{bundle.path}   {bundle.header.target.url}")
        )
    for index, item in enumerate(found.differences):
        text = printable(f"{item.name}: {item.before} -> {item.after}")
        yield from wrap_after_heading("" if index else "differs", text)
    for kind in KINDS:
        changes = found.of(kind)
        if changes:
            yield ""
            yield from _class(kind, changes, verbose=verbose, style=style)
    yield ""


def format_last_line(found: Comparison, code: int, *, style: Style) -> str:
    """Return the last line: the number of changes in each class, and the exit code."""
    told = format_counts(found)
    end = f"exit {code}"
    room = max(COLUMNS - len(told) - len(end), 3)
    return style.paint(told, "bad" if code else "strong") + " " * room + end


def format_counts(found: Comparison) -> str:
    """Return the number of changes in each class: ``3 regressed, 1 fixed; 780 cases compared``."""
    classes = [found.of(kind) for kind in KINDS]
    told = ", ".join(f"{len(c)} {display_name(c[0].kind)}" for c in classes if c) or "no change"
    return f"{told}; {count_noun(found.compared, 'case')} compared"


def display_name(kind: Kind) -> str:
    """Return the display name of a class of changes."""
    return {"otherwise": "fail otherwise", "reading": "other reading"}.get(
        kind, kind.replace("-", " ")
    )


def verdicts(pair: Pair) -> str:
    """Return ``pass -> fail``; ``-`` where a run does not have the case."""
    before = pair.before.verdict if pair.before else "-"
    after = pair.after.verdict if pair.after else "-"
    return f"{before} -> {after}"


def _class(kind: Kind, changes: Sequence[Change], *, verbose: int, style: Style) -> Iterator[str]:
    head = f"{display_name(kind).upper()} {len(changes)}"
    yield f"{style.paint(head, TONES[kind])}   {KINDS[kind]}"
    shown = changes if verbose else _worth_showing(kind, changes)[:LISTED]
    for change in shown:
        yield from _case(change)
    if len(shown) < len(changes):
        yield f"  … {len(changes) - len(shown)} more; -v lists all"


def _worth_showing(kind: Kind, changes: Sequence[Change]) -> list[Change]:
    """Return the changes without those whose verdict is the same as before."""
    if kind != "changed":
        return list(changes)
    return [c for c in changes if len(set(verdicts(c.pair).split(" -> "))) > 1]


def _case(change: Change) -> Iterator[str]:
    pair = change.pair
    record = pair.after or pair.before
    if record is None:
        return
    about = f"{record.level.upper()} {record.clause}"
    yield f"  {printable(pair.case)}   {verdicts(pair)}   {about}"
    if change.kind != "changed" and record.verdict != "pass":
        reason = printable(f"{'now' if pair.after else 'was'}: {record.reason}")
        yield from wrap_after_heading("", reason, indent=INDENT)
