"""A handful of mutants whose outcome is known: does the machinery still find it?"""

import time
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import case_runs
import msgspec
import touching
import trial
from mutants import PACKAGE, Mutant, of_source
from spread import Brokers, spread

from wireproof_kit.runner.claims import Probed

LIST = Path(__file__).with_name("known.toml")
SLOTS = 2
WITHIN_S = 600.0
"""Beside 40 busy processes 60 s were too few for a mutant that ends at its start."""


class Known(msgspec.Struct, frozen=True):
    """A mutant whose outcome is known: its change, the prefix of the cases to try, the outcome.

    One that ``was`` nothing changes nothing.
    """

    function: str
    was: str
    becomes: str
    cases: str
    how: str


def run(tree: Path) -> int:
    """Try each mutant whose outcome is known, and print it; return 1 if one differs."""
    started = time.monotonic()
    mode = next(iter(case_runs.MODES))
    place = tree.parent / "clean-known.json"
    items = case_runs.cases()

    def probe(brokers: Brokers, out: Path) -> dict[str, object]:
        touching.probe_clean(brokers, mode, out)
        return {}

    for _, said in spread([place], probe, tree=tree, slots=1, within_s=WITHIN_S):
        if "lost" in said:
            print(f"the clean reference cannot be probed: {said['lost']}")
            return 2
    clean = msgspec.json.decode(place.read_bytes(), type=Probed)

    def work(brokers: Brokers, known: Known) -> dict[str, object]:
        chosen = [item for item in items if item.is_selected_by(known.cases)]
        return trial.try_mutant(brokers, asdict(_mutant(tree, known)), mode, chosen, clean)

    wrong = 0
    for known, said in spread(_read(), work, tree=tree, slots=SLOTS, within_s=WITHIN_S):
        how = said.get("how", "lost")
        wrong += how != known.how
        why = said.get("why") or said.get("lost")
        print(f"{'as known' if how == known.how else 'WRONG'}  {how}  {known.function}  {why}")
    print(f"{wrong} came out otherwise, {time.monotonic() - started:.0f} s")
    return 1 if wrong else 0


def _read() -> Iterator[Known]:
    entries = tomllib.loads(LIST.read_text("utf-8"))["mutant"]
    yield from msgspec.convert(entries, list[Known])


def _mutant(tree: Path, known: Known) -> Mutant:
    file, _, function = known.function.partition(":")
    source = (tree / PACKAGE / file).read_text("utf-8")
    own = [m for m in of_source(source, file) if m.function == function]
    if not known.was:
        return _find_unchanged(own[0], source)
    return next(m for m in own if (m.was, m.becomes) == (known.was, known.becomes))


def _find_unchanged(mutant: Mutant, source: str) -> Mutant:
    lines = source.splitlines()[mutant.first - 1 : mutant.last]
    return Mutant(**{**asdict(mutant), "text": "\n".join(lines)})
