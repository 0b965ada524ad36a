"""Triage: from an anomaly to a recorded finding, by culprit search, minimizing, confirming."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wireproof_kit.fuzz.campaign.blocklist import is_like_another
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.client_deaths import find_reason
from wireproof_kit.fuzz.oracle.client_rules import ENDED
from wireproof_kit.fuzz.oracle.rules import DEAD, FILES, HUNG, LINGERS, MEMORY
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.consequences import (
    ANSWERED,
    LATE,
    NO_TIME,
    SILENT,
    STAYS_DEAD,
    STAYS_HUNG,
)
from wireproof_kit.fuzz.triage.finding import Finding, Signature, signature_of
from wireproof_kit.fuzz.triage.generalize import (
    from_the_start,
    general_forms,
    named_by_what_is_left,
)
from wireproof_kit.fuzz.triage.minimize import (
    ALONE,
    COSTLY,
    FEW,
    FEWER_TIMES,
    CulpritSearch,
    confirm,
)
from wireproof_kit.fuzz.triage.named_in import named_in
from wireproof_kit.fuzz.triage.past import PastSearch
from wireproof_kit.fuzz.triage.triaged_campaign import TriagedCampaign

SEARCH_S: Final = 30.0
"""The most seconds to find the cases that cause an anomaly."""
SEARCH_SHARE: Final = 1 / 4
"""The part of a campaign that this search may take, but at least `LEAST_SEARCH_S`."""
LEAST_SEARCH_S: Final = 15.0
CONFIRM_S: Final = 10.0
"""Seconds reserved to confirm these cases, even if the search took its whole time.

An anomaly seen once may come from a busy machine.
"""
SHARE: Final = 0.5
"""The part of a campaign after which anomalies like a confirmed finding are only counted."""
FREE_S: Final = 20.0
"""Seconds of triage before `SHARE` matters: a campaign's first findings come at once."""
PAST_S: Final = 90.0
"""The most seconds to find the cause of a death among all cases sent before it."""
PAST_WAIT_S: Final = 15.0
"""The most seconds to wait for the target to die after earlier cases were sent again."""
PAST_TRIES: Final = 3
"""How many deaths may be searched in vain; then the campaign goes on with new inputs."""
QUICK_REVIVAL_S: Final = 1.0
"""A target that is restarted in less time is killed rather than asked case by case."""
SHRINK_S: Final = 15.0
"""The most seconds of SEARCH_S to minimize cases; as many are left to confirm them."""
LEAST_SHRINK_S: Final = 8.0
"""Seconds to minimize cases even if the search for them took its whole time."""


