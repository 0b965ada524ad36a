"""How far our levels agree with levels that others assigned from the published texts alone.

    .venv/bin/python tools/levels/agreement.py [--all-origins] [--below ID] ASSIGNMENT.jsonl ...

An assignment is a file of JSON lines, ``{"id": CLAUSE, "level": must|should|may|none}``; an
assignment may have more fields. It is compared on the clauses of origin text, with
``--all-origins`` on all clauses, with ``--below oms`` on those of document 003 only. Our level
observed counts as none: the text does not bind. For each file, and for each pair of files, the
tool prints Cohen's kappa without weights, the number of clauses compared, and below it each clause
on which the two differ. Clauses of ours without an assignment are counted, and ids that we do not
have.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from wireproof.view.output import write_lines
from wireproof_spec.clauses.catalogue import is_below
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.protocol import protocols

LEVELS = ("must", "should", "may", "none")

Levels = Mapping[str, str]


class BadAssignment(Exception):
    """Raised for a file that is no assignment of levels; ``str()`` says where and why."""


def our_levels(*, all_origins: bool = False, below: str = "") -> dict[str, str]:
    """Return the catalogue's level of each clause of origin text, or of any origin.

    The level observed counts as none.
    """
    return {
        clause.id: "none" if clause.level == "observed" else clause.level
        for protocol in protocols()
        for clause in load_catalogue(protocol).clauses()
        if (all_origins or clause.origin == "text") and is_below(clause.id, below)
    }


def read_assignment(path: Path) -> dict[str, str]:
    """Read a file that assigns a level to each clause id.

    Raises:
        BadAssignment: a line has no id or no level, another level, or an id for the second time.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, level = str(row["id"]), str(row["level"])
        except (ValueError, KeyError, TypeError) as error:
            raise BadAssignment(
                f"{path}, line {number}: expected id and level: {error}"
            ) from error
        if level not in LEVELS:
            raise BadAssignment(f"{path}, line {number}: {level!r} is none of {', '.join(LEVELS)}")
        if name in found:
            raise BadAssignment(f"{path}, line {number}: {name} stands twice")
        found[name] = level
    return found


def kappa(pairs: Sequence[tuple[str, str]]) -> float:
    """Return Cohen's kappa, without weights, of pairs of levels: agreement beyond chance.

    It is 1 where both always give the same single level, and nan without pairs.
    """
    if not pairs:
        return float("nan")
    total = len(pairs)
    agreed = sum(one == other for one, other in pairs) / total
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(ones[level] * others[level] for level in LEVELS) / total**2
    return 1.0 if by_chance == 1 else (agreed - by_chance) / (1 - by_chance)


def compare(names: tuple[str, str], one: Levels, other: Levels) -> Iterator[str]:
    """Yield the line of a comparison, and a line for each clause on which the two differ."""
    both = [name for name in one if name in other]
    value = kappa([(one[name], other[name]) for name in both])
    first, second = len(one) - len(both), len(other.keys() - one.keys())
    apart = f"{first} only in the first, {second} only in the second"
    yield f"{names[0]} and {names[1]}: kappa {value:.3f} over {len(both)} clauses ({apart})"
    for name in both:
        if one[name] != other[name]:
            yield f"  {name}: {one[name]}, {other[name]}"


def main(arguments: Sequence[str]) -> int:
    """Print the agreement of our levels with each file, and of each pair of files."""
    parser = argparse.ArgumentParser(
        description="How far our levels agree with those of assignments made from the texts."
    )
    parser.add_argument("assignment", nargs="+", type=Path, help="file of JSON lines: id, level")
    parser.add_argument("--all-origins", action="store_true", help="not only origin text")
    parser.add_argument("--below", default="", metavar="ID", help="only clauses below this id")
    options = parser.parse_args(arguments)
    files: list[Path] = options.assignment
    try:
        assigned = {path.stem: read_assignment(path) for path in files}
    except (BadAssignment, OSError) as error:
        print(f"agreement: {error}", file=sys.stderr)
        return 2
    ours = our_levels(all_origins=options.all_origins, below=options.below)
    write_lines(sys.stdout, _list_agreements(ours, assigned))
    return 0


def _list_agreements(ours: Levels, assigned: Mapping[str, Levels]) -> Iterator[str]:
    for name, levels in assigned.items():
        yield from compare(("ours", name), ours, levels)
    for one, other in combinations(assigned, 2):
        pair = [{n: level for n, level in assigned[a].items() if n in ours} for a in (one, other)]
        yield from compare((one, other), pair[0], pair[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
