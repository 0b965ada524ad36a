"""Payloads of valid requests in the generation of the target."""

from dataclasses import dataclass

from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire import generations
from wireproof_spec.iggy.bodies.identifier import Identifier
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.bodies.topics import CreateTopic
from wireproof_spec.iggy.generation import CreateForm, Generation
from wireproof_spec.iggy.kinds import CONSUMER_KIND, OFFSET


@dataclass(frozen=True, slots=True)
class Polling:
    """The parameters of a poll; by default, the first hundred messages of the case.

    Without ``partition`` and ``value``, they are the topic's own partition and start offset.
    """

    consumer: int = 1
    kind: int = CONSUMER_KIND
    partition: int | None = None
    strategy: int = OFFSET
    value: int | None = None
    count: int = 100
    auto_commit: int = 0


POLLING = Polling()


def poll_payload(
    topic: Topic,
    polling: Polling,
    generation: Generation,
    *,
    by: tuple[Identifier, Identifier] | None = None,
) -> PollMessages:
    """Return the payload of a poll; ``by`` replaces the numbers of stream and topic."""
    stream, name = by or (topic.stream.id, topic.id)
    return PollMessages(
        consumer=generations.consumer(polling.consumer, generation, kind=polling.kind),
        stream=stream,
        topic=name,
        partition_id=topic.partition if polling.partition is None else polling.partition,
        strategy=polling.strategy,
        value=topic.start if polling.value is None else polling.value,
        count=polling.count,
        auto_commit=polling.auto_commit,
    )


def topic_to_create(topic: Topic, create: CreateForm) -> CreateTopic:
    """Return the payload of a create_topic request."""
    wanted = CreateTopic(
        stream=topic.stream.id,
        topic_id=topic.number,
        partitions_count=topic.partitions,
        compression=None,
        message_expiry=None,
        max_topic_size=None,
        replication_factor=None,
        name=topic.name,
    )
    return generations.topic_to_create(wanted, create)
