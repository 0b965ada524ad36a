"""Histories of one channel: clients that come and go, hold, finish and put back, by a model."""

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.runner.rule_machine import (
    KEPT,
    Effort,
    History,
    LawBroken,
    search,
    usual_effort,
)
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, DESIRED_TAG
from wireproof_suites.nsq.history.channel_model import ChannelModel
from wireproof_suites.nsq.steps.leader_changes import (
    publish_when_ready,
    subscribe_when_ready,
    wait_for_leader,
)

MOVES = ("publish", "join", "leave", "take", "finish", "put_back")
TIME_OUT, MOVE_LEADER = "time_out", "move_leader"
MOST_CLIENTS = 3
MOST_TIME_OUTS = 2
MOST_LEADER_MOVES = 2
WIDE, NARROW = 100, 1
SHORTEST_TIMEOUT_MS = 1000
PUT_BACK_MS = (0, 100)
# A broker may keep what a departed client held until it times out.
LEAVING_TIMEOUT_MS = 3000
HURRIED_SECONDS = 0.3
SHORTEST_GLANCE, LONGEST_GLANCE = 0.002, 0.1


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind of channel and clients in a history of random activity.

    ``tags`` are desired and published in turn, None for none; with ``timed`` their messages time
    out soon.
    """

    tags: tuple[str | None, ...] = (None,)
    ordered: bool = False
    timed: bool = False


@dataclass(slots=True)
class HistoryTarget:
    """The broker and topic that the histories of one search share.

    ``cluster`` moves the leader, None if it is to stay. ``slowest`` is the longest, in seconds,
    that was waited so far for something that came.
    """

    topic: Topic
    cluster: Cluster | None = None
    slowest: float = 0.0


@dataclass(slots=True)
class Client:
    """A client in a history: its number, its consumer, its timeout, the messages it holds."""

    number: int
    consumer: Consumer
    timed: bool
    held: dict[bytes, Delivery] = field(default_factory=dict[bytes, Delivery])


class ChannelHistory:
    """Random activity on a new channel, which has one client at the start, with its model."""

    def __init__(
        self, broker: Broker, ground: HistoryTarget, kind: Kind, *, hurried: bool
    ) -> None:
        self._broker = broker
        self._ground = ground
        self._kind = kind
        self._channel = ground.topic.channel()
        self._model = ChannelModel(ordered=kind.ordered)
        self._clients: list[Client] = []
        self._time_outs = 0
        self._leader_moves = 0
        self._numbers = itertools.count()
        self._seconds = broker.patience.seconds(REDELIVERY)
        if hurried:
            self._seconds = min(self._seconds, ground.slowest + HURRIED_SECONDS)
        else:
            soon = kind.timed and kind.tags == (None,)
            self._seconds += (SHORTEST_TIMEOUT_MS if soon else LEAVING_TIMEOUT_MS) / 1000
        self._moves: Mapping[str, Callable[[int], str]] = {
            "publish": self._publish,
            "join": self._join,
            "leave": self._leave,
            "take": self._take,
            "finish": self._finish,
            "put_back": self._put_back,
            TIME_OUT: self._time_out,
            MOVE_LEADER: self._move_leader,
        }
        self._join(0)
        if ground.cluster is not None:
            self._use()

    def move(self, name: str, choice: int) -> str:
        """Do an action such as finish, or one that must precede it; return it in words."""
        return self._moves[name](choice)

    def end(self) -> None:
        """Disconnect all clients; a last client must get every message that is still due."""
        while self._clients:
            self._part(self._clients[0])
        last = self._subscribe(None, WIDE)
        while self._model.owed:
            if last not in self._clients:
                raise ArrangementFailed("the target ended the last client's connection")
            self._receive(1)
            for body in list(last.held):
                self._finish_message(last, body)

    def close(self) -> None:
        """Close every connection."""
        self._broker.close()

    def _use(self) -> None:
        """Finish a message: real nodes tell each other of a channel when something happens."""
        self._publish_one(None)
        self._receive(1)
        for client, body in self._list_held():
            self._finish_message(client, body)

    def _publish(self, choice: int) -> str:
        tag = self._kind.tags[choice % len(self._kind.tags)]
        count = choice % 3 + 1
        for _ in range(count):
            self._publish_one(tag)
        return f"publish {count}{_with(tag)}"

    def _join(self, choice: int) -> str:
        if len(self._clients) == MOST_CLIENTS:
            return self._publish(choice)
        tag = self._kind.tags[choice % len(self._kind.tags)]
        ready = NARROW if self._kind.tags == (None,) and choice % 2 else WIDE
        client = self._subscribe(tag, ready)
        if tag is not None:
            self._publish_one(tag)  # whose delivery shows that the client is ready
        return f"client {client.number} joins with RDY {ready}{_with(tag)}"

    def _leave(self, choice: int) -> str:
        if not self._clients:
            return self._join(choice)
        client = self._clients[choice % len(self._clients)]
        held = len(client.held)
        self._part(client)
        return f"client {client.number} leaves holding {held}"

    def _take(self, choice: int) -> str:
        due = self._model.count_due()
        if not due:
            return self._publish(choice) if self._clients else self._join(choice)
        count = due if choice % 2 else 1
        self._receive(count)
        return f"take {count}"

    def _finish(self, choice: int) -> str:
        held = self._list_held()
        if not held:
            return self._take(choice)
        client, body = held[choice % len(held)]
        self._finish_message(client, body)
        return f"client {client.number} finishes one"

    def _put_back(self, choice: int) -> str:
        held = self._list_held()
        if not held:
            return self._take(choice)
        client, body = held[choice % len(held)]
        # Some brokers do not look at a delay on ordered channels, nor at the REQ then.
        delay_ms = 0 if self._kind.ordered else PUT_BACK_MS[choice % len(PUT_BACK_MS)]
        client.consumer.requeue(client.held.pop(body), delay_ms)
        self._model.loosen(body)
        return f"client {client.number} puts one back for {delay_ms} ms"

    def _time_out(self, choice: int) -> str:
        holders = [client for client in self._clients if client.timed and client.held]
        if not holders or self._time_outs == MOST_TIME_OUTS:
            return self._take(choice)
        self._time_outs += 1
        client = holders[choice % len(holders)]
        count = len(client.held)
        for body in client.held:
            self._model.loosen(body)
        client.held.clear()
        return f"client {client.number} lets {count} time out"

    def _move_leader(self, choice: int) -> str:
        cluster = self._ground.cluster
        if cluster is None or self._leader_moves == MOST_LEADER_MOVES:
            return self._publish(choice)
        self._leader_moves += 1
        moved = cluster.move_leader(self._ground.topic)
        self._ground.topic = wait_for_leader(self._broker, cluster, moved)
        while self._clients:
            self._part(self._clients[0])
        return "the leader moves, all clients leave"

    def _publish_one(self, tag: str | None) -> None:
        body = self._broker.unique_body()
        if self._leader_moves:
            answer = observe(publish_when_ready(self._broker, self._ground.topic, body))
            if answer.value != "ok":
                raise ArrangementFailed(f"the new leader answered {answer.value} to a publish")
        else:
            header = None if tag is None else {CLIENT_DISPATCH_TAG: tag}
            self._broker.publish_accepted(self._ground.topic, body, header)
        self._model.publish(body, tag)

    def _subscribe(self, tag: str | None, ready: int) -> Client:
        wishes: dict[str, object] = {} if tag is None else {DESIRED_TAG: tag}
        # What times out at an untagged client of a channel with tags may come to it once more
        # unseen, and nobody can tell then from when on it is owed to another.
        timed = self._kind.timed and (tag is not None or self._kind.tags == (None,))
        wishes["msg_timeout"] = SHORTEST_TIMEOUT_MS if timed else LEAVING_TIMEOUT_MS
        consumer = subscribe_when_ready(
            self._broker,
            self._ground.topic,
            channel=self._channel,
            ready=ready,
            identify=wishes,
        )
        client = Client(next(self._numbers), consumer, timed)
        self._clients.append(client)
        self._model.join(client.number, tag, ready)
        return client

    def _part(self, client: Client) -> None:
        client.consumer.close()
        self._clients.remove(client)
        self._model.leave(client.number)

    def _finish_message(self, client: Client, body: bytes) -> None:
        client.consumer.finish(client.held.pop(body))
        self._model.finish(body)

    def _list_held(self) -> list[tuple[Client, bytes]]:
        return [(client, body) for client in self._clients for body in client.held]

    def _receive(self, count: int) -> None:
        """Read every client in turn until ``count`` loose messages have come.

        Raises:
            LawBroken: messages do not come in time, or one comes to a client that must not get it.
        """
        started = time.monotonic()
        came, glance = 0, SHORTEST_GLANCE
        while came < count and self._model.count_due():
            for client in tuple(self._clients):
                came += self._look(client, glance)
            glance = min(2 * glance, LONGEST_GLANCE)
            if came < count and time.monotonic() - started > self._seconds:
                left = count - came
                raise LawBroken("lost", f"{left} owed did not come", overdue=True)
        self._ground.slowest = max(self._ground.slowest, time.monotonic() - started)

    def _look(self, client: Client, glance: float) -> int:
        """Receive the messages that have come to a client; return how many of them were loose."""
        came = 0
        while (delivery := client.consumer.take(seconds=glance)) is not None:
            came += self._take_arrival(client, delivery)
        if client.consumer.ended:
            self._part(client)
        return came

    def _take_arrival(self, client: Client, delivery: Delivery) -> bool:
        body = next((each for each in self._model.owed if each in delivery.raw), None)
        if body is None:
            client.consumer.finish(delivery)  # finished before, or another history's
            return False
        was_loose = self._model.owed[body].holder is None
        word = self._model.deliver(body, client.number)
        for other in self._clients:
            other.held.pop(body, None)
        client.held[body] = delivery
        if word != KEPT:
            tag = _with(self._model.owed[body].tag)
            raise LawBroken(word, f"client {client.number} got a message{tag}")
        return was_loose


def play(
    broker: Broker, topic: Topic, kind: Kind, effort: Effort, cluster: Cluster | None = None
) -> Observation:
    """Try random activity of this kind, each time on a new channel, and observe what goes wrong.

    A cluster also moves the leader.
    """
    ground = HistoryTarget(topic, cluster)

    def begin(*, hurried: bool, shown: bool) -> History:
        own = broker.record_to(broker.transcript if shown else Transcript())
        return ChannelHistory(own, ground, kind, hurried=hurried)

    def tell(words: str) -> None:
        broker.transcript.add("note", "history", note=words)

    moves = (*MOVES, *[TIME_OUT] * kind.timed, *[MOVE_LEADER] * (cluster is not None))
    return search(begin, moves, seed=broker.seed, tell=tell, effort=usual_effort(effort))


def _with(tag: str | None) -> str:
    return f" with tag {tag}" if tag else ""
