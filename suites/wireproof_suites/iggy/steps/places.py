"""Cases repeated in other circumstances: partition, transport, earlier messages, a second poll.

A server may break a rule in one partition only, for messages sent over HTTP, behind other
messages, or at a second poll. The rows of `PLACES` and the circumstances of the cases themselves
(the first partition, TCP, an empty partition, the first poll) are chosen so that every two values
of different columns meet.
"""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType

from wireproof_kit.iggy.server import Server
from wireproof_kit.repeated_cases import (
    Experiment,
    elsewhere,
    keep_values,
    list_must_cases,
    name_repeated,
)
from wireproof_suites.iggy.steps.message_contents import make_numbered
from wireproof_suites.iggy.steps.poll_results import offsets_of

TOPIC = "topic"
LAST = 3
EARLIER = 9


@dataclass(frozen=True, slots=True)
class Place:
    """Circumstances in which a case is repeated, such as another partition or transport."""

    partition: int
    over_http: bool
    behind_others: bool
    polls_again: bool

    @property
    def id(self) -> str:
        """Return the circumstances as the last part of a case id."""
        words = (
            f"p{self.partition}",
            "http" if self.over_http else "tcp",
            "many" if self.behind_others else "one",
            "again" if self.polls_again else "first",
        )
        return "+".join(words)

    def prepare(self, given: Mapping[str, object]) -> Mapping[str, object]:
        """Return the arguments of a case in these circumstances."""
        server = given["server"]
        assert isinstance(server, Server)
        topic = replace(server.new_topic(partitions=LAST), partition=self.partition)
        if self.behind_others:
            server.send_accepted(topic, *make_numbered(EARLIER, first=5000))
            topic = replace(topic, start=1 + max(offsets_of(server, topic, EARLIER)))
        server.over_http, server.polls_again = self.over_http, self.polls_again
        return {**given, TOPIC: topic}


PLACES = (
    Place(1, over_http=True, behind_others=True, polls_again=True),
    Place(LAST, over_http=False, behind_others=True, polls_again=True),
    Place(LAST, over_http=True, behind_others=False, polls_again=True),
    Place(LAST, over_http=True, behind_others=True, polls_again=False),
)


def repeat_in_places(*modules: ModuleType) -> Mapping[str, Experiment]:
    """Return the must cases of some modules that use a topic, repeated in other circumstances.

    A case with parameters is repeated with each of them in one of the circumstances; one of fewer
    parameters than there are places with the same ones again.
    """
    return {
        f"{name_repeated(function)}_{number}": repeated
        for module in modules
        for function in list_must_cases("iggy", module)
        if TOPIC in inspect.signature(function).parameters
        for number, repeated in enumerate(_repeat(function))
    }


def _repeat(function: Experiment) -> Iterator[Experiment]:
    for number, place in enumerate(PLACES):
        needs = ("http",) if place.over_http else ()
        repeated = elsewhere(
            function, place=place.id, needs=needs, arguments={}, adapt=place.prepare
        )
        keep_values(repeated, number, len(PLACES))
        yield repeated
