"""The level that a target reached in each published document."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from wireproof_reports.bundle_file import Bundle
from wireproof_spec.clauses.catalogue import LEVELS
from wireproof_spec.record import GroupRecord


@dataclass(frozen=True, slots=True)
class LevelReached:
    """Up to which level a target conforms to one document (a name in the header's ``spec``).

    ``level`` is the weakest level up to which every asserted case conforms; empty if not even all
    must cases do. ``but`` is a sentence that says why it is not higher.
    """

    document: str
    revision: int
    level: str
    but: str
    known: int


def levels_reached(bundle: Bundle) -> tuple[LevelReached, ...]:
    """Return the level that the target reached in each document that the run covers."""
    return tuple(
        _find_reached(bundle, document, revision)
        for document, revision in bundle.header.spec.items()
    )


def _find_reached(bundle: Bundle, document: str, revision: int) -> LevelReached:
    own = [g for g in bundle.footer.groups if g.group.partition(".")[0] == document]
    judged = [group for group in own if group.judged]
    if not judged:
        why = "none of its groups was judged" if own else "nothing of it was selected"
        return LevelReached(document, revision, "", f"not judged: {why}", 0)
    level, stop = _climb(bundle, judged)
    known = sum(
        case.verdict == "known" and case.clause.partition(".")[0] == document
        for case in bundle.cases
    )
    missing = {
        "not judged": [group.group for group in own if not group.judged],
        "not selected": _absent(bundle, document, own, tested=True),
        "not tested by this kit": _absent(bundle, document, own, tested=False),
    }
    left_out = _left_out(bundle, judged)
    doubts = [each for each in (stop, left_out, bundle.header.pinned()) if each]
    doubts += [f"{words}: {', '.join(names)}" for words, names in missing.items() if names]
    return LevelReached(document, revision, level, "; ".join(doubts), known)


def _absent(
    bundle: Bundle, document: str, own: Sequence[GroupRecord], *, tested: bool
) -> list[str]:
    """Return the document's groups of which no case was run: those with cases, those without."""
    there = {group.group for group in own}
    return [
        group.group
        for group in bundle.catalogue().groups
        if group.group.partition(".")[0] == document
        and group.group not in there
        and any(clause.status == "tested" for clause in group.clause) == tested
    ]


def _climb(bundle: Bundle, groups: Sequence[GroupRecord]) -> tuple[str, str]:
    """Return the last level at which all counted cases conform, and why the next one fails."""
    reached = ""
    for level in LEVELS:
        conforming, asserted = _sum(group.counts.get(level, (0, 0)) for group in groups)
        if level == "must":
            apart = _sum(_list_uncounted(bundle, groups))
            conforming, asserted = conforming - apart[0], asserted - apart[1]
        if conforming < asserted:
            return reached, f"{asserted - conforming} of {asserted} {level} cases deviate"
        if level == "must" and not asserted:
            return "", "no must case was asserted"
        reached = level if asserted else reached
    return reached, ""


def _left_out(bundle: Bundle, groups: Sequence[GroupRecord]) -> str:
    """Return a sentence about must cases that deviate but do not count because of their origin."""
    conforming, asserted = _sum(_list_uncounted(bundle, groups))
    if conforming == asserted:
        return ""
    return f"{asserted - conforming} of {asserted} must cases of an origin not counted deviate"


def _list_uncounted(bundle: Bundle, groups: Sequence[GroupRecord]) -> Iterator[tuple[int, int]]:
    for group in groups:
        for origin, count in group.origins.items():
            if bundle.header.leaves_out("must", origin):
                yield count


def _sum(counts: Iterable[tuple[int, int]]) -> tuple[int, int]:
    listed = list(counts)
    return sum(count[0] for count in listed), sum(count[1] for count in listed)
