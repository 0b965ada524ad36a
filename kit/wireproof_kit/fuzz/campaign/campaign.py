"""One worker's part of a campaign: batch after batch, and what follows from what they raise."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final

from wireproof_kit.errors import ArrangementFailed, TargetSilent, TargetUnreachable
from wireproof_kit.fuzz.campaign.batches import Batches, Meanwhile, send_in_parts
from wireproof_kit.fuzz.campaign.exchanges import (
    Recorded,
    planned_exchange,
    record_once,
    record_until_shown,
)
from wireproof_kit.fuzz.campaign.exercises import ExerciseTimes
from wireproof_kit.fuzz.campaign.plan import FuzzTarget
from wireproof_kit.fuzz.campaign.records import map_renamed
from wireproof_kit.fuzz.campaign.restarts import not_started, split_at_restarts
from wireproof_kit.fuzz.campaign.target import describe_ill, refuse_ill
from wireproof_kit.fuzz.campaign.worker_campaign import WorkerCampaign
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import FuzzSession, Generation
from wireproof_kit.fuzz.oracle.client_deaths import find_reason
from wireproof_kit.fuzz.oracle.resource_growth import Watch
from wireproof_kit.fuzz.oracle.rules import DEAD, FILES, HUNG, MEMORY
from wireproof_kit.fuzz.send import pump
from wireproof_kit.fuzz.send.batch_order import SortedBatch, Sorter
from wireproof_kit.fuzz.send.engine import Engine
from wireproof_kit.fuzz.send.fresh_names import Renaming, are_as_long
from wireproof_kit.fuzz.send.replay import POLL_S, replay
from wireproof_kit.fuzz.triage.anomaly import Anomaly, find_alike
from wireproof_kit.fuzz.triage.consequences import (
    ANSWERED,
    BESIDE,
    ILL,
    OF_ONE_CASE,
    STUCK,
)
from wireproof_kit.fuzz.triage.deaths import finding_of_deaths, likely_causes
from wireproof_kit.fuzz.triage.findings import Findings
from wireproof_kit.fuzz.triage.triage import QUICK_REVIVAL_S, Triage
from wireproof_kit.wire.transcript import Transcript

RECORD_S: Final = 10.0
"""The most seconds for recording the transcript of many cases."""


@dataclass(slots=True, kw_only=True)
class Campaign(WorkerCampaign):
    """The running fuzz campaign of one worker against a broker."""

    fuzz_target: FuzzTarget
    _engine: Engine | None = None
    _watch: Watch | None = None
    is_watched: bool = False
    _exercises: ExerciseTimes = field(init=False)

    def __post_init__(self) -> None:
        self.can_restart = self.fuzz_target.can_restart
        self._exercises = ExerciseTimes(self.plan)
        self.batches = Batches(self.plan, restarts=self.fuzz_target.may_restart)
        self.findings = Findings(self.plan.choice.seed, self._report, self._flaw_of)
        self._triage = Triage(self)

    def run(self) -> None:
        """Run until the time is over, all cases are sent or the user interrupts."""
        self._start_clock()
        self.open()
        if not self.is_over():
            self.listener.on_open(self)  # the first batch may take long: the target is ready now
        try:
            if (opened := self._engine) is not None and not self.is_over():
                refuse_ill(opened.fuzz_session)
            for record in self.plan.corpus:
                if self._engine is not None and not self.is_over():
                    cases = self.batches.select_allowed(self.cases_of(record))
                    self._perform(self._engine.sort_batch(cases, watch=True))
            self._run_batches()
            self._await_held()
            self._tell_deaths()
        finally:
            self.close(leave=bool((last := self._engine) and last.was_cut and not last.is_well()))
            if not self.died:
                self.fuzz_target.leave_alive()

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        """Send cases on fresh connections; return the anomaly of the rule `violated`, or None."""
        engine, watch = self._engine, self._watch
        if engine is None:
            return None
        if any(case.is_restart for case in cases):
            return self.probe_fresh(cases, 0.0)
        engine.close()
        if violated in (FILES, MEMORY):
            brief = [case for case in cases if not case.is_held]  # they are repeated many times
            trouble = watch.repeat_cases(violated, brief, self._send) if watch and brief else None
            return Anomaly(trouble, tuple(cases), cases[-1]) if trouble else None
        # Who looks for a death or a hang asks the bystanders, and need not wait for answers; but
        # some die of what they deliver, and only when somebody receives it.
        beside = violated in BESIDE
        receiving = beside or (violated == DEAD and self.is_watched)
        engine.is_brief = violated in (DEAD, HUNG)
        found = engine.perform(cases, watch=receiving, patient=beside)
        engine.is_brief = False
        engine.close()
        return self._noted(found, violated)

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        """Send cases to a newly started target and wait; return the death they cause, or None."""
        if not self.fuzz_target.can_restart:
            return None
        if (self._engine is None or not self._engine.is_unused) and not self._revive(stuck=True):
            return None
        found: list[Anomaly] = []
        for part, restart in split_at_restarts(cases):
            if (engine := self._engine) is None:
                break
            wait_for = 0.0 if restart else wait_s
            is_over = self._triage.out_of_time
            found = replay(engine, part, watch=self.is_watched, wait_s=wait_for, is_over=is_over)
            if find_alike(found, DEAD) is None and restart is not None:
                found = self.restart(restart)
            if find_alike(found, DEAD) is not None:
                break
        return self._noted(found, DEAD)

    def _noted(self, found: Sequence[Anomaly], violated: str) -> Anomaly | None:
        """Return the anomaly of a rule among those of repeated cases; heal and note a death.

        A death of another rule's cases is followed next.
        """
        dead = next((each for each in found if each.trouble.violated == DEAD), None)
        if dead is not None:
            log = self.fuzz_target.last_words()
            found = [replace(each, log=log) if each is dead else each for each in found]
            if find_alike(found, violated) is None:
                self.history.note_death(found, self.elapsed_s, lambda: log)
                self.side_deaths += [each for each in found if each.trouble.violated == DEAD]
            else:
                self.history.repeated += 1
        self.heal(found)
        return find_alike(found, violated)

    def restart(self, case: Case) -> list[Anomaly]:
        """Restart the target with its data.

        Return the anomaly if it does not start, or nothing.
        """
        self.close(leave=True)
        if self.fuzz_target.restart():
            with contextlib.suppress(ArrangementFailed, TargetSilent, TargetUnreachable):
                self.open(has_data=True)
                return []
        return [not_started(case)]

    def recent_past(self) -> Sequence[Case]:
        """Generate again the cases sent to the target before its latest death, and return them."""
        return self.batches.make_again(self.history.past)

    def _flaw_of(self, case: Case) -> str:
        """Return what is wrong in the requests of a case; empty while no session is open."""
        return self._engine.fuzz_session.oracle.flaw_of(case) if self._engine is not None else ""

    def probe_apart(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        """Send each case on its own connections, then a sentinel; return the anomaly, or None.

        Some faults show only in the request after the case. Also, the campaign that recorded the
        finding may have known that a case closes its connection, which a repetition does not know.
        """
        engine = self._engine
        return None if engine is None else self._noted(engine.perform_apart(cases), violated)

    def shows(self, cases: Sequence[Case], violated: str) -> bool:
        """Send cases on fresh connections; return True if they violate the rule `violated`."""
        if self.probe(cases, violated) is not None:
            return True
        # What is wrong with the request of somebody else shows with that of whoever comes next.
        is_answered = violated in ANSWERED
        return is_answered and (
            self.probe_apart(cases, violated) is not None or self.disturbs(cases)
        )

    def disturbs(self, cases: Sequence[Case]) -> bool:
        """Send cases one by one; return True if the kit's own clients are disturbed afterwards."""
        engine = self._engine
        if engine is None:
            return False
        for case in cases:
            engine.perform_one(case)
        return not engine.is_well()

    def _run_batches(self) -> None:
        batches = self.batches
        made = batches.begin(batches.first, self._sorter())
        making = batches.make(made)
        for batch in count(batches.first, batches.step):
            self.batch = batch
            if self.is_sent():
                break
            for _ in making:
                pass
            had_s, elapsed_s = self.counts.exercised_s, self.elapsed_s
            batches.has_exercises = batches.may_exercise(batch, had_s=had_s, elapsed_s=elapsed_s)
            kept = batches.drop_blocked(made, self._sorter())
            made = batches.begin(batch + batches.step, self._sorter())
            making = batches.make(made)
            self._perform(kept, making, quiet=batches.is_quiet(batch))
            self.exercise_overdue()
            self.listener.went_on(self)
            if self._has_enough():
                break
            self._restart_after(batch)

    def exercise_overdue(self) -> None:
        """Let the kit's own clients do the exercise that is overdue, if one is."""
        generation, engine = self.batches.generation, self._engine
        if engine is None or generation is None or self.is_sent() or self._has_enough():
            return
        case = self._exercises.take_overdue(generation, self.counts, self.elapsed_s)
        if case is not None:
            self.batches.coverage.add(case)
            self._perform(engine.sort_batch([case], watch=self.is_watched))

    def _restart_after(self, batch: int) -> None:
        case = self.batches.restart_after(batch)
        if case is None or self.is_over():
            return
        found = self.restart(case)
        self.history.note_death(found, self.elapsed_s, self.fuzz_target.last_words)
        self._triage.follow_all(found, self._has_enough)

    def _await_held(self) -> None:
        """Wait for the conversations that are still held open when all cases are sent."""
        while (engine := self._engine) is not None and engine.is_holding:
            if self.left_s <= 0 or self.died or self.is_interrupted() or self._has_enough():
                return
            pump.move_bytes((), POLL_S)
            found = engine.perform((), watch=False, patient=False)
            self.history.note_death(found, self.elapsed_s, self.fuzz_target.last_words)
            self._triage.follow_all(found, self._has_enough)

    def _sorter(self) -> Sorter | None:
        return self._engine.sorter if self._engine is not None else None

    def _perform(
        self, batch: SortedBatch | None, meanwhile: Meanwhile | None = None, *, quiet: bool = False
    ) -> None:
        engine, watching = self._engine, self._watch
        if batch is None or not batch.batch or engine is None:
            return
        self.is_watched = batch.is_watched
        before_s = self.counts.sending_s
        engine.is_counting = True
        found = engine.perform_sorted(batch, patient=False, quiet=quiet, meanwhile=meanwhile)
        engine.is_counting = False
        cases = batch.batch
        self.executed += len(cases)
        if not found:
            self.counts.calm += len(cases)
            self.counts.calm_s += self.counts.sending_s - before_s
        if meanwhile is not None:
            self.history.add(self.batch, len(cases))
        self.history.note_death(found, self.elapsed_s, self.fuzz_target.last_words)
        if not found and watching is not None:
            trouble, is_sent = watching.climbs(cases), not all(case.exercise for case in cases)
            found = [Anomaly(trouble, tuple(cases))] if trouble and is_sent else []
        self._triage.follow_all(found, self._has_enough)
        if find_alike(found, DEAD) is not None and self.revival_s <= QUICK_REVIVAL_S:
            send_in_parts(self.batches.select_again(cases), self._kills)

    def _kills(self, cases: Sequence[Case]) -> bool | None:
        """Send cases of a batch in which the target died; return True if it dies, None at the end.

        Most of them were not judged, and fewer are allowed once a death is explained.
        """
        engine, cases = self._engine, self.batches.select_again(cases)
        if engine is None or self.is_sent() or self._has_enough():
            return None
        found = engine.perform(cases, watch=False, patient=False)
        self.history.note_death(found, self.elapsed_s, self.fuzz_target.last_words)
        self._triage.follow_all(found, self._has_enough)
        return find_alike(found, DEAD) is not None

    def _tell_deaths(self) -> None:
        """Add a finding for the deaths that no case explains; one alone is not confirmed."""
        causes = self.findings.causes
        deaths = [d for d in self.history.unattributed if find_reason(d.words) not in causes]
        if not deaths:
            return
        exchange = self.plan_exchange(likely_causes(deaths))
        self.findings.add(finding_of_deaths(deaths, self.plan.choice.seed, exchange))

    def _send(self, cases: Sequence[Case]) -> None:
        """Send cases without judging their answers."""
        if self._engine is not None:
            self._engine.perform(cases, watch=False, patient=False)
            self._engine.close()

    def record_exchange(self, cases: Sequence[Case], violated: str) -> Transcript:
        """Send cases once more, one by one, while there is time; return the transcript.

        A finding that says an answer is missing must not show a transcript that contains it. So,
        if one connection can show the finding, the cases are sent until they show it.
        """
        return record_until_shown(
            lambda: self._record_once(cases, watched=violated in BESIDE),
            wanted=violated if violated in OF_ONE_CASE and len(cases) == 1 else None,
            is_over=lambda: self._engine is None or self.is_over(),
        )

    def plan_exchange(self, cases: Sequence[Case]) -> Transcript:
        """Return a transcript of the bytes that cases would send, as the target may be gone."""
        generation = self.batches.generation
        return planned_exchange(cases, generation.enter if generation else lambda _: ())

    def _record_once(self, cases: Sequence[Case], *, watched: bool) -> Recorded:
        """Return the exchange of cases, and the rules that it violates."""
        now = time.monotonic()
        until = max(now, min(now + RECORD_S, self._ends_at))
        recorded = record_once(cases, lambda: self._engine, self.restart, until, watched=watched)
        engine = self._engine
        if self.is_over():
            self.close(leave=True)
        elif engine is None or not (engine.is_well() or engine.is_well()):
            self.fuzz_target.last_words()  # those of the next death must not begin with these
            self._revive(stuck=True)
        return recorded

    def heal(self, found: Sequence[Anomaly]) -> bool:
        """Restart the target if it ended or is stuck; return True if it works."""
        kinds = {each.trouble.violated for each in found}
        if DEAD in kinds:
            return self._revive()
        is_stuck = bool(kinds & STUCK) and self.fuzz_target.can_restart
        if kinds & ILL and self._engine is not None and not self.is_over():
            is_stuck = is_stuck or not self._engine.is_well()
        return self._revive(stuck=True) if is_stuck else True

    def _revive(self, *, stuck: bool = False) -> bool:
        self.close(leave=True)
        started = time.monotonic()
        if started + self.revival_s >= self._ends_at:
            self._ends_at = min(self._ends_at, started)  # nothing could be done with it in time
        if self.is_over():
            return False
        self.gone = self._open_again(stuck=stuck)
        if self.gone and not stuck and self.fuzz_target.can_restart:
            # While it ends it still accepts connections, and seems to be back.
            self.gone = self._open_again(stuck=True)
        self.revival_s = time.monotonic() - started
        return not self.gone

    def _open_again(self, *, stuck: bool) -> str:
        """Bring the target back and open it; return why no further case can be sent, if so."""
        if not self.fuzz_target.revive(stuck=stuck):
            return "it accepts no connection"
        try:
            self.open()
        except (ArrangementFailed, TargetSilent, TargetUnreachable) as error:
            return str(error)
        # Nothing has started it again: it goes on if it serves clients that connect anew.
        if not stuck or self.can_restart or self._engine is None:
            return ""
        return describe_ill(self._engine.fuzz_session)

    def open(self, *, has_data: bool = False) -> None:
        """Open a session on the target and make the generator of cases for its names.

        `has_data`: the target was restarted and still has its earlier data.
        """
        fuzz_session = self.fuzz_target.open()
        self.fingerprint = fuzz_session.fingerprint
        self.patience_s = fuzz_session.patience_s
        self.history.begin(has_data=has_data)
        generation = self._made_for(fuzz_session)
        now = Renaming(map_renamed(self.names, fuzz_session.names))
        self._engine = Engine(
            fuzz_session, generation, self.is_interrupted, self._ends_at, self.counts, renaming=now
        )
        pid = self.fuzz_target.pid
        if pid is None and self._watch is not None:
            self.unwatched_s = round(self.elapsed_s, 3)
        self._watch = Watch(pid) if pid is not None else None

    def _made_for(self, fuzz_session: FuzzSession) -> Generation:
        """Return the cases; they are made again only if the length of a name changed."""
        if self.batches.generation is None or not are_as_long(self.names, fuzz_session.names):
            self.names = fuzz_session.names
            self.batches.generation = fuzz_session.generation(self.plan.choice)
        return self.batches.generation

    def close(self, *, leave: bool = False) -> None:
        """Close all connections, and delete what the campaign created unless it must stay."""
        if self._engine is not None:
            self._engine.close()
            self._engine.fuzz_session.close(leave=leave)
            self._engine = None