@dataclass(slots=True)
class Triage:
    """Confirms, minimizes and reports anomalies, one at a time, in ``spent_s`` seconds so far."""

    campaign: TriagedCampaign
    spent_s: float = 0.0
    until: float = 0.0
    past_failures: int = 0

    def follow_all(self, found: Sequence[Anomaly], enough: Callable[[], bool]) -> None:
        """Triage the anomalies of one batch until ``enough()`` is true.

        A missing answer that neither its case nor the whole batch repeats means that the machine
        was suspended: other missing answers of the batch are then not triaged.
        """
        stood_still = False
        for anomaly in found:
            if enough():
                return
            is_silent = anomaly.trouble.violated in SILENT
            if is_silent and stood_still:
                self.campaign.findings.not_again += 1
            elif not self.follow(anomaly):
                stood_still = stood_still or is_silent
            while self.campaign.side_deaths and not enough():
                self.follow(self.campaign.side_deaths.pop())
            self.campaign.exercise_overdue()

    def follow(self, anomaly: Anomaly) -> bool:
        """Triage an anomaly unless it is known; return True if it was seen again."""
        campaign, started, came_again = self.campaign, time.monotonic(), True
        is_sparing = self._has_spent_its_share()
        cause = find_reason(self._log_of(anomaly))
        known = campaign.findings.meet(anomaly, cause, sparing=is_sparing)
        if known is not None:
            self._attribute(anomaly)
            self._spare(anomaly, known, sparing=is_sparing)
            campaign.heal([anomaly])
        elif not campaign.heal([anomaly]):
            self._keep_last_words(anomaly)
        else:
            self.until = time.monotonic() + self._search_s()
            came_again = self._search(anomaly)
        self.spent_s += time.monotonic() - started
        return came_again

    def _spare(self, anomaly: Anomaly, known: Finding, *, sparing: bool) -> None:
        """Send less of what shows a known finding again."""
        blocklist = self.campaign.batches.blocklist
        if known.signature.violated in COSTLY:
            blocklist.add_deadly(known)
        elif anomaly.trouble.violated in ANSWERED:
            return
        elif not (sparing or anomaly.trouble.violated in SILENT):
            return  # a silence takes all patience each time, whatever else is known
        if anomaly.case is not None:
            blocklist.add(anomaly.case)

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        """Send cases on fresh connections; return the anomaly of the rule `violated`, or None."""
        return self.campaign.probe(cases, violated)

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        """Send cases to a newly started target and wait; return the death they cause, or None."""
        return self.campaign.probe_fresh(cases, wait_s)

    def out_of_time(self) -> bool:
        """Return True if no time is left for the present step of the triage."""
        return time.monotonic() > self.until or self.campaign.is_over()

    def _has_spent_its_share(self) -> bool:
        """Return True if known bugs must not take more time: new inputs would not be sent."""
        return self.spent_s > max(FREE_S, SHARE * self.campaign.elapsed_s)

    def _search(self, anomaly: Anomaly) -> bool:
        search = CulpritSearch(self, anomaly.trouble.violated, self._most_alone())
        # What did not start again did so because of its past.
        is_restart = anomaly.case is not None and anomaly.case.is_restart
        is_death = search.violated == DEAD
        named = named_in(self._log_of(anomaly), anomaly.batch) if is_death else ()
        cases = () if is_restart else search.culprits(anomaly, named)
        if cases and is_death and not self._kill_again(search, cases):
            cases = ()
        if cases:
            self._record_culprits(search, anomaly, cases)
        elif not is_death or not self._search_past():
            self._keep_unconfirmed(anomaly, is_tried=search.sent > 0)
        return bool(cases)

    def _most_alone(self) -> int:
        """Return how many cases are worth trying alone before all of them are halved.

        To see that a case does no harm takes a round trip, 0.1 s at a real broker; to see that
        some do takes a restart, which halving needs about four times.
        """
        return ALONE if self.campaign.revival_s > QUICK_REVIVAL_S else FEW

    def _search_s(self) -> float:
        """Return how many seconds the search for the cases of one anomaly may take.

        One anomaly must not take a short campaign, unless that ends with it.
        """
        plan = self.campaign.plan
        if plan.stop_at_first or plan.time_s is None:
            return SEARCH_S
        return min(SEARCH_S, max(LEAST_SEARCH_S, plan.time_s * SEARCH_SHARE))

    def _kill_again(self, search: CulpritSearch, cases: tuple[Case, ...]) -> bool:
        """Return True if cases kill the target that was started since they seemed to.

        The cases that were tried before may have killed it together with them.
        """
        self.until = max(self.until, time.monotonic() + CONFIRM_S)
        return any(search.shows(cases) for _ in range(2))

    def _search_past(self) -> bool:
        """Look for the cause of a death in all that was sent before; return True if found."""
        campaign = self.campaign
        if self.past_failures >= PAST_TRIES:
            return False
        self.until = time.monotonic() + PAST_S
        search = PastSearch(self, min(campaign.history.up_s, PAST_WAIT_S))
        cases = search.culprits(campaign.recent_past())
        self.until = max(self.until, time.monotonic() + CONFIRM_S)
        shown = sum(search.kills(cases) for _ in range(FEWER_TIMES)) if cases else 0
        if not shown or search.last is None:
            self.past_failures += 1
            return False
        words = f"{search.last.trouble.words}, {len(cases)} cases after its start"
        self._add(search.last, Trouble(DEAD, words), cases, shown, FEWER_TIMES)
        return True

    def _record_culprits(
        self, search: CulpritSearch, anomaly: Anomaly, cases: tuple[Case, ...]
    ) -> None:
        """Minimize and confirm the cases that caused the anomaly, and record the finding."""
        campaign = self.campaign
        is_known = is_like_another(campaign.findings.by_id.values(), search.violated, cases[-1])
        cases = self._valid_form(search, cases)
        if anomaly.trouble.violated not in ANSWERED:
            campaign.batches.blocklist.add(cases[-1])
        if campaign.findings.count_again(self._identify(anomaly, cases)) is not None:
            self._attribute(anomaly)
            return
        if not (is_known and search.violated in (*COSTLY, LINGERS)):
            cases = self._generalize(search, cases)
            cases = search.at_leisure(cases)
            cases = self._minimize(search, cases) if campaign.plan.shrink else cases
            cases = tuple(map(named_by_what_is_left, cases))
        again = search.again
        self.until = max(self.until, time.monotonic() + CONFIRM_S)
        shown, runs = confirm(self, cases, anomaly.trouble.violated, told=again.append)
        if not runs:
            if anomaly.trouble.violated in SILENT:
                self._keep(anomaly, cases, shown=0, why=NO_TIME)
                return
            shown = runs = 1  # the one that told which cases they are
        # What many cases miss together, beside eight busy processes, was missed in one repetition
        # of a right broker that took all the time, and in two of three behind TLS.
        is_doubtful = shown < max(runs, FEWER_TIMES) and anomaly.trouble.violated in SILENT
        if not shown or (is_doubtful and len(cases) > FEW):
            self._keep_unconfirmed(anomaly)
            return
        trouble = again[-1].trouble
        if len(cases) > FEW:
            cut = f"time ran out before the {len(cases)} cases were reduced to those that cause it"
            trouble = replace(trouble, words=f"{trouble.words}; {cut}")
        self._add(again[-1], trouble, cases, shown, runs)

    def _add(
        self, seen: Anomaly, trouble: Trouble, cases: tuple[Case, ...], shown: int, runs: int
    ) -> None:
        """Add a confirmed finding, or count it if it is known."""
        campaign = self.campaign
        self._attribute(seen)
        log = self._log_of(seen)
        known = campaign.findings.causes.get(find_reason(log))
        signature = known or self._identify(seen, cases)
        if campaign.findings.count_again(signature) is not None:
            return
        finding = Finding(
            signature,
            trouble,
            campaign.plan.choice.seed,
            cases,
            shown,
            runs,
            campaign.record_exchange(cases, trouble.violated),
            round(campaign.elapsed_s, 3),
            log=log,
        )
        campaign.findings.add(finding, campaign.findings.find_flaw(seen, cases[-1]))
        if trouble.violated in COSTLY:
            campaign.batches.blocklist.add_document(finding)

    def _identify(self, anomaly: Anomaly, cases: tuple[Case, ...]) -> Signature:
        """Return the signature of what cases caused; one case may share the cause of another."""
        findings, cause = self.campaign.findings, find_reason(self._log_of(anomaly))
        if len(cases) == 1:
            return findings.identify(anomaly, cases[-1], cause)
        return findings.tell_apart(signature_of(anomaly, cases[-1]), cause)

    def _attribute(self, anomaly: Anomaly) -> None:
        """Take note that a finding explains the target's latest death, if this is one."""
        if anomaly.trouble.violated == DEAD:
            self.campaign.history.attribute()

    def _valid_form(self, search: CulpritSearch, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return the valid frame that a case was made from if that is as costly as the case."""
        generation = self.campaign.batches.generation
        if generation is None or search.violated not in COSTLY or len(cases) != 1:
            return cases
        right = generation.right(cases[0])
        if right is None or not search.shows((right,)):
            return cases
        self.campaign.batches.blocklist.add_frame(right)
        return (right,)

    def _generalize(self, search: CulpritSearch, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Return a general form of a case if it shows the same, else the case from its start."""
        generation = self.campaign.batches.generation
        if generation is None or len(cases) != 1 or search.violated in (MEMORY, FILES):
            return cases
        found = cases[0]
        for general in general_forms(found, generation):
            if search.shows((general,)):
                found = general
                break
        whole = from_the_start(found, generation)
        return (whole,) if whole is not None and search.shows((whole,)) else (found,)

    def _minimize(self, search: CulpritSearch, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        """Minimize cases while enough time is left to confirm them."""
        now, until = time.monotonic(), self.until
        left_s = min(until - now, self.campaign.left_s)
        self.until = now + max(LEAST_SHRINK_S, min(SHRINK_S, left_s / 2))
        cases = search.smallest(cases)
        self.until = max(until, time.monotonic())
        return cases

    def _keep_unconfirmed(self, anomaly: Anomaly, *, is_tried: bool = True) -> None:
        """Record an anomaly that was not seen again unless the machine may have been slow.

        `is_tried`: there was time to send its cases again.
        """
        violated = anomaly.trouble.violated
        if violated == DEAD:
            return  # the campaign tells at its end of all deaths that no case explains
        if self.campaign.side_deaths:
            return  # what a target does between its last sign of life and its death belongs to it
        if not self.campaign.died and (
            not is_tried or (violated == HUNG and self.campaign.is_over())
        ):
            is_hung = violated == HUNG or anomaly.case is None
            cases = anomaly.suspects if is_hung else anomaly.suspects[-1:]
            self._keep(anomaly, cases, shown=0, why=NO_TIME)
        elif violated in LATE or anomaly.case is None or self.campaign.died:
            # What a target did once before it stayed dead belongs to its death.
            self.campaign.findings.not_again += 1
        else:
            self._keep(anomaly, (anomaly.case,), shown=0)

    def _keep_last_words(self, anomaly: Anomaly) -> None:
        """Record the likely causes when the target died or hangs and cannot be restarted."""
        is_dead, died = anomaly.trouble.violated in (DEAD, ENDED), self.campaign.died
        if is_dead and not died:
            return  # no time to find its cause: told with all deaths that no case explains
        self._attribute(anomaly)
        why = NO_TIME if not died else STAYS_DEAD if is_dead else STAYS_HUNG
        self._keep(anomaly, anomaly.suspects, shown=int(is_dead or died), why=why)

    def _keep(
        self, anomaly: Anomaly, cases: tuple[Case, ...], *, shown: int, why: str = ""
    ) -> None:
        campaign = self.campaign
        transcript = campaign.plan_exchange(cases)
        at_s = round(campaign.elapsed_s, 3)
        campaign.findings.add_once(
            anomaly,
            cases,
            transcript,
            shown=shown,
            at_s=at_s,
            why=why,
            log=self._log_of(anomaly),
        )

    def _log_of(self, anomaly: Anomaly) -> str:
        """Return what the target wrote last, for an anomaly that is its death."""
        if anomaly.log or anomaly.trouble.violated != DEAD:
            return anomaly.log
        return self.campaign.history.last_words
