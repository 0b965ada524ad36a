"""A campaign against a program, tried run by run: a client, or a system behind an adapter.

A client is started anew for every run of cases; an adapter when it has ended.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from wireproof_kit.fuzz.campaign.batches import Batches
from wireproof_kit.fuzz.campaign.worker_campaign import WorkerCampaign
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import ClientFuzzSession, ClientRunResult
from wireproof_kit.fuzz.triage.anomaly import Anomaly
from wireproof_kit.fuzz.triage.findings import Findings
from wireproof_kit.fuzz.triage.triage import Triage
from wireproof_kit.wire.transcript import Transcript

AT_ONCE: Final = 128
"""How many cases are tried before their anomalies are confirmed and minimized."""


@dataclass(slots=True, kw_only=True)
class ProgramCampaign(WorkerCampaign):
    """The running campaign of one worker against a client, or a system behind an adapter."""

    open_session: Callable[[Callable[[], bool]], ClientFuzzSession | None]
    """Opens the program; returns None if the function that it is given returned True meanwhile."""
    _session: ClientFuzzSession | None = None

    def __post_init__(self) -> None:
        self.batches = Batches(self.plan)
        self.findings = Findings(self.plan.choice.seed, self._report)
        self._triage = Triage(self)

    def run(self) -> None:
        """Run until the time is over, all cases are tried or the user interrupts."""
        self._start_clock()
        self.open()
        try:
            if not self.is_over():
                # The first cases may take half a minute; which states are left out is known now.
                self.listener.went_on(self)
            for record in self.plan.corpus:
                if not self.is_over():
                    self._perform(self.cases_of(record))
            for number in count(self.batches.first, self.batches.step):
                self.batch = number
                if self.is_sent():
                    break
                self._run_batch()
                if self._has_enough():
                    break
        finally:
            self.close()

    def open(self) -> None:
        """Start the client and find out which states it can be brought into."""
        self._session = self.open_session(self._is_cut)
        if self._session is None:
            return
        self.fingerprint = self._session.fingerprint
        self.patience_s = self._session.patience_s
        self.batches.generation = self._session.generation(self.plan.choice)

    def close(self) -> None:
        """End every client that still runs."""
        if self._session is not None:
            self._session.close()

    def probe(self, cases: Sequence[Case], violated: str) -> Anomaly | None:
        """Try cases with newly started clients; return the anomaly of the rule, or None."""

        def is_it(anomaly: Anomaly) -> bool:
            return anomaly.trouble.violated == violated

        return next(filter(is_it, self._try(cases, is_it)), None)

    def shows(self, cases: Sequence[Case], violated: str) -> bool:
        """Try cases with newly started clients; return True if they violate the rule."""
        return self.probe(cases, violated) is not None

    def probe_fresh(self, cases: Sequence[Case], wait_s: float) -> Anomaly | None:
        """Return None: earlier cases cannot affect a client, since each one is newly started."""
        return None

    def recent_past(self) -> Sequence[Case]:
        """Return no cases: earlier ones cannot affect a client, since each is newly started."""
        return ()

    def heal(self, found: Sequence[Anomaly]) -> bool:
        """Return True if the next cases can be tried: the next client is a new one."""
        is_back = self._session is not None and self._session.revive()
        self.gone = "" if is_back else "it does not start any more"
        return not self.died

    def record_exchange(self, cases: Sequence[Case], violated: str) -> Transcript:
        """Try cases once more and return the transcript."""
        return self._session.record(cases, self._is_cut) if self._session else Transcript()

    def plan_exchange(self, cases: Sequence[Case]) -> Transcript:
        """Return an empty transcript: what is sent depends on what the client does."""
        return Transcript()

    def _run_batch(self) -> None:
        made = self.batches.begin(self.batch, None)
        for _ in self.batches.make(made):
            pass
        cases = self._session.arrange(made.cases) if self._session else ()
        for start in range(0, len(cases), AT_ONCE):
            if self.is_sent() or self._has_enough():
                break
            self._perform(self.batches.keep_sent(cases[start : start + AT_ONCE]))
            self.listener.went_on(self)

    def _perform(self, cases: Sequence[Case]) -> None:
        started = time.monotonic()
        found = self._try(cases, lambda _: self.plan.stop_at_first)
        in_frame = sum(case.delimited for case in cases)
        share = (time.monotonic() - started) / len(cases) if cases else 0.0
        self.counts.piped += in_frame
        self.counts.piped_s += share * in_frame
        self.counts.single += len(cases) - in_frame
        self.counts.single_s += share * (len(cases) - in_frame)
        self.executed += len(cases)
        if not found:
            self.counts.calm += len(cases)
            self.counts.calm_s += share * len(cases)
        self._triage.follow_all(found, self._has_enough)

    def _try(self, cases: Sequence[Case], enough: Callable[[Anomaly], bool]) -> list[Anomaly]:
        """Return the anomalies of cases, up to one that is enough."""
        found: list[Anomaly] = []

        def is_stopped() -> bool:
            return any(map(enough, found)) or self._is_cut()

        for each in self._session.perform(cases, is_stopped) if self._session else ():
            anomaly = _anomaly(each)
            found += [anomaly] if anomaly is not None else []
        # Clients run side by side: what comes first is chance.
        return sorted(found, key=lambda each: each.batch[-1].index)

    def _is_cut(self) -> bool:
        return self.is_interrupted() or time.monotonic() >= self._ends_at


def _anomaly(result: ClientRunResult) -> Anomaly | None:
    trouble = result.trouble
    if trouble is None:
        return None
    answer = result.key or trouble.violated
    return Anomaly(trouble, result.cases, result.cases[-1], answer, key=result.key, log=result.log)
