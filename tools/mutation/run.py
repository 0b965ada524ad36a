"""Mutate the cores of the reference, and judge the mutants through the socket by the suites.

    python tools/mutation/run.py [--sample N [--seed N]] [--only PREFIX] [--known] [--go-on]

A campaign is kept in a folder, so an interrupted campaign continues. After all mutants were tried,
the page out/mutation.md is written, and the exit code tells whether the rate is met. A change of
the sources starts a new campaign; with ``--go-on`` the campaign continues with its copy of the old
sources. ``--known`` tries a few mutants with known outcomes, and checks the outcomes.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import snapshot

if TYPE_CHECKING:
    from mutants import Mutant

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TREE = "WIREPROOF_MUTATION_TREE"
SLOTS = 4


def main(argv: list[str]) -> int:
    arguments = _parser().parse_args(argv)
    folder = Path(arguments.folder).resolve()
    if os.environ.get(TREE) != str(folder):
        return _again_in_snapshot(folder, arguments, argv)
    if arguments.known:
        import known

        return known.run(folder / "tree")
    return _campaign(folder, arguments)


def _campaign(folder: Path, arguments: argparse.Namespace) -> int:
    import equivalents
    import tally
    from campaign import FIRST_CASES, Campaign

    campaign = Campaign(folder, arguments.slots)
    campaign.prepare()
    entries = equivalents.read()
    for sentence in tally.list_forgotten(
        campaign.mutants, (*entries, *equivalents.read(tally.EXPLAINED))
    ):
        print(f"forgotten  {sentence}")
    odd = campaign.odd()
    (folder / "not-used.txt").write_text("".join(f"{sentence}\n" for sentence in odd))
    print(f"{len(odd)} cases judge nothing: see {folder / 'not-used.txt'}")
    count, excused = equivalents.split(campaign.mutants, entries)
    print(f"{len(count)} mutants count, {len(excused)} do not", flush=True)
    chosen = [m for m in count if m.key.startswith(arguments.only)]
    if arguments.sample:
        chosen = campaign.sample(chosen, arguments.sample, arguments.seed)
    for most in (FIRST_CASES, None):
        print(f"every mutant meets {most or 'all its'} cases at most", flush=True)
        _follow(campaign.run(chosen, most=most), len(chosen))
        print(tally.describe(chosen, campaign.outcomes, excused=len(excused)), flush=True)
    print("those that live are tried under the deployed dialect, too", flush=True)
    _follow(campaign.run_in("deployed", chosen), len(chosen))
    print(tally.describe(chosen, campaign.outcomes, excused=len(excused)), flush=True)
    if arguments.write or not (arguments.sample or arguments.only):
        tally.write(
            count, campaign.outcomes, excused, seconds=campaign.seconds(), slots=campaign.slots
        )
    if arguments.sample or arguments.only:
        return 0
    return 0 if tally.rate(chosen, campaign.outcomes) >= tally.WANTED else 1


def _follow(outcomes: "Iterable[tuple[Mutant, dict[str, object]]]", count: int) -> None:
    """Print the mutants that survive, and the progress."""
    import tally

    started = time.monotonic()
    for number, (mutant, outcome) in enumerate(outcomes, 1):
        if outcome["how"] not in tally.DEAD:
            change = f"{mutant.was} -> {mutant.becomes}"
            print(f"{outcome['how']}  {mutant.key}  {change}  {outcome['why']}")
        if number % 100 == 0:
            print(f"{number} of {count}, {time.monotonic() - started:.0f} s", flush=True)


def _again_in_snapshot(folder: Path, arguments: argparse.Namespace, argv: list[str]) -> int:
    """Run this script again with the snapshot's packages in place of the project's."""
    kept = arguments.go_on and snapshot.is_whole(folder)
    tree = folder / "tree" if kept else snapshot.renew(folder, Path(arguments.source))
    environment = {**os.environ, "PYTHONPATH": str(tree), TREE: str(folder)}
    os.execve(sys.executable, [sys.executable, __file__, *argv], environment)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--folder", default=str(ROOT / "out" / "mutation"))
    parser.add_argument("--source", default=str(ROOT), metavar="DIR", help="of the packages")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many, not all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="PREFIX", help="e.g. core/channel.py")
    parser.add_argument("--slots", type=int, default=SLOTS, metavar="N", help="at a time")
    parser.add_argument("--go-on", action="store_true", help="with the sources it began with")
    parser.add_argument("--write", action="store_true", help="write the table of what is known")
    parser.add_argument("--known", action="store_true", help="a handful with known outcomes")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
