"""Connections of the kit's own NSQ clients: how they open, log in and subscribe."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from wireproof_kit.fuzz.driver import Listener, LogIn
from wireproof_kit.fuzz.oracle.bystanders import describe_refusal, wait
from wireproof_kit.fuzz.oracle.rules import HUNG, ROUND_TRIP
from wireproof_kit.fuzz.send.connection import REFUSED, CaseConnection
from wireproof_kit.nsq.fuzz.answers import ATTENTIVE, ERRORS, OK_KIND, FrameReader
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.runner.patience import Patience, machine_load
from wireproof_kit.wire.address import Address
from wireproof_spec.nsq import names
from wireproof_spec.nsq.command import command_line
from wireproof_spec.nsq.limits import MAX_RDY_COUNT

Asked: TypeAlias = Mapping[str, int]
"""Fields of IDENTIFY with which a client asks for something."""
NOTHING_ASKED: Asked = {}
_DATA = slice(8, None)
"""Of a frame: what follows its size and type."""


class Disturbed(Exception):
    """A bystander could not connect."""

    def __init__(self, words: str, violated: str = ROUND_TRIP) -> None:
        super().__init__(words)
        self.violated = violated


@dataclass(frozen=True, slots=True)
class BystanderSettings:
    """Topics of the kit's own clients during fuzz cases, and the time limits that hold now.

    ``neighbour`` is a plain topic, ``watched`` the topic whose messages the kit consumes: an ext
    topic where the target knows headers.
    """

    neighbour: Topic
    watched: Topic
    patience: Callable[[], Patience]
    needs_identify: bool = False
    login: LogIn | None = None
    can_trace: bool = False

    @property
    def redelivery_s(self) -> float:
        """The seconds that a redelivery may take on a quiet machine."""
        return self.patience().redelivery


@dataclass(frozen=True, slots=True)
class ClientOpener:
    """Opens connections of the kit's own clients to a target."""

    places: BystanderSettings

    @property
    def answer_s(self) -> float:
        """The seconds that an answer may take, more on a busy machine."""
        return self.places.patience().answer * machine_load()

    @property
    def push_s(self) -> float:
        """The seconds that a delivery may take, more on a busy machine."""
        return self.places.patience().push * machine_load()

    def subscribe_in_order(self, channel: str) -> CaseConnection | None:
        """Return an ordered subscriber; None where the target has no such subscription."""
        for name in (names.SUB_ORDERED, names.SUB_ORDER):
            with contextlib.suppress(Disturbed):
                topic = self.places.neighbour
                return self.subscribe(topic, name=name, channel=channel)
        return None

    def connect(self) -> CaseConnection:
        """Return a connection that may publish.

        Raises:
            Disturbed: the target accepts no connection.
        """
        client = self.greet(self.places.neighbour.address)
        if client.ended == REFUSED:
            raise Disturbed(describe_refusal(self.places.neighbour.address))
        return client

    def greet(self, address: Address) -> CaseConnection:
        """Open a connection; send IDENTIFY where the target refuses publishes before it."""
        if not self.places.needs_identify:
            return self._begin(address, names.MAGIC)
        client = self._begin(address, names.MAGIC + frames.identify().data)
        deadline = time.monotonic() + self.answer_s
        while not (client.answers or client.ended) and time.monotonic() < deadline:
            wait([client], deadline)
        del client.answers[:1]
        return client

    def _begin(
        self, address: Address, opening: bytes, listener: Listener = ATTENTIVE
    ) -> CaseConnection:
        """Open a connection with its first bytes, and log it in if the target demands that."""
        login = self.places.login
        client = CaseConnection(address, FrameReader(), listener, opening=opening, login=login)
        client.send(client.unsent)
        return client

    def subscribe(
        self,
        topic: Topic,
        *,
        name: bytes = names.SUB,
        channel: str,
        asked: Asked = NOTHING_ASKED,
    ) -> CaseConnection:
        """Return a subscriber whose IDENTIFY also asks for the given fields.

        Raises:
            Disturbed: the subscription is refused, or not answered.
        """
        return self.negotiate(topic, name=name, channel=channel, asked=asked)[0]

    def negotiate(
        self,
        topic: Topic,
        *,
        name: bytes = names.SUB,
        channel: str,
        ready: int = MAX_RDY_COUNT,
        asked: Asked = NOTHING_ASKED,
    ) -> tuple[CaseConnection, bytes]:
        """Return a subscriber, and what the target answered to its IDENTIFY.

        Raises:
            Disturbed: the subscription is refused, or not answered.
        """
        negotiates = {"feature_negotiation": True} if asked else {}
        fields = {"extend_support": topic.extend, **negotiates, **asked}
        opening = names.MAGIC + frames.identify(**fields).data
        client = self._begin(topic.address, opening)
        line = command_line(name, topic.name, channel, topic.partition or 0)
        client.send(line + command_line(names.RDY, ready))
        deadline = time.monotonic() + self.answer_s
        while len(client.answers) < 2 and not client.ended and time.monotonic() < deadline:
            wait([client], deadline)
        if len(client.answers) < 2 or client.answers[1].kind != OK_KIND:
            said = ", ".join(answer.kind for answer in client.answers) or "nothing"
            is_silent = not (client.answers or client.ended)
            client.close()
            words = f"subscribing anew is answered with {said}"
            raise Disturbed(words, HUNG if is_silent else ROUND_TRIP)
        identity = client.answers[0].data[_DATA]
        del client.answers[:2]
        return client, identity

    def identify(self, address: Address, listener: Listener, asked: Asked) -> CaseConnection:
        """Return a connection whose IDENTIFY asks for the given fields, with the answer to it.

        Without an answer, or with an error, the list of its answers is empty.
        """
        client = self._begin(address, names.MAGIC + frames.identify(**asked).data, listener)
        deadline = time.monotonic() + self.answer_s
        while not (client.answers or client.ended) and time.monotonic() < deadline:
            wait([client], deadline)
        if client.answers and client.answers[0].kind in ERRORS:
            client.answers.clear()
        return client


def close_all(*clients: CaseConnection | None) -> None:
    """Close connections; None stands for one that was never opened."""
    for client in filter(None, clients):
        client.close()
