"""The clients of one channel, and which client got which message.

A client is used only after it has received a message of its own: then its RDY has arrived.
A sentinel is a later message that must come to one client. Once a client has its sentinel, every
earlier message to that client has come, too.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_kit.runner.patience import PUSH, Wait
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, DESIRED_TAG

# Wide enough that duplicates, which a broker may send, never make a client look full.
READY = 50
SOON = 0.25


@dataclass(slots=True)
class Client:
    """A client of a channel: its consumer, its name in observations, its tag, its deliveries.

    Messages with the bodies in ``held`` stay in flight, also when they are delivered once more.
    """

    word: str
    consumer: Consumer
    tag: str | None
    got: list[Delivery] = field(default_factory=list[Delivery])
    held: set[bytes] = field(default_factory=set[bytes])

    def has(self, body: bytes) -> bool:
        """Return whether a message with this body has come."""
        return self.find(body) is not None

    def find(self, body: bytes) -> Delivery | None:
        """Return the first delivery of a message with this body, if one has come."""
        return next((delivery for delivery in self.got if body in delivery.raw), None)

    def read_until(
        self, bodies: Collection[bytes], wait: Wait = PUSH, *, share: float = 1.0
    ) -> bool:
        """Receive and finish messages until all bodies have come; False if patience runs out.

        ``share`` is how much of the patience there is for each message.
        """
        seconds = share * self.consumer.connection.seconds(wait)
        while not all(self.has(body) for body in bodies):
            if not self._read(seconds):
                return False
        return True

    def is_proven(self, publish: Callable[[], list[bytes]]) -> bool:
        """Publish messages until one of them has come to this client: once, or twice if needed.

        While the broker may not know that this client is ready, the first message may validly go
        to another client.
        """
        first = publish()
        if self.read_until(first, share=SOON):
            return True
        bodies = first + publish()
        seconds = self.consumer.connection.seconds(PUSH)
        while not any(self.has(body) for body in bodies):
            if not self._read(seconds):
                return False
        self.read_until(bodies, share=SOON)  # a second one must not lie in wait for the case
        return True

    def forget(self) -> None:
        """Forget the client's deliveries so far, and which messages it must hold."""
        self.got.clear()
        self.held.clear()

    def _read(self, seconds: float) -> bool:
        delivery = self.consumer.take(seconds=seconds)
        if delivery is None:
            return False
        self.got.append(delivery)
        if not any(body in delivery.raw for body in self.held):
            self.consumer.finish(delivery)
        return True

    def hold(self, bodies: Collection[bytes], count: int) -> dict[bytes, Delivery]:
        """Receive without FIN until ``count`` of the bodies are in flight; return them."""
        held: dict[bytes, Delivery] = {}
        while len(held) < count:
            delivery = self.consumer.take()
            if delivery is None:
                return held
            self.got.append(delivery)
            held |= {body: delivery for body in bodies if body in delivery.raw}
            self.held.update(held)
        return held


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that only one case uses, with its clients."""

    broker: Broker
    topic: Topic
    name: str

    def join(
        self,
        word: str,
        *,
        tag: str | None = None,
        ready: int = READY,
        proven: bool = True,
        **identify: object,
    ) -> Client:
        """Subscribe a client; if ``proven``, wait for a message that shows it is ready."""
        wishes = identify if tag is None else {DESIRED_TAG: tag, **identify}
        consumer = self.broker.subscribe(
            self.topic, channel=self.name, ready=ready, identify=wishes
        )
        client = Client(word, consumer, tag)
        if proven and ready:
            client.is_proven(lambda: self.publish(tag))
        return client

    def publish(self, tag: str | None = None, *, count: int = 1) -> list[bytes]:
        """Publish messages with the tag, or without a header; return their bodies."""
        header = None if tag is None else {CLIENT_DISPATCH_TAG: tag}
        bodies = [self.broker.unique_body() for _ in range(count)]
        for body in bodies:
            self.broker.publish_accepted(self.topic, body, header)
        return bodies

    def publish_headers(self, headers: Iterable[bytes]) -> list[bytes]:
        """Publish one message under each header; return their bodies."""
        bodies: list[bytes] = []
        for header in headers:
            bodies.append(self.broker.unique_body())
            self.broker.publish_accepted(self.topic, bodies[-1], header)
        return bodies

    def takers(
        self,
        bodies: Collection[bytes],
        *,
        owed_to: Client,
        others: Collection[Client] = (),
        wait: Wait = PUSH,
    ) -> Observation:
        """Return the clients that got the messages: ``to:`` and their words in alphabetical order.

        ``missing``: a message came to no client. ``no-sentinel``: every message came to the client
        it is owed to, but another client did not get its sentinel, so nothing is known of that
        client. After one wait in vain the other waits are short, since their messages had as much
        time to come.
        """
        sentinels = [self.publish(other.tag) for other in others]
        shown = True
        for other, sentinel in zip(others, sentinels, strict=True):
            shown = other.read_until(sentinel, wait, share=1.0 if shown else SOON) and shown
        strayed = {body for body in bodies for other in others if other.has(body)}
        owed_to.read_until(set(bodies) - strayed, wait, share=1.0 if shown else SOON)
        return _outcome(bodies, owed_to, others=others, shown=shown)


def channel_of(broker: Broker, topic: Topic) -> Channel:
    """Return a new channel of the topic."""
    return Channel(broker, topic, topic.channel())


def both(first: Observation, second: Observation) -> Observation:
    """Join the observations of the same messages on two channels with a comma."""
    overdue = first.overdue or second.overdue
    evidence = (*first.evidence, *second.evidence)
    return Observation(f"{first.value},{second.value}", overdue=overdue, evidence=evidence)


def _outcome(
    bodies: Collection[bytes], owed_to: Client, *, others: Collection[Client], shown: bool
) -> Observation:
    clients = [owed_to, *others]
    if not all(any(client.has(body) for client in clients) for body in bodies):
        return observed("missing", overdue=True)
    words = sorted({c.word for c in clients for body in bodies if c.has(body)})
    if words == [owed_to.word] and not shown:
        return observed("no-sentinel", overdue=True)
    taken = (client.find(body) for client in (*others, owed_to) for body in bodies)
    return observed("to:" + "+".join(words)).on(next(filter(None, taken)))
