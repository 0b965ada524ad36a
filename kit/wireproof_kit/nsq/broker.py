"""The target as one case uses it: connections, subscriptions, publishes, closed at its end."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket
from types import MappingProxyType

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Layout
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.bodies import Bodies
from wireproof_kit.nsq.topics.topic import Address, Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.nsq.wire.answers import Answer, Response
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.frames import Header
from wireproof_kit.nsq.wire.http import HttpAnswer, HttpClient
from wireproof_kit.nsq.wire.login import Login
from wireproof_kit.runner.patience import ANSWER, PUSH, Patience, Wait
from wireproof_kit.wire import connection as wire
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq import names

# What only prepares an experiment decides nothing, so a busy machine is given more time.
PREPARING = PUSH
ORDERED = (names.SUB_ORDER.decode(), names.SUB_ORDERED.decode())
WITH_OFFSET = (*ORDERED, names.SUB_ADVANCED.decode())

Identify = Mapping[str, object]
NO_FIELDS: Identify = MappingProxyType({})
OPEN = Login()


@dataclass(frozen=True, slots=True)
class UpgradeResult:
    """The response to the request that upgrades a topic, and the topic with its new kind."""

    answer: HttpAnswer
    topic: Topic


class Broker:
    """One case's access to an NSQ broker; thread-safe."""

    def __init__(
        self,
        address: Address,
        *,
        transcript: Transcript,
        patience: Patience,
        bodies: Bodies,
        http: HttpClient | None = None,
        data: Path | None = None,
        order_command: Callable[[], str] = lambda: ORDERED[1],
        length_always: Callable[[], bool] = lambda: False,
        offset_first: Callable[[], bool] = lambda: False,
        upgrade: Callable[[Topic], HttpAnswer] | None = None,
        seed: int = 0,
        login: Login = OPEN,
    ) -> None:
        self.address = address
        self.transcript = transcript
        self.patience = patience
        self.data = data
        self.seed = seed
        self._login = login
        self._http = http
        self._bodies = bodies
        self._order_command = order_command
        self._length_always = length_always
        self._offset_first = offset_first
        self._upgrade = upgrade
        self._publishers: dict[Address, Connection] = {}
        self._open: list[Connection] = []
        self.channels: dict[str, Topic] = {}

    def record_to(self, transcript: Transcript) -> "Broker":
        """Return a copy of this broker, without connections, with another transcript."""
        other = copy.copy(self)
        other.transcript = transcript
        other._publishers = {}
        other._open = []
        return other

    @property
    def http(self) -> HttpClient:
        """Return the client of the target's HTTP API.

        Raises:
            ArrangementFailed: no HTTP address is known.
        """
        if self._http is None:
            raise ArrangementFailed("no HTTP address of the target is known; give --http")
        return self._http

    def connect(
        self,
        *,
        identify: Identify | None = NO_FIELDS,
        magic: bool = True,
        topic: Topic | None = None,
    ) -> Connection:
        """Open a connection; send the magic and IDENTIFY with the given fields.

        ``identify=None`` sends no IDENTIFY, or, where TLS or AUTH need one, one that asks for
        nothing else. ``topic`` selects the node that leads it.

        Raises:
            TargetUnreachable: the target accepts no connection.
            TargetSilent: TLS or AUTH, requested by the user, is not possible.
            ArrangementFailed: IDENTIFY was not accepted.
        """
        address = topic.address if topic else self.address
        connection = Connection(
            connect_socket(address),
            transcript=self.transcript,
            patience=self.patience,
            address=address,
        )
        connection.make_fresh = lambda topic: self.connect(topic=topic)
        self._open.append(connection)
        if magic:
            connection.send(frames.magic())
        if identify is None and magic:
            self._login.enter_unnamed(connection, PREPARING)
        elif identify is not None:
            answer = self._login.enter(connection, identify, PREPARING)
            if not isinstance(answer, Response):
                raise ArrangementFailed(f"IDENTIFY was answered {observe(answer).describe()}")
            connection.identified = answer
        return connection

    def subscribe(
        self,
        topic: Topic,
        *,
        channel: str | None = None,
        ready: int = 1,
        identify: Identify | None = None,
        command: str = "SUB",
        partition: int | None = None,
    ) -> Consumer:
        """Subscribe to a channel, by default a new one, and send RDY unless ``ready`` is 0.

        extend_support is added to ``identify`` if the topic needs it, unless it is already there.
        Both names of the ordered command send the one that the target knows.

        Raises:
            ArrangementFailed: the subscription was not accepted.
        """
        extend = {names.EXTEND_SUPPORT: True} if topic.extend else {}
        connection = self.connect(identify={**extend, **(identify or {})}, topic=topic)
        channel = channel or topic.channel()
        word = self._order_command() if command in ORDERED else command
        number = topic.partition if partition is None else partition
        frame = frames.subscribe(topic, channel, command=word, partition=number)
        answer = connection.ask(frame, PREPARING)
        if observe(answer).value != "ok":
            raise ArrangementFailed(f"{word} was answered {observe(answer).describe()}")
        consumer = self.consumer(connection, topic, channel, ordered=command in WITH_OFFSET)
        if ready:
            consumer.ready(ready)
        return consumer

    def consumer(
        self, connection: Connection, topic: Topic, channel: str, *, ordered: bool = False
    ) -> Consumer:
        """Return a consumer for a connection on which the case has already subscribed."""
        self.channels[channel] = topic
        layout = self.layout(topic, ordered=ordered)
        return Consumer(connection, topic, channel=channel, layout=layout, bodies=self._bodies)

    def publish(
        self,
        topic: Topic,
        body: bytes,
        header: Header | None = None,
        *,
        trace_id: int | None = None,
        wait: Wait = ANSWER,
    ) -> Answer:
        """Publish on a connection that the case reuses, and return the response.

        The command is PUB_EXT with a header, which contains the trace id, if any; PUB_TRACE with
        only a trace id; else PUB.
        """
        self._bodies.adopt(body)
        connection = self._publishers.get(topic.address)
        if connection is None or connection.has_ended:
            connection = self._publishers[topic.address] = self.connect(topic=topic)
        if header is not None:
            return connection.ask(frames.pub_ext(topic, header, body), wait)
        if trace_id is not None:
            return connection.ask(frames.pub_trace(topic, trace_id, body), wait)
        return connection.ask(frames.pub(topic, body), wait)

    def publish_accepted(
        self,
        topic: Topic,
        body: bytes,
        header: Header | None = None,
        *,
        trace_id: int | None = None,
    ) -> Answer:
        """Publish a message that the target must accept, and return the response.

        Raises:
            ArrangementFailed: the target did not accept it.
        """
        answer = self.publish(topic, body, header, trace_id=trace_id, wait=PREPARING)
        if not isinstance(answer, Response):
            raise ArrangementFailed(f"a right publish was answered {observe(answer).describe()}")
        return answer

    def upgrade(self, topic: Topic) -> UpgradeResult:
        """Send the request that upgrades a topic to extend support, and return its result.

        Raises:
            ArrangementFailed: no service is known that accepts such a request.
        """
        if self._upgrade is None:
            needed = "a lookup server (--lookupd) or the HTTP API (--http)"
            raise ArrangementFailed(f"upgrading a topic needs {needed}")
        answer = self._upgrade(topic)
        extend = topic.extend or answer.status == 200
        return UpgradeResult(answer, replace(topic, extend=extend))

    def layout(self, topic: Topic, *, ordered: bool) -> Layout:
        """Return the fields that messages of a topic must have before the body."""
        return Layout(
            extend=topic.extend,
            ordered=ordered,
            length_always=topic.extend and self._length_always(),
            offset_first=topic.extend and ordered and self._offset_first(),
        )

    def unique_body(self, prefix: bytes = b"") -> bytes:
        """Return a message body that no other case uses, starting with ``prefix``."""
        return self._bodies.unique(prefix)

    def close(self) -> None:
        """Close all connections of the case."""
        for connection in self._open:
            connection.close()


def connect_socket(address: Address) -> socket:
    """Return a socket connected to an address.

    Raises:
        TargetUnreachable: no connection is accepted there.
    """
    return wire.connect_socket(address, "nsq")
