"""A campaign over all mutants; its results are kept in a folder, so that it can be resumed."""

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import case_runs
import msgspec
import touching
import trial
from mutants import Mutant, generate
from places import lines_of
from spread import Brokers, spread

from wireproof_kit.runner.claims import Probed
from wireproof_kit.runner.instance import Instance

CHUNKS = 12
NOTE_SLOTS = 4
NOTE_WITHIN_S = 600.0
TRIAL_WITHIN_S = 600.0
HISTORY = 6
FIRST_CASES = 120
"""How many cases a mutant meets in the first round; those that live meet all in the second."""


class CaseTrace(msgspec.Struct):
    """What one case runs in the unchanged broker: functions, lines by file, verdict, seconds.

    The key "" is for what runs before any case.
    """

    functions: list[str]
    lines: dict[str, set[int]]
    verdict: str = ""
    reason: str = ""
    seconds: float = 0.0

    def is_useful(self) -> bool:
        """Return True if the case conforms on the unchanged broker, and is fast enough."""
        return self.verdict in case_runs.CONFORMING and self.seconds <= case_runs.SLOW_S

    def is_about(self, mutant: Mutant, lines: range | None) -> bool:
        """Return True if the case runs one of the lines; without lines, the mutant's function."""
        if lines is None:
            return f"{mutant.file}:{mutant.function}" in self.functions
        return not self.lines.get(mutant.file, set()).isdisjoint(lines)


class MutantPlan(NamedTuple):
    """The cases to try a mutant with, most promising first, and the broker's mode for them."""

    mode: str
    items: Sequence[Instance]


