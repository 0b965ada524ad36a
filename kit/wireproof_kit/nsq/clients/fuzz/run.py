"""One run of a client: started, tried with some cases, and ended."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.clients.events import Ended, Flooded
from wireproof_kit.clients.stage import Limits, Stage
from wireproof_kit.clients.story import Story
from wireproof_kit.drivers.child import describe_end
from wireproof_kit.fuzz.campaign.last_words import quote_last_words
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import Trouble
from wireproof_kit.fuzz.oracle.client_deaths import find_reason
from wireproof_kit.fuzz.oracle.client_rules import ENDED, HOARDS, SPINS
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.fuzz import states
from wireproof_kit.nsq.clients.fuzz.peers import TICK_S, CasePeers
from wireproof_kit.nsq.clients.fuzz.states import Situation
from wireproof_kit.processes import watch
from wireproof_kit.wire.transcript import Transcript

SPINS_S: Final = 0.8
"""Seconds that a client with nothing to do may be busy; a longer time is an endless loop."""
MOST_MEMORY: Final = 1 << 30
NAMES: Final = {"topic": "wp_fuzz", "channel": "wp_fuzz_c"}


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
class ClientRun:
    """One start of a client, with the fuzz cases to try on it."""

    command: str
    situation: Situation
    cases: Sequence[Case]
    patience_s: float
    is_stopped: Callable[[], bool]
    transcript: Transcript = field(default_factory=Transcript)
    _busy_ticks: int = 0
    _seen_ticks: int = 0
    _trouble: Trouble | None = None

    def play(self) -> RunResult:
        """Start the client, try the cases and return the result.

        Raises:
            UsageFault: the client cannot be started.
        """
        story = Story(NsqDecoder())
        script = states.script(self.situation)
        asking = Asking(script, **NAMES)
        peers = CasePeers(self.situation, self.cases, asking, self.patience_s)
        stage = Stage(peers, story, self.transcript)
        try:
            addresses = stage.listen()
            values = NSQ_CLIENTS.fill(script, addresses, NAMES)
            most_s = self.patience_s * (len(self.cases) + 1)
            stage.play(
                addresses,
                self.command,
                values,
                until=lambda story: self._is_over(stage, peers, story),
                limits=Limits(self.patience_s, most_s),
            )
        finally:
            stage.close()
        return self._result(stage, peers, story)

    def _is_over(self, stage: Stage, peers: CasePeers, story: Story) -> bool:
        if self.is_stopped() or peers.trouble is not None:
            return True
        if peers.ticks != self._seen_ticks and stage.child is not None:
            self._seen_ticks = peers.ticks
            self._look_at(watch.family(stage.child.pid), idle=peers.ticks > 0)
        if self._trouble is not None:
            return True
        # A client that is busy when all is over is watched until it rests.
        return peers.is_over and peers.ticks > 0 and not self._busy_ticks

    def _look_at(self, pids: list[int], *, idle: bool) -> None:
        self._busy_ticks = self._busy_ticks + 1 if idle and watch.is_runnable(pids) else 0
        if self._busy_ticks * TICK_S > SPINS_S:
            self._trouble = Trouble(SPINS, f"busy for {SPINS_S:g} s with nothing to do")
        elif watch.resident_bytes(pids) > MOST_MEMORY:
            self._trouble = Trouble(HOARDS, f"more than {MOST_MEMORY >> 20} MiB of memory")

    def _result(self, stage: Stage, peers: CasePeers, story: Story) -> RunResult:
        slowest_s = max(peers.durations, default=0.0)
        child, trouble = stage.child, peers.trouble or self._trouble
        ended = story.first(Ended)
        if trouble is None and story.first(Flooded) is not None:
            trouble = Trouble(SPINS, "the client sent more than is kept of one run")
        elif trouble is None and ended is not None and child is not None:
            text = child.kept["stderr"].data().decode(errors="replace")
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
