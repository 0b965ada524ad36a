"""After a refused frame: the next frame, the next message, and everybody else."""

from collections.abc import Callable

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Closed, Silent
from wireproof_kit.nsq.wire.frames import pub_ext
from wireproof_kit.observation import Observation
from wireproof_kit.wire.outgoing import Outgoing, join_pieces
from wireproof_suites.nsq.steps.publish_results import followed_by, then_others, then_received

HEADER = {"k": "v"}
BODY = b"refused"

# Frames that are whole: their declared size is the number of bytes that follow.
WHOLE: dict[str, Callable[[Topic], Outgoing]] = {
    "header-not-json": lambda topic: pub_ext(topic, b"{", BODY),
    "header-empty-text": lambda topic: pub_ext(topic, b" ", BODY),
    "header-beyond-frame": lambda topic: pub_ext(topic, HEADER, BODY, header_length=500),
    "topic-unknown": lambda topic: pub_ext(topic, HEADER, BODY, topic_name="wp_nobody_made_this"),
    "topic-name-illegal": lambda topic: pub_ext(topic, HEADER, BODY, topic_name="wp!illegal"),
    "partition-letters": lambda topic: pub_ext(topic, HEADER, BODY, partition="abc"),
    "large-and-not-json": lambda topic: pub_ext(topic, b"{" * 20000, BODY * 5000),
}

# Frames whose size lies, so that nobody can say where the next one begins.
LYING: dict[str, Callable[[Topic], Outgoing]] = {
    "size-zero": lambda topic: pub_ext(topic, HEADER, BODY, size=0),
    "size-negative": lambda topic: pub_ext(topic, HEADER, BODY, size=-1),
    "size-greatest": lambda topic: pub_ext(topic, HEADER, BODY, size=2**31 - 1),
    "size-of-header-alone": lambda topic: pub_ext(topic, HEADER, BODY, size=5),
}

ALL = {**WHOLE, **LYING}


@case("nsq/parser/next-frame", clause="ext.parser.in-step")
@pytest.mark.parametrize("refused", WHOLE.values(), ids=WHOLE)
def test_right_frame_behind_a_refused_one(
    broker: Broker, ext_topic: Topic, refused: Callable[[Topic], Outgoing]
) -> Observation:
    """A valid frame after a refused one is answered OK, or the broker closes the connection."""
    right = pub_ext(ext_topic, HEADER, broker.unique_body())
    with broker.connect(topic=ext_topic) as client:
        client.send(join_pieces([refused(ext_topic), right], "a refused frame and a right one"))
        first, second = client.receive(), client.receive()

        return followed_by(observe(first), observe(second))


@case("nsq/parser/goes-on", clause="ext.parser.in-step")
@pytest.mark.parametrize("refused", WHOLE.values(), ids=WHOLE)
def test_connection_after_a_refused_frame(
    broker: Broker, ext_topic: Topic, refused: Callable[[Topic], Outgoing]
) -> Observation:
    """After a refused frame, the broker closes the connection or serves the next frame."""
    with broker.connect(topic=ext_topic) as client:
        return observe(client.ask(refused(ext_topic)), then=client.goes_on(ext_topic))


@case("nsq/parser/many-refused", clause="ext.parser.in-step")
def test_many_refused_frames(broker: Broker, ext_topic: Topic) -> Observation:
    """Many refused frames in a row have the same effect as one."""
    frames = [pub_ext(ext_topic, b"{", broker.unique_body()) for _ in range(20)]
    right = pub_ext(ext_topic, HEADER, broker.unique_body())
    with broker.connect(topic=ext_topic) as client:
        client.send(join_pieces([*frames, right], "20 refused frames and a right one"))
        refused, answer = client.receive(), client.receive()
        for _ in frames[1:]:
            if isinstance(answer, Closed | Silent):
                break
            answer = client.receive()

        return followed_by(observe(refused), observe(answer))


@case("nsq/parser/other-connections", clause="ext.parser.in-step")
@pytest.mark.parametrize("refused", ALL.values(), ids=ALL)
def test_other_connections_after_a_refused_frame(
    broker: Broker, ext_topic: Topic, refused: Callable[[Topic], Outgoing]
) -> Observation:
    """A refused frame affects no other connection, whether opened before or after it."""
    with broker.connect(topic=ext_topic) as other, broker.connect(topic=ext_topic) as client:
        observation = observe(client.ask(refused(ext_topic)))

        return then_others(observation, ext_topic, other, broker.connect(topic=ext_topic))


@case("nsq/parser/next-message", clause="ext.parser.in-step")
@pytest.mark.parametrize("refused", ALL.values(), ids=ALL)
def test_message_after_a_refused_frame(
    broker: Broker, ext_topic: Topic, refused: Callable[[Topic], Outgoing]
) -> Observation:
    """A message published after a refused frame is delivered as sent."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        client.ask(refused(ext_topic))
        broker.publish_accepted(ext_topic, body, HEADER)

        return observe_delivery(consumer.next(body), body=body, header=HEADER)


@case("nsq/parser/next-message-same-connection", clause="ext.parser.in-step")
def test_message_after_a_refused_one_on_its_connection(
    broker: Broker, ext_topic: Topic
) -> Observation:
    """If a connection survives a refused frame, its next message is stored as sent."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        client.ask(pub_ext(ext_topic, b"{", BODY))
        answer = observe(client.ask(pub_ext(ext_topic, HEADER, body)))

        return then_received(answer, consumer, body=body, header=HEADER)
