"""The batches of a worker: the cases of each, the ones that may be sent, their coverage."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from wireproof_kit.fuzz.campaign.blocklist import Blocklist
from wireproof_kit.fuzz.campaign.coverage import Coverage
from wireproof_kit.fuzz.campaign.plan import WorkerPlan
from wireproof_kit.fuzz.case import RESTART, WHOLE, Case
from wireproof_kit.fuzz.driver import Generation
from wireproof_kit.fuzz.generate.held_cases import nothing_in
from wireproof_kit.fuzz.send.batch_order import SortedBatch, Sorter

BATCH: Final = 256
FIRST_RESTART: Final = 16
"""Batches before the first restart of the target. Each time twice as many lie before the next
one: some brokers die of a long past, which a restart ends."""
PIECE: Final = 16
"""How many cases are made before the kit reads from the target again.

Cases are made while the target is busy, so that neither side waits for the other.
"""
WATCHED: Final = 2
"""In one of this many batches, the kit checks that stored messages are delivered."""
QUIET: Final = 8
"""In one of this many batches cases run alone: no case can get what it waits for from another."""
EXERCISE_SHARE: Final = 0.15
"""The part of a campaign that the exercises of the kit's own clients may take.

Measured with the reference: of 28 s they took 18, and sending cases 3.
"""
EXERCISE_S: Final = 3.0
"""About how long an exercise takes, in seconds."""
LONG_ENOUGH_S: Final = 20.0
FIRST_SHARE: Final = 0.3
"""The part of a campaign after which not even the first exercise of a kind begins.