@dataclass
class Campaign:
    """The mutation test of the broker: a snapshot, its mutants, traces of cases, and outcomes."""

    folder: Path
    slots: int
    items: dict[str, Instance] = field(default_factory=dict)
    touched: dict[str, dict[str, CaseTrace]] = field(default_factory=dict)
    mutants: list[Mutant] = field(default_factory=list)
    outcomes: dict[str, dict[str, object]] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    def prepare(self) -> None:
        """Generate the mutants, and trace the cases unless that was done before."""
        self.items = case_runs.by_id(case_runs.cases())
        self.mutants = self._generate()
        for mode in case_runs.MODES:
            self._probe(mode)
            self.touched[mode] = self._note_cases(mode)
        outcomes = self.folder / "outcomes.jsonl"
        for line in outcomes.read_text().splitlines() if outcomes.exists() else ():
            told = json.loads(line)
            self.outcomes[told["key"]] = told

    def clean(self, mode: str) -> Probed:
        """Return what the reference without a mutant showed in a mode."""
        return msgspec.json.decode(self._place("clean", mode).read_bytes(), type=Probed)

    def odd(self) -> list[str]:
        """Return lines on cases that do not conform soon on the reference: they judge nothing."""
        return [
            f"{case} ({mode}): {seen.verdict} in {seen.seconds:.1f} s, {seen.reason}"
            for mode, cases in self.touched.items()
            for case, seen in cases.items()
            if case and not seen.is_useful()
        ]

    def sample(self, mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
        """Return ``count`` random mutants, taken evenly from all modules."""
        chance = random.Random(seed)
        by_file: dict[str, list[Mutant]] = defaultdict(list)
        for mutant in chance.sample(mutants, len(mutants)):
            by_file[mutant.file].append(mutant)
        chosen: list[Mutant] = []
        while len(chosen) < min(count, len(mutants)):
            for own in by_file.values():
                chosen += [own.pop()] if own and len(chosen) < count else []
        return chosen

    def seconds(self) -> float:
        """Return the seconds of all trials, divided by the number of slots."""
        return (
            sum(float(str(outcome.get("seconds", 0.0))) for outcome in self.outcomes.values())
            / self.slots
        )

    def run(
        self, mutants: Sequence[Mutant], *, most: int | None = None
    ) -> Iterator[tuple[Mutant, dict[str, object]]]:
        """Try each mutant that has not met enough cases yet; yield and store the outcomes."""
        plans = {m.key: self._plan(m) for m in mutants}
        todo = [m for m in mutants if not self._is_settled(m, plans[m.key], most)]
        for mutant in todo:
            if not plans[mutant.key].items:
                yield mutant, self._keep(mutant, {"how": "survived", "why": "no case touches it"})
        touched = {m: plans[m.key] for m in todo if plans[m.key].items}
        for mutant, outcome in self._try_mutants(touched, most):
            yield mutant, self._keep(mutant, outcome)

    def run_in(
        self, mode: str, mutants: Sequence[Mutant]
    ) -> Iterator[tuple[Mutant, dict[str, object]]]:
        """Try each surviving mutant again in another mode that also runs its line."""
        plans: dict[Mutant, MutantPlan] = {}
        for mutant in mutants:
            outcome = self.outcomes[mutant.key]
            plan = self._plan(mutant, (mode,))
            new = mode not in (self._plan(mutant).mode, outcome.get("also"))
            if outcome["how"] == "survived" and new and plan.items:
                plans[mutant] = plan
        for mutant, outcome in self._try_mutants(plans, None):
            lives = outcome["how"] in ("survived", "lost")
            told = self.outcomes[mutant.key] if lives else outcome
            yield mutant, self._keep(mutant, {**told, "also": mode})

    def _try_mutants(
        self, plans: Mapping[Mutant, MutantPlan], most: int | None
    ) -> Iterator[tuple[Mutant, dict[str, object]]]:
        clean = {mode: self.clean(mode) for mode in case_runs.MODES}
        killers = _Killers()

        def work(brokers: Brokers, mutant: Mutant) -> dict[str, object]:
            mode, items = plans[mutant]
            ordered = killers.order_cases(mutant, items)[:most]
            return trial.try_mutant(brokers, asdict(mutant), mode, ordered, clean[mode])

        found = spread(plans, work, tree=self.tree, slots=self.slots, within_s=TRIAL_WITHIN_S)
        for mutant, said in found:
            outcome = said if "how" in said else {"how": "lost", "why": said["lost"]}
            killers.learn(mutant, str(outcome.get("case", "")))
            yield mutant, outcome

    def _is_settled(self, mutant: Mutant, plan: MutantPlan, most: int | None) -> bool:
        """Return whether a mutant is dead, or survived as many of its cases as wanted."""
        outcome = self.outcomes.get(mutant.key)
        if outcome is None:
            return False
        if outcome["how"] == "lost":  # tried again when the campaign is, once
            return most is None
        due = len(plan.items[:most])
        return outcome["how"] != "survived" or int(str(outcome.get("run", 0))) >= due

    def _plan(self, mutant: Mutant, modes: Iterable[str] = case_runs.MODES) -> MutantPlan:
        """Return the cases that run the changed line.

        A line that runs only before the first case may concern every case. If the first mode of
        running the reference does not run the line, the other modes are searched.
        """
        lines = lines_of(mutant, self.tree)
        for mode in modes:
            seen = self.touched[mode]
            good = {c: s for c, s in seen.items() if c in self.items and s.is_useful()}
            about = [case for case, each in good.items() if each.is_about(mutant, lines)]
            if not about and seen[""].is_about(mutant, lines):
                about = list(good)
            if about:
                return MutantPlan(mode, _order_cases([self.items[case] for case in about], good))
        return MutantPlan(next(iter(case_runs.MODES)), ())

    def _keep(self, mutant: Mutant, outcome: Mapping[str, object]) -> dict[str, object]:
        told = {"key": mutant.key, "was": mutant.was, "becomes": mutant.becomes, **outcome}
        self.outcomes[mutant.key] = told
        with (self.folder / "outcomes.jsonl").open("a") as file:
            file.write(json.dumps(told) + "\n")
        return told

    def _generate(self) -> list[Mutant]:
        path = self.folder / "mutants.json"
        if not path.exists():
            path.write_bytes(msgspec.json.encode(list(generate(self.tree))))
        return msgspec.json.decode(path.read_bytes(), type=list[Mutant])

    def _probe(self, mode: str) -> None:
        out = self._place("clean", mode)

        def work(brokers: Brokers, place: Path) -> dict[str, object]:
            touching.probe_clean(brokers, mode, place)
            return {}

        todo = [] if out.exists() else [out]
        for _, said in spread(todo, work, tree=self.tree, slots=1, within_s=NOTE_WITHIN_S):
            if "lost" in said:
                raise RuntimeError(f"the clean reference cannot be probed: {said['lost']}")

    def _note_cases(self, mode: str) -> dict[str, CaseTrace]:
        path = self._place("touched", mode)
        if not path.exists():
            path.write_bytes(msgspec.json.encode(self._note(mode)))
        return msgspec.json.decode(path.read_bytes(), type=dict[str, CaseTrace])

    def _note(self, mode: str) -> dict[str, CaseTrace]:
        clean = self.clean(mode)
        items = tuple(self.items.values())
        parts = [self.folder / f"part-{number}.json" for number in range(CHUNKS)]

        def work(brokers: Brokers, number: int) -> dict[str, object]:
            touching.note(brokers, mode, items[number::CHUNKS], clean, parts[number])
            return {}

        found: dict[str, CaseTrace] = {}
        done = spread(
            range(CHUNKS), work, tree=self.tree, slots=NOTE_SLOTS, within_s=NOTE_WITHIN_S
        )
        for number, said in done:
            if "lost" in said:
                raise RuntimeError(f"the clean reference cannot be run: {said['lost']}")
            part = parts[number].read_bytes()
            found.update(msgspec.json.decode(part, type=dict[str, CaseTrace]))
            parts[number].unlink()
        return found

    def _place(self, what: str, mode: str) -> Path:
        return self.folder / f"{what}-{mode.replace(' ', '-')}.json"


class _Killers:
    """Which cases killed the last mutants of a function: they are likely to kill the next."""

    def __init__(self) -> None:
        self._of: dict[str, list[str]] = defaultdict(list)

    def learn(self, mutant: Mutant, case: str) -> None:
        names = self._of[f"{mutant.file}:{mutant.function}"]
        if case:
            names[:] = [case, *(name for name in names if name != case)][:HISTORY]

    def order_cases(self, mutant: Mutant, items: Sequence[Instance]) -> list[Instance]:
        names = self._of[f"{mutant.file}:{mutant.function}"]
        first = [item for name in names for item in items if item.id == name]
        return [*first, *(item for item in items if item not in first)]


def _order_cases(items: Iterable[Instance], seen: Mapping[str, CaseTrace]) -> list[Instance]:
    """Put one case of each clause first, then a second of each, and so on; quick ones first."""
    quickest = sorted(items, key=lambda item: (item.mark.hazard, seen[item.id].seconds))
    rounds: dict[str, int] = defaultdict(int)
    ranked: list[tuple[int, int, Instance]] = []
    for place, item in enumerate(quickest):
        rounds[item.clause.id] += 1
        ranked.append((rounds[item.clause.id] + 1000 * item.mark.hazard, place, item))
    return [item for _, _, item in sorted(ranked, key=lambda entry: entry[:2])]
