"""Changes of the leader of a partition: which acknowledged messages come, and in which order."""

from dataclasses import dataclass, field

from wireproof_kit.errors import ArrangementFailed, TargetUnreachable
from wireproof_kit.nsq.broker import Broker, Identify
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.lookup.servers import is_same
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_kit.wire.waiting import until
from wireproof_spec.nsq.error_codes import E_FAILED_ON_NOT_LEADER, E_FAILED_ON_NOT_WRITABLE
from wireproof_spec.nsq.names import SUB, SUB_ORDERED

READY = 50
# A client is expected to look again and retry on these two.
NOT_YET = {f"error:{E_FAILED_ON_NOT_LEADER}", f"error:{E_FAILED_ON_NOT_WRITABLE}", "closed"}


def ask_at(broker: Broker, topic: Topic, outgoing: Outgoing) -> Observation:
    """Send a frame on a new connection to the topic's node, and return the answer."""
    with broker.connect(topic=topic) as client:
        return observe(client.ask(outgoing))


def wait_for_leader(broker: Broker, cluster: Cluster, topic: Topic) -> Topic:
    """Wait for a node that leads the topic, and return the topic at that node.

    Earlier cases may have moved the leader. The lookup servers are asked first; if they are wrong,
    the leader is the node that accepts a subscription.
    """

    def look() -> Topic | None:
        candidate = cluster.leader_of(topic) or topic
        if _takes(broker, candidate):
            return candidate
        return next((at for at in cluster.others(candidate) if _takes(broker, at)), None)

    leader = until(look, seconds=broker.patience.settling_seconds())
    if leader is None:
        raise ArrangementFailed(f"no node leads {topic.name}")
    return leader


def wait_until_named(
    broker: Broker, cluster: Cluster, topic: Topic, *, access: str
) -> Topic | None:
    """Wait until lookups name the topic's node; return None if they never do."""

    def look() -> Topic | None:
        leader = cluster.leader_of(topic, access=access)
        return leader if leader and is_same(leader.address, topic.address) else None

    return until(look, seconds=broker.patience.settling_seconds(), every=0.5)


def subscribe_when_ready(
    broker: Broker,
    topic: Topic,
    *,
    channel: str | None = None,
    ready: int = 1,
    identify: Identify | None = None,
) -> Consumer:
    """Subscribe, and retry while the node refuses clients."""
    refusals: list[ArrangementFailed] = []

    def ask() -> Consumer | None:
        try:
            return broker.subscribe(
                topic,
                channel=channel,
                ready=ready,
                identify=identify,
                command=command_for(topic),
            )
        except ArrangementFailed as error:
            refusals.append(error)
            return None

    consumer = until(ask, seconds=broker.patience.settling_seconds())
    if consumer is None:
        raise refusals[-1]
    return consumer


def bring_back(cluster: Cluster, topic: Topic) -> bool:
    """Restart a stopped node and return True if the cluster lists it again."""
    try:
        cluster.node_up(topic)
    except ArrangementFailed:
        return False
    return any(is_same(node.address, topic.address) for node in cluster.nodes())


def command_for(topic: Topic) -> str:
    """Return the command that subscribes to a topic of this kind."""
    return (SUB_ORDERED if topic.ordered else SUB).decode()


def publish_when_ready(
    broker: Broker, topic: Topic, body: bytes, trace_id: int | None = None
) -> Answer:
    """Publish, and retry while the node answers that it is not ready for messages."""
    last: list[Answer] = []

    def ask() -> Answer | None:
        last[:] = [broker.publish(topic, body, trace_id=trace_id)]
        return None if observe(last[0]).value in NOT_YET else last[0]

    until(ask, seconds=broker.patience.settling_seconds())
    return last[0]


@dataclass(slots=True)
class Story:
    """A channel of a partition, over a change of its leader, with the messages still due.

    ``owed`` are acknowledged and not finished, in the order of publishing.
    """

    broker: Broker
    topic: Topic
    channel: str
    owed: list[bytes] = field(default_factory=list[bytes])

    def consumer(self) -> Consumer:
        """Subscribe to the channel at the partition's present node."""
        ready = 1 if self.topic.ordered else READY
        return subscribe_when_ready(self.broker, self.topic, channel=self.channel, ready=ready)

    def publish(self, count: int) -> None:
        """Publish messages one after another; each must be acknowledged."""
        for _ in range(count):
            body = self.broker.unique_body()
            self.broker.publish_accepted(self.topic, body)
            self.owed.append(body)

    def finish(self, consumer: Consumer, count: int) -> None:
        """Receive and finish this number of messages."""
        for _ in range(count):
            delivery = consumer.next(wait=REDELIVERY)
            if delivery is not None and delivery.body in self.owed:
                self.owed.remove(delivery.body)

    def move(self, cluster: Cluster) -> None:
        """Make another node the leader, and use the topic at that node from now on."""
        self.topic = wait_for_leader(self.broker, cluster, cluster.move_leader(self.topic))

    def rest(self, consumer: Consumer) -> Observation:
        """Receive all due messages: ``all``, ``missing``, or ``out-of-order`` if ordered."""
        while self.owed:
            delivery = consumer.next(wait=REDELIVERY)
            if delivery is None:
                how = "; the connection ended" if consumer.ended else ""
                note = f"{len(self.owed)} acknowledged messages did not come{how}"
                return observed("missing", overdue=True, note=note)
            if delivery.body not in self.owed:
                continue
            if self.topic.ordered and delivery.body != self.owed[0]:
                return observed("out-of-order")
            self.owed.remove(delivery.body)
        return observed("all")

    def last(self, consumer: Consumer) -> Observation:
        """Publish one more message, and receive every message up to that one.

        ``all``: every owed message came before it. ``anew``: an owed message did not. ``missing``:
        the message itself did not come.
        """
        body = self.broker.unique_body()
        answer = observe(publish_when_ready(self.broker, self.topic, body))
        if answer.value != "ok":
            return answer
        self.owed.append(body)
        while body in self.owed:
            delivery = consumer.next(wait=REDELIVERY)
            if delivery is None:
                return observed("missing", overdue=True)
            if delivery.body in self.owed:
                self.owed.remove(delivery.body)
        return observed("anew" if self.owed else "all")


def story(broker: Broker, topic: Topic, *, in_use: bool = True) -> Story:
    """Return a new channel to be observed over a leader change.

    ``in_use``: a message was finished on the channel. Real nodes tell each other of a channel only
    when something happens on it.
    """
    tale = Story(broker, topic, topic.channel())
    if in_use:
        with tale.consumer() as consumer:
            tale.publish(1)
            tale.finish(consumer, 1)
    return tale


def _takes(broker: Broker, topic: Topic) -> bool:
    try:
        broker.subscribe(topic, ready=0, command=command_for(topic)).close()
    except (ArrangementFailed, TargetUnreachable):
        return False
    return True