With a load of 14, three of them took 18 s of 20, and 768 cases were sent.
"""
FIRST_EXERCISES: Final = 3
"""The number of the last batch with the first exercise of a kind."""
MOST_DEATHS: Final = 12
"""How often a target may die while the rest of a batch is sent in which it died."""
LEAST_PART: Final = 16
"""Cases that killed it are halved down to this number; the others were sent."""

Meanwhile: TypeAlias = Iterator[None]
"""Work in small pieces, done while the target is busy."""


@dataclass(slots=True)
class BatchInProgress:
    """The cases of a batch made so far; `ready` has those that may be sent, sorted."""

    number: int
    ready: SortedBatch | None
    cases: list[Case] = field(default_factory=list[Case])


@dataclass(slots=True)
class Batches:
    """Makes the batches of one worker, and counts what became of their cases.

    `left_out` counts cases that may affect objects that the kit did not create, `skipped` cases
    like one that was found to cost much, `spared` exercises that were left out: while not
    `has_exercises`, these have had their share of the time. `restarts`: the target may be
    restarted as one of the inputs.
    """

    plan: WorkerPlan
    restarts: bool = False
    generation: Generation | None = None
    blocklist: Blocklist = field(default_factory=Blocklist)
    coverage: Coverage = field(default_factory=Coverage)
    skipped: int = 0
    left_out: int = 0
    spared: int = 0
    has_exercises: bool = True

    @property
    def first(self) -> int:
        """The number of this worker's first batch."""
        return self.plan.first + self.plan.worker

    @property
    def step(self) -> int:
        """The difference between the numbers of two successive batches of this worker."""
        return self.plan.workers

    def is_behind(self, batch: int) -> bool:
        """Return True if a batch number comes after the campaign's last case."""
        return self.plan.cases is not None and batch * BATCH >= self.plan.cases

    def restart_after(self, batch: int) -> Case | None:
        """Return the case that restarts the target after a batch; None for most batches."""
        chosen = self.plan.choice.frames or self.plan.choice.states
        if chosen or not self.restarts or self.generation is None:
            return None
        rounds, rest = divmod(batch // self.step + 1 + FIRST_RESTART, FIRST_RESTART)
        if rest or rounds < 2 or rounds & (rounds - 1):
            return None
        case = self.generation.case(batch * BATCH)
        state = self.generation.start(case.state) or case.state
        return nothing_in(case, state, RESTART, WHOLE)

    def is_quiet(self, batch: int) -> bool:
        """Return True if the cases of a batch must run alone."""
        return batch // self.step % QUIET == 1

    def may_exercise(self, batch: int, *, had_s: float, elapsed_s: float) -> bool:
        """Return True if another exercise fits into the share of the time that exercises have.

        In a campaign that is long enough each kind is done at once, for the first time. Exercises
        took `had_s` of its `elapsed_s` seconds so far.
        """
        time_s = self.plan.time_s
        is_long = time_s is None or time_s >= LONG_ENOUGH_S
        if is_long and batch // self.step <= FIRST_EXERCISES:
            return time_s is None or had_s < FIRST_SHARE * time_s
        return had_s + EXERCISE_S < EXERCISE_SHARE * elapsed_s

    def begin(self, batch: int, sorter: Sorter | None) -> BatchInProgress:
        """Start a batch without cases; they are prepared for sending only with a sorter."""
        watch = batch // self.step % WATCHED == 0
        return BatchInProgress(
            batch, sorter.sort_cases((), watch=watch) if sorter is not None else None
        )

    def make(self, made: BatchInProgress) -> Meanwhile:
        """Make the cases of a batch, and sort those that may be sent, piece by piece."""
        generation = self.generation
        assert generation is not None, "the campaign is open"
        first = made.number * BATCH
        last = first + BATCH if self.plan.cases is None else min(first + BATCH, self.plan.cases)
        for index in range(first, last):
            case = generation.case(index)
            made.cases.append(case)
            if made.ready is not None and (sent := self._sent_form(case)) is not None:
                made.ready.add(sent)
            if index % PIECE == PIECE - 1:
                yield

    def drop_blocked(self, made: BatchInProgress, sorter: Sorter | None) -> SortedBatch | None:
        """Return the sorted batch without the cases that were blocked after it was made.

        None without a sorter.
        """
        kept = self.keep_sent(made.cases)
        ready = made.ready
        if sorter is None or ready is None or ready.batch == kept:
            return ready
        return sorter.sort_cases(kept, watch=ready.is_watched)

    def keep_sent(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases that may be sent; count their coverage, and the others as skipped."""
        allowed = self.select_allowed(cases)
        due = [case for case in allowed if self.has_exercises or not case.exercise]
        self.spared += len(allowed) - len(due)
        kept = self._sent_forms(due)
        self.skipped += len(due) - len(kept)
        for case in kept:
            self.coverage.add(case)
        return kept

    def make_again(self, batches: Iterable[int]) -> Sequence[Case]:
        """Return the cases of earlier batches that may be sent, without counting them.

        These include the restarts of the target after a batch. Cases with an exercise of the kit's
        other clients are left out: an exercise takes seconds, and a death that it causes is
        attributed to it at once.
        """
        found: list[Case] = []
        for batch in batches:
            made = self.begin(batch, None)
            for _ in self.make(made):
                pass
            found += self._sent_forms(case for case in made.cases if not case.exercise)
            restart = self.restart_after(batch)
            found += [restart] if restart is not None else []
        return found

    def select_again(self, cases: Sequence[Case]) -> list[Case]:
        """Return the cases of a batch that may be sent once more and take no time to be open."""
        brief = (case for case in cases if not (case.exercise or case.is_held or case.is_slow))
        return self._sent_forms(brief)

    def select_allowed(self, cases: Sequence[Case]) -> Sequence[Case]:
        """Return the cases that may be sent to this target, and count the others."""
        found = [case for case in cases if self.plan.hazardous or not case.hazardous]
        self.left_out += len(cases) - len(found)
        return found

    def _sent_forms(self, cases: Iterable[Case]) -> list[Case]:
        return [sent for case in cases if (sent := self._sent_form(case)) is not None]

    def _sent_form(self, case: Case) -> Case | None:
        """Return the case as it may be sent, without what is known to be deadly; None if never."""
        case = self.blocklist.spare(case)
        is_allowed = self.plan.hazardous or not case.hazardous
        return case if is_allowed and not self.blocklist.holds(case, self.generation) else None


def send_in_parts(cases: Sequence[Case], kills: Callable[[Sequence[Case]], bool | None]) -> None:
    """Send cases in halves, and those that kill the target in ever smaller parts, for some deaths.

    `kills` sends cases and returns True if the target died of them, and None if no more are sent.
    """
    parts, deaths = _halves(cases), 0
    while parts and deaths < MOST_DEATHS:
        part = parts.pop()
        died = kills(part)
        if died is None:
            return
        if died:
            deaths += 1
            parts += _halves(part) if len(part) > LEAST_PART else []


def _halves(cases: Sequence[Case]) -> list[Sequence[Case]]:
    """Return the two halves of cases, the first one last."""
    middle = len(cases) // 2
    return [half for half in (cases[middle:], cases[:middle]) if half]
