"""Sends batches of cases and judges every answer.

Cases that leave their connection usable are pipelined over one connection per state. All others
get connections of their own, some dozens at a time. Measured, a connection per case limits
sending to a tenth: 4,900 against 55,000 cases a second. After each batch the bystanders are
checked, and acknowledged messages are awaited.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from wireproof_kit.fuzz.campaign.batches import Meanwhile
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import End, FuzzSession, Generation, Trouble
from wireproof_kit.fuzz.oracle import rules
from wireproof_kit.fuzz.oracle.rules import DEAD, DELIVERY, HUNG, LINGERS, NO_ANSWER, NOT_CLOSED
from wireproof_kit.fuzz.send import pump
from wireproof_kit.fuzz.send.batch_order import SortedBatch, Sorter, trigger
from wireproof_kit.fuzz.send.conversation import CUT, Conversation
from wireproof_kit.fuzz.send.counts import Counts
from wireproof_kit.fuzz.send.fresh_names import NO_RENAMING, Renaming
from wireproof_kit.fuzz.send.held_open import HeldOpen
from wireproof_kit.fuzz.send.pipeline import Pipeline, PipelinedCase, may_end
from wireproof_kit.fuzz.triage.anomaly import Anomaly, tell_death
from wireproof_kit.wire.transcript import Transcript

SIDE_BY_SIDE = 32
BRIEF = 0.25
"""The fraction of the patience to wait for an answer while only a crash or hang matters."""
SILENCES = 3
"""After this many missing answers in one batch, the rest of the batch is not sent."""
LAST_S = 1.0
"""Seconds for recording the transcript of a finding after the campaign's time is over."""


