"""A plain topic that becomes an ext topic, and when that has taken effect."""

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.waiting import until
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.connection import GOES_ON
from wireproof_kit.observation import observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG

POLL_SECONDS = 0.1
TAG = "tagA"
NOT_UPGRADED = observed("not-upgraded", overdue=True)


def upgrade(broker: Broker, topic: Topic) -> Topic | None:
    """Upgrade a topic and wait until it takes headers; None when it never does."""
    result = broker.upgrade(topic)
    done = result.answer.status == 200 and takes_headers(broker, result.topic)
    return result.topic if done else None


def takes_headers(broker: Broker, topic: Topic) -> bool:
    """Tell whether PUB_EXT comes to be accepted; a cluster tells its nodes in its own time.

    What it publishes has a tag, so that it blocks neither untagged clients nor those of the tag,
    and a body that consumers pass over.
    """

    def look() -> bool | None:
        answer = broker.publish(topic, GOES_ON, {CLIENT_DISPATCH_TAG: TAG})
        return True if isinstance(answer, Response) else None

    seconds = broker.patience.seconds(REDELIVERY)
    return until(look, seconds=seconds, every=POLL_SECONDS) is True
