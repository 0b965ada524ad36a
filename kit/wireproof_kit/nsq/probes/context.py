"""What every probe works with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.cluster import Cluster
from wireproof_kit.nsq.lookup.servers import LookupClient
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.pool import TopicPool
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_kit.wire.outgoing import Outgoing

UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class ProbeContext:
    """What probes use: the target's services, and topics that all probes of a session share."""

    broker: Broker
    pool: TopicPool
    lookup: LookupClient | None
    cluster: Cluster
    topics: dict[str, Topic] = field(default_factory=dict[str, Topic])

    def topic(self, *arguments: str) -> Topic:
        """Return the shared topic of the first kind, of those named, that the target can create.

        Raises:
            ArrangementFailed: no method creates a topic of these kinds.
        """
        failures: list[ArrangementFailed] = []
        for argument in arguments:
            try:
                if argument not in self.topics:
                    self.topics[argument] = self.pool.take(argument)
                return self.topics[argument]
            except ArrangementFailed as error:
                failures.append(error)
        tried = (failure.transcript for failure in failures)
        raise ArrangementFailed("; ".join(map(str, failures)), next(filter(None, tried), None))

    def ask(
        self, topic: Topic, outgoing: Outgoing, *, identify: Mapping[str, object] | None = None
    ) -> Observation:
        """Send a request on a new connection; return answer and state, such as ``ok,open``."""
        with self.broker.connect(identify=identify or {}, topic=topic) as client:
            return observe(client.ask(outgoing), then=client.goes_on(topic))


Probe = Callable[[ProbeContext], Observation]
