"""NSQ for the fuzzing of clients."""

from collections.abc import Sequence

from wireproof_kit.clients.story import Story
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.clients.part import ClientFuzzPart
from wireproof_kit.nsq.clients.client import NSQ_CLIENTS
from wireproof_kit.nsq.clients.driver_requests import Asking
from wireproof_kit.nsq.clients.events import ORDERED, Commanded, Requested
from wireproof_kit.nsq.clients.fuzz import frames, states
from wireproof_kit.nsq.clients.fuzz.peers import CasePeers
from wireproof_kit.nsq.clients.fuzz.states import (
    HTTP_PLACES,
    LOOKUP_DEAD,
    LOOKUP_DOWN,
    PUSH,
    STATES,
    Situation,
)
from wireproof_kit.nsq.clients.identity import list_identities
from wireproof_kit.nsq.clients.script import Script

NAMES = {"topic": "wp_fuzz", "channel": "wp_fuzz_c"}


def make_part() -> ClientFuzzPart[Script, Situation]:
    """Return how clients of NSQ are fuzzed."""
    return ClientFuzzPart(
        part=NSQ_CLIENTS,
        names=NAMES,
        states=STATES,
        first={
            "consumer": [Situation("consumer", PUSH)],
            "producer": [Situation("producer", PUSH)],
        },
        script=states.script,
        meet=_meet,
        plays=_plays,
        grammar=lambda _: frames.grammar(),
        starts=lambda situation: situation.place == LOOKUP_DEAD,
        idle=states.IDLE,
        timed=states.named(*HTTP_PLACES),
        needs={
            idle: name
            for idle in states.IDLE
            for name in states.named(states.LOOKUP)
            if STATES[name].role == STATES[idle].role
        },
    )


def _meet(situation: Situation, cases: Sequence[Case], patience_s: float) -> CasePeers:
    asking = Asking(states.script(situation), **NAMES)
    return CasePeers(situation, cases, asking, patience_s)


def _plays(situation: Situation, story: Story) -> bool:
    """Return True if a run has shown that the client does what a state is about."""
    if not _shows_ways(situation, story):
        return False
    paths = {event.path for event in story.of(Requested)}
    if situation.place in (LOOKUP_DOWN, LOOKUP_DEAD):
        return bool(paths)
    return situation.place not in HTTP_PLACES or f"/{situation.place}" in paths


def _shows_ways(situation: Situation, story: Story) -> bool:
    """Return True if a client does what makes it differ from one that is told less."""
    names = {event.name for event in story.of(Commanded)}
    if situation.role == "producer":
        wanted = "PUB_TRACE" if situation.trace else "PUB_EXT" if situation.extend else "PUB"
        return wanted in names or (wanted == "PUB" and "MPUB" in names)
    if situation.extend and not any(
        identity.get("extend_support") is True for identity in list_identities(story)
    ):
        return False
    if situation.trace:
        return "SUB_ADVANCED" in names
    return not situation.ordered or bool(names & ORDERED)
