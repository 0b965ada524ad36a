"""The states in which a client gets a fuzz case: what it does then, and what the case replaces."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from wireproof_kit.clients.part import Role
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1, Script
from wireproof_spec.driver.lines import Fields

PUSH: Final = "push"
LOOKUP, LISTLOOKUP = "lookup", "listlookup"
IDENTIFY, SUBSCRIBE, PUBLISH = "IDENTIFY", "SUBSCRIBE", "PUBLISH"
LOOKUP_DOWN, NODE_DOWN, LOOKUP_DEAD = "lookup-down", "node-down", "lookup-dead"
HTTP_PLACES = (LOOKUP, LISTLOOKUP)
DOWN: Mapping[str, str] = {LOOKUP_DOWN: LOOKUP_1, NODE_DOWN: NODE_1}
"""The server that refuses connections for a while, by the place of the case."""

_MANY = 1 << 30
TRACE_ID = "1"


@dataclass(frozen=True, slots=True)
class Situation:
    """What a client under test does in a state, and what a fuzz case replaces.

    ``place`` is an event of the script whose usual answer the case replaces; in place ``push`` the
    case is sent to a subscriber without a request. In the other places a server is down for some
    time: it refuses connections or, from the start of the client on, resets each.
    """

    role: Role
    place: str
    extend: bool = False
    ordered: bool = False
    trace: bool = False

    @property
    def has_place(self) -> bool:
        """Whether offset and size precede the body of a message."""
        return self.ordered or self.trace

    @property
    def client(self) -> "Situation":
        """The situation at place PUSH; situations for which it is equal can share a client."""
        return replace(self, place=PUSH)


STATES: Mapping[str, Situation] = {
    "consuming": Situation("consumer", PUSH),
    "consuming-ordered": Situation("consumer", PUSH, ordered=True),
    "consuming-ext": Situation("consumer", PUSH, extend=True),
    "consuming-ext-ordered": Situation("consumer", PUSH, extend=True, ordered=True),
    "consuming-trace": Situation("consumer", PUSH, trace=True),
    "identifying": Situation("consumer", IDENTIFY),
    "subscribing": Situation("consumer", SUBSCRIBE),
    "subscribing-ordered": Situation("consumer", SUBSCRIBE, ordered=True),
    "looking-up": Situation("consumer", LOOKUP),
    "listing-lookups": Situation("consumer", LISTLOOKUP),
    "lookup-down": Situation("consumer", LOOKUP_DOWN),
    "lookup-dead": Situation("consumer", LOOKUP_DEAD),
    "node-down": Situation("consumer", NODE_DOWN),
    "producer-identifying": Situation("producer", IDENTIFY),
    "publishing": Situation("producer", PUBLISH),
    "publishing-trace": Situation("producer", PUBLISH, trace=True),
    "publishing-ext": Situation("producer", PUBLISH, extend=True),
    "producer-looking-up": Situation("producer", LOOKUP),
    "producer-listing-lookups": Situation("producer", LISTLOOKUP),
    "producer-lookup-down": Situation("producer", LOOKUP_DOWN),
    "producer-lookup-dead": Situation("producer", LOOKUP_DEAD),
    "producer-node-down": Situation("producer", NODE_DOWN),
}
IDLE = tuple(name for name, each in STATES.items() if each.place in (*DOWN, LOOKUP_DEAD))
"""States in which nothing is sent, since a server is down."""


def named(*places: str) -> tuple[str, ...]:
    """Return the names of the states in which a case has one of these places."""
    return tuple(name for name, each in STATES.items() if each.place in places)


def script(situation: Situation) -> Script:
    """Return the script by which servers without faults serve a client in this situation."""
    return Script(
        situation.role,
        extend=situation.extend,
        ordered=situation.ordered,
        listed=(LOOKUP_1,),
        publishes=_MANY if situation.role == "producer" else 0,
        message=_message(situation) if situation.role == "producer" else {},
        consume={"trace": True} if situation.trace and situation.role == "consumer" else {},
        settings={"trace": "1" if situation.trace else ""},
    )


def _message(situation: Situation) -> Fields:
    if situation.trace:
        return {"trace_id": TRACE_ID}
    return {"ext": {"k": "v"}} if situation.extend else {}
