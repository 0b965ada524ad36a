"""Write the rows of the covering arrays of the suites: `rows.txt` beside each `ways.toml`.

    python tools/covering_arrays.py [--check]

--check  write nothing; exit with 1 if a file has other rows
"""

import sys
from itertools import combinations
from pathlib import Path

from covertable import make

from wireproof_kit.covering_array import DIMENSIONS, ROWS, Exclusion, Table, read_table

SUITES = Path(__file__).resolve().parent.parent / "suites" / "wireproof_suites"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(f"expected nothing or --check; found {arguments}", file=sys.stderr)
        return 2
    stale = []
    for path in sorted(SUITES.rglob(DIMENSIONS)):
        rows, text = path.with_name(ROWS), draw(read_table(path.parent))
        if arguments and rows.read_text(encoding="utf-8") != text:
            stale.append(rows)
        elif not arguments:
            rows.write_text(text, encoding="utf-8")
    for rows in stale:
        print(f"{rows} is not what its {DIMENSIONS} says; run tools/covering_arrays.py")
    return 1 if stale else 0


def draw(table: Table) -> str:
    """Return the rows as a table with the names of the dimensions at its head."""
    names = list(table.dimension)
    factors = {name: list(each.values) for name, each in table.dimension.items()}
    constraints = [constraint(each) for each in table.excluded]
    stronger = [
        {"fields": list(three), "strength": 3}
        for three in combinations(names, 3)
        if table.is_triple(three)
    ]
    rows = make(factors, salt=table.seed, constraints=constraints, sub_models=stronger)
    lines = sorted([row[name] for name in names] for row in rows)
    widths = [max(len(line[at]) for line in [names, *lines]) for at in range(len(names))]
    return "".join(
        " ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        + "\n"
        for line in [names, *lines]
    )


def constraint(excluded: Exclusion) -> dict[str, object]:
    """Return what the library keeps to: in one of the dimensions no value is an excluded one."""
    allowed = [
        {"operator": "not", "condition": {"operator": "in", "left": name, "values": list(values)}}
        for name, values in excluded.values.items()
    ]
    return {"operator": "or", "conditions": allowed}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
