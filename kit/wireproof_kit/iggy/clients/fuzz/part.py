"""Iggy for the fuzzing of clients."""

from collections.abc import Sequence

from wireproof_kit.clients.story import Story
from wireproof_kit.errors import UsageFault
from wireproof_kit.fuzz.clients.part import ClientFuzzPart
from wireproof_kit.fuzz.generate.grammar import Grammar
from wireproof_kit.iggy.apache import APACHE
from wireproof_kit.iggy.clients.client import IGGY_CLIENTS
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.iggy.clients.fuzz import frames, states
from wireproof_kit.iggy.clients.fuzz.peers import CasePeers
from wireproof_kit.iggy.clients.fuzz.states import STATES, WORK, Situation
from wireproof_kit.iggy.clients.script import TRANSPORTS, Script
from wireproof_spec.iggy.generation import framed


def make_part() -> ClientFuzzPart[Script, Situation]:
    """Return how clients of Iggy are fuzzed."""
    return ClientFuzzPart(
        part=IGGY_CLIENTS,
        names={},
        states=STATES,
        first={
            role: [Situation(role, transport, place) for transport in TRANSPORTS]
            for role, place in WORK.items()
        },
        script=states.script,
        meet=CasePeers,
        plays=_plays,
        grammar=_grammar,
    )


def _plays(situation: Situation, story: Story) -> bool:
    """Return True if a client has asked for what a state is about."""
    return any(
        event.peer == situation.transport and event.command == situation.place
        for event in story.of(Asked)
    )


def _grammar(stories: Sequence[Story]) -> Grammar:
    """Return the answers of a server of the generations that the client speaks.

    Raises:
        UsageFault: the client speaks one that the fuzzer does not.
    """
    asked = [event for story in stories for event in story.of(Asked)]
    if any(event.generation == APACHE for event in asked):
        raise UsageFault("the fuzzer does not speak generation apache of Iggy yet")
    return frames.grammar({framed(event.generation) for event in asked})
