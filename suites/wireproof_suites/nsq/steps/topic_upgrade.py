"""A plain topic that becomes an ext topic, and when that has taken effect."""

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.connection import GOES_ON
from wireproof_kit.observation import observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_kit.wire.waiting import until
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG

POLL_SECONDS = 0.1
TAG = "tagA"
NOT_UPGRADED = observed("not-upgraded", overdue=True)


def upgrade(broker: Broker, topic: Topic) -> Topic | None:
    """Upgrade a topic to ext, and wait until it accepts headers; None if it never does."""
    result = broker.upgrade(topic)
    done = result.answer.status == 200 and takes_headers(broker, result.topic)
    return result.topic if done else None


def takes_headers(broker: Broker, topic: Topic) -> bool:
    """Wait until the topic accepts PUB_EXT; return False if patience runs out.

    The nodes of a cluster learn of an upgrade one after another. The published messages have a
    tag, so that they block no untagged client and no client with another tag, and a body that
    consumers skip.
    """

    def look() -> bool | None:
        answer = broker.publish(topic, GOES_ON, {CLIENT_DISPATCH_TAG: TAG})
        return True if isinstance(answer, Response) else None

    seconds = broker.patience.seconds(REDELIVERY)
    return until(look, seconds=seconds, every=POLL_SECONDS) is True
