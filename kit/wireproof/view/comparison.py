"""Two bundles compared, as text: what differs in the head, then the cases class by class."""

from collections.abc import Iterator, Sequence

from wireproof.view.failure import expected_words, list_others
from wireproof.view.style import Style, Tone, cut_id, flow_pieces, wrap_after_heading
from wireproof.view.summary import tell_reason
from wireproof.view.terminal import columns
from wireproof_kit.decoding.printable import printable
from wireproof_kit.verdicts.diff import FAILING, KINDS, Change, Comparison, Kind, Pair
from wireproof_reports.wording import count_noun
from wireproof_spec.clauses.cause import cause_key
from wireproof_spec.clauses.spoken import spoken
from wireproof_spec.record import CaseRecord

LISTED = 20
INDENT = 4
CUT_OFF = "{} was interrupted; what its remaining cases would show is not compared"

TONES: dict[Kind, Tone] = {
    "regressed": "bad",
    "expired": "bad",
    "unstable": "doubt",
    "otherwise": "doubt",
    "no-longer-tested": "doubt",
    "doubtful-fix": "doubt",
    "fixed": "good",
    "settled": "good",
    "now-tested": "good",
    "reading": "other",
    "still-conforming": "other",
    "rejudged": "faint",
    "changed": "faint",
}


_TITLES: dict[Kind, str] = {
    "otherwise": "fail otherwise",
    "reading": "other reading",
    "still-conforming": "changed, still conforming",
    "changed": "redefined",
}


def comparison(found: Comparison, *, verbose: int, style: Style) -> Iterator[str]:
    """Return the lines that show how two runs differ, without the last line.

    Long lists of changes are cut unless ``verbose``.
    """
    for letter, bundle in (("A", found.before), ("B", found.after)):
        yield from wrap_after_heading(
            letter, printable(f"{bundle.path}   {bundle.header.target.url}")
        )
    for index, item in enumerate(found.differences):
        text = printable(f"{item.name}: {item.before} -> {item.after}")
        yield from wrap_after_heading("" if index else "differs", text)
    for letter in found.list_cut_off():
        yield from wrap_after_heading("part", CUT_OFF.format(letter))
    for kind in KINDS:
        changes = found.of(kind)
        if changes:
            yield ""
            yield from _class(found, kind, verbose=verbose, style=style)
    yield ""


def format_last_line(found: Comparison, code: int, *, style: Style) -> str:
    """Return the last line of a comparison: the number of changes of each class, the exit code."""
    told = format_counts(found)
    end = f"exit {code}"
    room = max(columns() - len(told) - len(end), 3)
    return style.paint(told, "bad" if code else "strong") + " " * room + end


def format_counts(found: Comparison) -> str:
    """Return the number of changes in each class: ``3 regressed, 1 fixed; 780 cases compared``."""
    classes = [_number(found, kind) for kind in KINDS if found.of(kind)]
    return f"{', '.join(classes) or 'no change'}; {count_noun(found.compared, 'case')} compared"


def _number(found: Comparison, kind: Kind) -> str:
    """Return ``3 regressed``, and how many of these changes count unless all do."""
    changes, counting = found.of(kind), found.list_counting(kind)
    told = f"{len(changes)} {display_name(kind)}"
    if len(counting) == len(changes):
        return told
    return f"{told} ({len(counting) or 'none'} up to {found.after.header.scope()})"


def display_name(kind: Kind) -> str:
    """Return the display name of a class of changes."""
    return _TITLES.get(kind, kind.replace("-", " "))


def verdicts(pair: Pair) -> tuple[str, str]:
    """Return both verdicts of a case; ``-`` if a run does not have the case."""
    return (
        pair.before.verdict if pair.before else "-",
        pair.after.verdict if pair.after else "-",
    )


def _class(found: Comparison, kind: Kind, *, verbose: int, style: Style) -> Iterator[str]:
    changes = found.of(kind)
    head = f"{display_name(kind).upper()} {len(changes)}"
    painted, meaning = style.paint(head, TONES[kind]), KINDS[kind]
    if len(f"{head}   {meaning}") <= columns():
        yield f"{painted}   {meaning}"
    else:
        yield from (painted, *wrap_after_heading("", meaning))
    alike = _fold(changes if verbose else _worth_showing(kind, changes))
    shown = alike if verbose else alike[:LISTED]
    for group in shown:
        yield from _case(group[0])
        others = [change.pair.case for change in group[1:]]
        yield from list_others(group[0].pair.case, others, verbose=bool(verbose))
    if left := len(changes) - sum(map(len, shown)):
        yield f"  … {left} more; -v lists all"


def _fold(changes: Sequence[Change]) -> list[list[Change]]:
    """Return the changes grouped by what the target did before and does now."""
    groups: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        records = (change.pair.before, change.pair.after)
        causes = (
            cause_key(record) if record and record.verdict in FAILING else () for record in records
        )
        key = (verdicts(change.pair), change.pair.level, *causes)
        told = () if any(key[2:]) else (change.pair.clause, why(change))
        groups.setdefault((*key, *told), []).append(change)
    return list(groups.values())


def _worth_showing(kind: Kind, changes: Sequence[Change]) -> list[Change]:
    """Return the changes without those whose verdict is the same as before."""
    if kind != "changed":
        return list(changes)
    return [c for c in changes if len(set(verdicts(c.pair))) > 1]


def _case(change: Change) -> Iterator[str]:
    pair = change.pair
    record = pair.after or pair.before
    if record is None:
        return
    about = f"{record.level.upper()} {record.clause}"
    yield from flow_pieces(f"  {cut_id(pair.case)}", [" -> ".join(verdicts(pair)), about])
    if told := why(change):
        yield from wrap_after_heading("", printable(told), indent=INDENT)


def why(change: Change) -> str:
    """Return what the target did differently in the later run, or else the verdict's reason."""
    before, after = change.pair.before, change.pair.after
    if change.kind == "changed" or (before is None and after is None):
        return ""
    if before and after and change.kind in ("still-conforming", "doubtful-fix", "fixed"):
        return f"was: {_seen(before)}; now: {_seen(after)}"
    record = after or before
    if record is None or record.verdict == "pass":
        return ""
    is_plain = record.verdict == "fail" and record.reason.startswith("expected ")
    reason = f"expected {expected_words(record)}; saw {_seen(record)}" if is_plain else ""
    return f"{'now' if after else 'was'}: {reason or tell_reason(record)}"


def _seen(record: CaseRecord) -> str:
    return spoken(record.observation, record.case)
