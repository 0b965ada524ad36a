"""The states in which an Iggy client gets a fuzz case: the request that the case answers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from wireproof_kit.clients.part import Role
from wireproof_kit.iggy.clients.script import TRANSPORTS, Script, Transport

POLL, SEND, LOGIN = "poll_messages", "send_messages", "login_user"
STORE: Final = "store_consumer_offset"
WORK: Mapping[Role, str] = {"consumer": POLL, "producer": SEND}
"""What a client of each role asks for again and again."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What a case meets: a client's role, its transport, and the command that the case answers."""

    role: Role
    transport: Transport
    place: str

    @property
    def client(self) -> "Situation":
        """The same with the usual place: one client can play all with an equal one."""
        return replace(self, place=WORK[self.role])

    @property
    def work(self) -> str:
        """What the client does again and again, in words."""
        return "poll messages" if self.role == "consumer" else "send messages"


def _situations() -> Iterator[tuple[str, Situation]]:
    for transport in TRANSPORTS:
        end = "" if transport == "tcp" else "-http"
        yield f"polling{end}", Situation("consumer", transport, POLL)
        yield f"storing{end}", Situation("consumer", transport, STORE)
        yield f"logging-in{end}", Situation("consumer", transport, LOGIN)
        yield f"sending{end}", Situation("producer", transport, SEND)
        yield f"producer-logging-in{end}", Situation("producer", transport, LOGIN)


STATES: Mapping[str, Situation] = dict(_situations())


def named(transport: Transport, *places: str) -> tuple[str, ...]:
    """Return the names of the states of a transport whose cases have one of these places."""
    return tuple(
        name
        for name, each in STATES.items()
        if each.transport == transport and (not places or each.place in places)
    )


def script(situation: Situation) -> Script:
    """Return the script of a server that does as the texts say."""
    return Script(situation.role, situation.transport)