@dataclass(slots=True)
class Engine:
    """Sends batches of cases to one target, and nothing after `ends_at` (monotonic clock).

    `is_brief`: answers get a fraction of the patience, since health checks show a dead target
    anyway. `is_counting`: new cases are sent, and those not fully judged are counted. `was_cut`:
    the time ran out while answers were awaited. `is_unused`: nothing was sent so far.
    """

    fuzz_session: FuzzSession
    generation: Generation
    is_stopped: Callable[[], bool] = lambda: False
    ends_at: float = math.inf
    counts: Counts = field(default_factory=Counts)
    renaming: Renaming = NO_RENAMING
    is_brief: bool = False
    is_counting: bool = False
    most_silences: float = SILENCES
    was_cut: bool = False
    is_unused: bool = True
    sorter: Sorter = field(init=False)
    _pipelines: dict[str, Pipeline] = field(default_factory=dict[str, Pipeline])
    _answer_s: float = 0.0
    _number: int = 0
    _silences: int = 0
    _meanwhile: Meanwhile = field(default_factory=lambda: iter(()))
    _unfinished: list[Conversation] = field(default_factory=list[Conversation])
    _ended: dict[End, Case] = field(default_factory=dict[End, Case])
    _held: HeldOpen = field(default_factory=HeldOpen)

    def __post_init__(self) -> None:
        self.sorter = Sorter(self.fuzz_session.oracle, self.generation, self.renaming)

    def perform(
        self, batch: Sequence[Case], *, watch: bool, patient: bool = True
    ) -> list[Anomaly]:
        """Send a batch, then check the target; return the anomalies, the most likely cause first.

        `watch`: check deliveries too. `patient`: wait for late deliveries to the other clients.
        """
        return self.perform_sorted(self.sort_batch(batch, watch=watch), patient=patient)

    def sort_batch(self, batch: Sequence[Case], *, watch: bool) -> SortedBatch:
        """Return a batch sorted by how its cases can be sent; more cases may be added to it."""
        return self.sorter.sort_cases(batch, watch=watch)

    def perform_sorted(
        self,
        batch: SortedBatch,
        *,
        patient: bool = True,
        quiet: bool = False,
        meanwhile: Meanwhile | None = None,
    ) -> list[Anomaly]:
        """Send a sorted batch, then check the target; return the anomalies.

        `meanwhile` is run to its end while the target is busy. `quiet`: cases on connections of
        their own run one at a time, except slow ones: other traffic could wake a target that is
        stuck waiting for one client.
        """
        health = self.fuzz_session.health
        whole = tuple(batch.batch)
        if batch.is_watched and (trouble := health.begin_watch()) is not None:
            return [Anomaly(trouble, whole)]
        if batch.sorter is not self.sorter or not batch.is_up_to_date:
            batch = self.sort_batch(batch.batch, watch=batch.is_watched)
        self._answer_s = self.fuzz_session.patience_s
        self._silences = 0
        self._unfinished = []
        self._ended = {}
        found: list[Anomaly] = []
        stored: list[bytes] = []
        single = list(batch.single)
        if meanwhile is not None:
            single = self._hold(batch)
        self._meanwhile = meanwhile or iter(())
        self._perform_piped(batch.piped, found, stored, single)
        in_lane = len(found)
        for _ in self._meanwhile:
            pass
        alone = [case for case in single if not case.is_slow] if quiet else []
        self._perform_single(alone, found, stored, side_by_side=1)
        beside = [case for case in single if case.is_slow] if quiet else single
        self._perform_single(beside, found, stored)
        self._attend_held(found, stored)
        found = [
            replace(each, batch=whole, case=each.case and batch.original(each.case))
            for each in found
        ]
        found += self._suspect_lingering(batch, whole)
        if self._is_cut():
            return tell_death(found, self.fuzz_session.oracle)
        is_watched = batch.is_watched and not found
        if is_watched and (trouble := health.end_watch(stored)) is not None:
            found.append(Anomaly(trouble, whole, batch.find_sender(trouble.lost)))
        return self._check(batch, found, in_lane, patient=patient)

    def _check(
        self, batch: SortedBatch, found: list[Anomaly], in_lane: int, *, patient: bool
    ) -> list[Anomaly]:
        """Let the bystanders do what cases ask for, and check the target; return all anomalies."""
        health = self.fuzz_session.health
        # A target that died of the cases must not count as one that dies of an exercise: each
        # connection that its end closed would be an anomaly of its own.
        trouble = health.check(patient=patient) if found else None
        if trouble is None:
            if exercised := self._exercise_bystanders(tuple(batch.batch)):
                return exercised + found
            trouble = health.check(patient=patient)
        return self._suspect_noticed(trouble, batch, found, in_lane) if trouble else found

    def _hold(self, batch: SortedBatch) -> list[Case]:
        """Start the cases that are held, as far as there is room; return the other single ones."""
        for case in [each for each in batch.single if each.is_held]:
            if self._held.is_full or self._is_cut():
                self.counts.left += 1
            else:
                self._held.add(self._start(case), batch.original(case))
        return [case for case in batch.single if not case.is_held]

    def _attend_held(self, found: list[Anomaly], stored: list[bytes]) -> None:
        """Conclude the held cases that are over; the others stay open beside the next batch."""
        for conversation in self._held.take_ended():
            self._conclude(conversation, found, stored)

    def _suspect_noticed(
        self, trouble: Trouble, batch: SortedBatch, found: list[Anomaly], in_lane: int
    ) -> list[Anomaly]:
        """Return the anomalies after a health check that failed.

        The failed check may be the cause of all other anomalies. The most likely cause is the case
        without an answer that was sent first.
        """
        whole = tuple(batch.batch)
        late = sorted(self._unfinished, key=lambda conversation: conversation.number)
        first = found[0].case if found else None
        if late and not in_lane:
            first = batch.original(late[0].case)
        suspects = [each.case for each in found[:in_lane] if each.case is not None]
        suspects += [batch.original(conversation.case) for conversation in late]
        if trouble.violated in (DEAD, HUNG) or self._silences >= self.most_silences:
            suspects += self._held.cases
            others = [case for case in whole if all(case is not suspect for suspect in suspects)]
            return [Anomaly(trouble, (*suspects, *others), first, likely=len(suspects))]
        return [Anomaly(trouble, whole, first), *found]

    def perform_one(self, case: Case, transcript: Transcript | None = None) -> Anomaly | None:
        """Send one case on its own connections, into a transcript if given; return its anomaly."""
        self._answer_s = self.fuzz_session.patience_s
        conversation = self._conversation(self.renaming.case(case), transcript)
        try:
            conversation.start()
            until = max(self.ends_at, time.monotonic() + LAST_S)
            pump.converse([conversation], until, self.ends_at)
            judgement = conversation.judgement()
        finally:
            conversation.close()
        if judgement.trouble is None:
            return None
        return replace(_found_by(judgement, judgement.trouble, case), batch=(case,))

    def perform_apart(self, cases: Sequence[Case]) -> list[Anomaly]:
        """Send cases at the same time, each on its own connections, without a health check."""
        self._answer_s = self.fuzz_session.patience_s
        self._silences = 0
        self._unfinished = []
        found: list[Anomaly] = []
        self._perform_single([self.renaming.case(case) for case in cases], found, [])
        return [replace(each, batch=tuple(cases)) for each in found]

    @property
    def is_holding(self) -> bool:
        """Return True if connections of cases are held open while others are sent."""
        return bool(self._held.cases)

    def is_well(self) -> bool:
        """Return True if the health check succeeds."""
        return self.fuzz_session.health.check() is None

    def close(self) -> None:
        """Close the connections of all cases, shared ones and held-open ones."""
        self._held.close()
        for pipeline in self._pipelines.values():
            pipeline.close()
        self._pipelines.clear()

    def _perform_piped(
        self,
        piped: Mapping[str, list[PipelinedCase]],
        found: list[Anomaly],
        stored: list[bytes],
        single: list[Case],
    ) -> None:
        started = time.monotonic()
        todo = dict(piped)
        while todo and not self.is_stopped():
            pipelines = {state: self._pipeline(state) for state in todo}
            for state, pipeline in pipelines.items():
                pipeline.begin(todo[state])
            self._wait_for_pipelines(list(pipelines.values()))
            if self._is_cut():
                self.was_cut = True
                break
            todo = {
                state: rest
                for state, pipeline in pipelines.items()
                if (rest := self._finish_pipeline(pipeline, todo[state], found, stored, single))
            }
        self.counts.piped_s += time.monotonic() - started

    def _finish_pipeline(
        self,
        pipeline: Pipeline,
        cases: Sequence[PipelinedCase],
        found: list[Anomaly],
        stored: list[bytes],
        single: list[Case],
    ) -> list[PipelinedCase]:
        """Judge the answers of a pipeline; return the cases to send again on a new connection."""
        outcome = pipeline.finish()
        stored += outcome.stored
        self.counts.piped += len(cases[: outcome.executed])
        self.counts.answers += sum(len(each.owed) for each in cases[: outcome.executed])
        rest = list(cases[outcome.executed :])
        if outcome.wrong is not None and outcome.wrong.trouble is not None:
            trouble, case = outcome.wrong.trouble, cases[outcome.executed - 1].case
            found.append(Anomaly(trouble, (), case, outcome.wrong.answer))
            if self._is_given_up(trouble):
                self.counts.left += len(rest)
                return []
        elif rest:
            # One of them, or the one before, ended the connection, as it may.
            for piped in [*cases[max(outcome.executed - 1, 0) : outcome.executed], *rest]:
                if may_end(piped):
                    self.sorter.closers.add(trigger(piped.case))
                    break
            single += [piped.case for piped in rest if may_end(piped)]
            rest = [piped for piped in rest if not may_end(piped)]
        return rest

    def _is_given_up(self, trouble: Trouble) -> bool:
        if trouble.violated in (NO_ANSWER, NOT_CLOSED, DELIVERY):
            self._silences += 1
        return self._silences >= self.most_silences

    def _pipeline(self, state: str) -> Pipeline:
        pipeline = self._pipelines.get(state)
        self.is_unused = False
        if pipeline is None:
            pipeline = Pipeline(
                self.fuzz_session.oracle, self.fuzz_session.patience_s, self.sorter.entry(state)
            )
            self._pipelines[state] = pipeline
        return pipeline

    def _wait_for_pipelines(self, pipelines: Sequence[Pipeline]) -> None:
        patience_s = self._patience_s
        deadline = min(time.monotonic() + patience_s, self.ends_at)
        while clients := [client for pipeline in pipelines for client in pipeline.clients()]:
            is_busy = any(True for _ in islice(self._meanwhile, 1))
            if pump.move_bytes(clients, 0.0 if is_busy else deadline - time.monotonic()):
                deadline = min(time.monotonic() + patience_s, self.ends_at)
            if time.monotonic() >= deadline:
                return

    def _perform_single(
        self,
        cases: Sequence[Case],
        found: list[Anomaly],
        stored: list[bytes],
        *,
        side_by_side: int = SIDE_BY_SIDE,
    ) -> None:
        started, waiting = time.monotonic(), list(reversed(cases))
        active: list[Conversation] = []
        while (waiting or active) and not (self.is_stopped() and not active):
            if self._is_cut():
                self._abandon(active, waiting)
                break
            while waiting and len(active) < side_by_side and self._silences < self.most_silences:
                active.append(self._start(waiting.pop()))
                if active[-1].is_refused:
                    waiting.clear()
            if not active:
                self.counts.left += len(waiting)
                break
            pump.turn(active, self.ends_at)
            for each in [conversation for conversation in active if conversation.over]:
                active.remove(each)
                self._conclude(each, found, stored)
        self.counts.single_s += time.monotonic() - started

    def _start(self, case: Case) -> Conversation:
        conversation = self._conversation(case, None)
        conversation.start()
        return conversation

    def _conversation(self, case: Case, transcript: Transcript | None) -> Conversation:
        self._number += 1
        self.is_unused = False
        return Conversation(
            case,
            self.fuzz_session.oracle,
            self.renaming.steps(self.generation.enter(case.state)),
            self._patience_s,
            number=self._number,
            transcript=transcript,
        )

    def _conclude(
        self, conversation: Conversation, found: list[Anomaly], stored: list[bytes]
    ) -> None:
        judgement = conversation.judgement()
        if not conversation.is_complete:
            self._unfinished.append(conversation)
        if conversation.unjudged and self.is_counting:
            self.counts.leave_unjudged(conversation.unjudged, [conversation.case])
        conversation.close()
        self.counts.single += 1
        self._ended.update(dict.fromkeys(conversation.ends, conversation.case))
        stored += judgement.stored
        if judgement.trouble is not None:
            self._is_given_up(judgement.trouble)
            found.append(_found_by(judgement, judgement.trouble, conversation.case))

    def _suspect_lingering(self, batch: SortedBatch, whole: tuple[Case, ...]) -> list[Anomaly]:
        """Return an anomaly for each kind of case whose closed connection is still listed."""
        ends = sorted(self.fuzz_session.health.find_lingering(self._ended.keys()))
        cases = {trigger(self._ended[end]): self._ended[end] for end in ends}
        trouble = Trouble(LINGERS, "both sides have closed; the target still lists the client")
        return [Anomaly(trouble, whole, batch.original(case), LINGERS) for case in cases.values()]

    def _exercise_bystanders(self, whole: tuple[Case, ...]) -> list[Anomaly]:
        """Let the bystanders do what cases ask for; return what was wrong then."""
        started = time.monotonic()
        exercise = self.fuzz_session.health.exercise
        done = [(e, exercise(e.exercise, self.ends_at)) for e in whole if e.exercise]
        self.counts.exercised_s += time.monotonic() - started
        self.counts.exercised.update(case.exercise for case, _ in done)
        return [Anomaly(trouble, whole, case) for case, trouble in done if trouble is not None]

    def _abandon(self, active: Sequence[Conversation], waiting: Sequence[Case]) -> None:
        """Drop the cases that are left when the time is over."""
        self.was_cut = True
        self.counts.left += len(active) + len(waiting)
        if self.is_counting:
            self.counts.leave_unjudged(CUT, [*(each.case for each in active), *waiting])
        for each in active:
            each.close()

    @property
    def _patience_s(self) -> float:
        """The seconds that an answer may take, measured when the batch began."""
        return self._answer_s * (BRIEF if self.is_brief else 1.0)

    def _is_cut(self) -> bool:
        """Return True if the time is over."""
        return time.monotonic() >= self.ends_at


def _found_by(judgement: rules.Judgement, trouble: Trouble, case: Case) -> Anomaly:
    return Anomaly(trouble, (), case, judgement.answer, of_opening=judgement.of_opening)
