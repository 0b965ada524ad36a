"""One run of a client: started, tried with some cases, and ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

from wireproof_kit.clients.events import Ended, Flooded
from wireproof_kit.clients.limits import OF_FUZZ_RUN, Limits
from wireproof_kit.clients.stage import Stage
from wireproof_kit.clients.story import Story
from wireproof_kit.drivers.child import describe_end
from wireproof_kit.drivers.processor import measure_session
from wireproof_kit.fuzz.campaign.last_words import quote_last_words
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.clients.part import TICK_S, CasePeers, ClientFuzzPart, S, T
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.client_deaths import find_reason, is_crash
from wireproof_kit.fuzz.oracle.client_rules import ENDED, HOARDS, SPINS, STUCK
from wireproof_kit.processes import watch
from wireproof_kit.wire.transcript import Transcript

SPINS_S: Final = 0.8
"""So long a client that has nothing to do may be busy; a longer time is a loop."""
SPINS_SHARE: Final = 0.5
"""So much of that time it must have had a processor: on a busy machine all wait for one."""
GROWS_S: Final = 0.5
"""So long after its last growth a client may still be taking memory: it waits for a processor."""
MOST_MEMORY: Final = 1 << 29
GROWTH: Final = 1 << 20
"""A client that takes so much more memory between two looks is busy with that, not in a loop.

While it goes on it is not judged to be stuck either: on a slow machine half a gibibyte took longer
than the patience, and how the client hoards was told as a client that does not come back.
"""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of fuzz cases with one client: ``done`` are over, the next one violated a rule.

    ``slowest_s`` are the seconds that the slowest case took. ``key`` identifies a crash by the
    place in the client; ``log`` is the end of its output.
    """

    done: int
    story: Story
    slowest_s: float
    trouble: Trouble | None = None
    key: str = ""
    log: str = ""


@dataclass(slots=True)
class ClientRun(Generic[S, T]):
    """The settings of a run."""

    part: ClientFuzzPart[S, T]
    command: str
    situation: T
    cases: Sequence[Case]
    patience_s: float
    is_stopped: Callable[[], bool]
    transcript: Transcript = field(default_factory=Transcript)
    _busy_ticks: int = 0
    _resident: int = 0
    _ticks_since_growth: int = 1 << 16
    _used_before: float = 0.0
    _seen_ticks: int = 0
    _trouble: Trouble | None = None

    def play(self) -> RunResult:
        """Start the client, try the cases and return the result.

        Raises:
            UsageFault: the client cannot be started.
        """
        story = Story(self.part.part.decode())
        peers = self.part.meet(self.situation, self.cases, self.patience_s)
        stage = Stage(peers, story, self.transcript, self.part.part.make_mask)
        try:
            addresses = stage.listen()
            most_s = self.patience_s * (len(self.cases) + 1)
            stage.play(
                addresses,
                self.command,
                self.part.fill(self.situation, addresses),
                until=lambda story: self._is_over(stage, peers, story),
                limits=Limits(self.patience_s, most_s, OF_FUZZ_RUN),
            )
        finally:
            stage.close()
        return self._result(stage, peers, story)

    def _is_over(self, stage: Stage, peers: CasePeers, story: Story) -> bool:
        if self.is_stopped():
            return True
        if peers.ticks != self._seen_ticks and stage.child is not None:
            self._seen_ticks = peers.ticks
            self._look_at(stage.child.pid, idle=peers.ticks > 0)
        if self._trouble is not None:
            return True
        if peers.trouble is not None:
            return not self._may_hoard(peers.trouble)
        # A client that is busy when all is over is watched until it rests.
        return peers.is_over and peers.ticks > 0 and not self._busy_ticks

    def _look_at(self, pid: int, *, idle: bool) -> None:
        pids = watch.family(pid)
        before, self._resident = self._resident, watch.resident_bytes(pids)
        grows = self._resident > before + GROWTH
        self._busy_ticks = self._busy_ticks + 1 if idle and watch.is_runnable(pids) else 0
        self._ticks_since_growth = 0 if grows else self._ticks_since_growth + 1
        if self._busy_ticks and grows:
            self._busy_ticks = 1
        if self._busy_ticks == 1:
            self._used_before = measure_session(pid).used
        if self._resident > MOST_MEMORY:
            self._trouble = Trouble(HOARDS, f"more than {MOST_MEMORY >> 20} MiB of memory")
        elif self._busy_ticks * TICK_S > SPINS_S and self._has_used_a_processor(pid):
            self._trouble = Trouble(SPINS, f"busy for {SPINS_S:g} s with nothing to do")

    def _may_hoard(self, trouble: Trouble) -> bool:
        return trouble.violated == STUCK and self._ticks_since_growth * TICK_S < GROWS_S

    def _has_used_a_processor(self, pid: int) -> bool:
        return measure_session(pid).used - self._used_before > SPINS_S * SPINS_SHARE

    def _result(self, stage: Stage, peers: CasePeers, story: Story) -> RunResult:
        slowest_s = max(peers.durations, default=0.0)
        child, trouble = stage.child, peers.trouble or self._trouble
        if self._trouble is not None and self._trouble.violated == HOARDS:
            trouble = self._trouble
        ended = story.first(Ended)
        if trouble is None and story.first(Flooded) is not None:
            trouble = Trouble(SPINS, "the client sent more than is kept of one run")
        elif trouble is None and ended is not None and child is not None:
            text = child.kept["stderr"].data().decode(errors="replace")
            if peers.was_refused and not is_crash(ended.code, text):
                # A program may well end with a message when its server refuses.
                return RunResult(peers.done + 1, story, slowest_s)
            key = find_reason(text)
            words = f"{describe_end(ended.code)}{f': {key}' if key else ''}"
            return RunResult(
                min(peers.done, len(self.cases) - 1),
                story,
                slowest_s,
                Trouble(ENDED, words),
                key,
                quote_last_words(text),
            )
        return RunResult(peers.done, story, slowest_s, trouble)
