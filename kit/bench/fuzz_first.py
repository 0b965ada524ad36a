"""When a campaign first sends each class of cases: dropped words, boundaries, special values.

python kit/bench/fuzz_first.py [--protocol nsq|iggy] [--seed N] [--all]

Prints how many classes there are, the index of the case with which half of them and all of them
have come, and the last ones; with ``--all`` each class with its index. Exit code 1 if one never
comes in the first epoch, or comes behind a case of the same field with a random value.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping

from wireproof_kit.fuzz.generate.first_mutations import DROPPED, RANDOM
from wireproof_kit.fuzz.generate.generator import Generator
from wireproof_kit.fuzz.generate.grammar import Grammar
from wireproof_kit.iggy.fuzz import grammar as iggy
from wireproof_kit.iggy.fuzz.names import Names as IggyNames
from wireproof_kit.nsq.fuzz import grammar as nsq
from wireproof_kit.nsq.fuzz.names import Names as NsqNames

Row = tuple[str, str, str]
LAST = 5
JSON = "JSON: "


def grammar(protocol: str) -> Grammar:
    """Return the grammar of a protocol with some names."""
    if protocol == "nsq":
        return nsq.grammar(NsqNames("wp_topic_ext", "wp_topic_plain"))
    return iggy.grammar(IggyNames(1, "wp_stream", 1, "wp_topic", 7, 9, "wp_scratch", partitions=2))


def first_indices(generator: Generator) -> tuple[Mapping[Row, int], list[Row]]:
    """Return when each class first comes, and the classes that a random value precedes."""
    rows = generator.first_rows()
    first: dict[Row, int] = {}
    drawn: dict[tuple[str, str], int] = {}
    late: list[Row] = []
    for index in range(generator.epoch):
        case = generator.case(index)
        place = case.frame_kind, case.field
        row = (*place, case.mutation)
        if row in rows and row not in first:
            first[row] = index
            late += [row] if place in drawn else []
        elif case.mutation in RANDOM:
            drawn.setdefault(place, index)
        if len(first) == len(rows):
            break
    return first, late


def group(row: Row) -> str:
    """Return the group of a class."""
    if row[2] in DROPPED:
        return "words dropped"
    return "special values in JSON" if row[2].startswith(JSON) else "boundaries"


def lines(first: Mapping[Row, int], *, whole: bool) -> Iterator[str]:
    """Yield a line for each group of classes, and for its last classes or all of them."""
    groups: dict[str, list[tuple[int, Row]]] = {}
    for row, index in first.items():
        groups.setdefault(group(row), []).append((index, row))
    for name, found in sorted(groups.items()):
        found.sort()
        half, last = found[len(found) // 2][0], found[-1][0]
        yield f"{name}: {len(found)} classes, half of them by case {half}, all by case {last}"
        for index, (kind, field, mutation) in found if whole else found[-LAST:]:
            yield f"  {index:>6}  {kind} {field}: {mutation}"


def main() -> int:
    """Print when each class first comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--protocol", choices=["nsq", "iggy"], default="nsq")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    generator = Generator(grammar(options.protocol), options.seed)
    first, late = first_indices(generator)
    print(f"{options.protocol}, seed {options.seed}: an epoch has {generator.epoch} cases")
    for line in lines(first, whole=options.all):
        print(line)
    never = sorted(generator.first_rows() - first.keys())
    for row in never:
        print("never:", *row)
    for row in late:
        print("behind a random value:", *row)
    return bool(never or late)


if __name__ == "__main__":
    sys.exit(main())
