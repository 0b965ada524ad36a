"""Batches: several messages in one MPUB, where the target knows that command."""

from collections.abc import Sequence

from wireproof_kit.errors import ArrangementFailed
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import mpub

UNKNOWN = ("error:E_INVALID", "closed")


def publish_batch(broker: Broker, topic: Topic, bodies: Sequence[bytes]) -> None:
    """Publish messages with MPUB, or one by one where the target does not know it.

    Raises:
        ArrangementFailed: the target knows MPUB and refuses the batch.
    """
    with broker.connect(topic=topic) as client:
        seen = observe(client.ask(mpub(topic, bodies))).value
    if seen in UNKNOWN:
        for body in bodies:
            broker.publish_accepted(topic, body)
    elif seen != "ok":
        raise ArrangementFailed(f"MPUB was answered {seen}")
