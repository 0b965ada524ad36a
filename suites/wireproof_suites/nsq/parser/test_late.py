"""What was cut off is not published later either."""

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import pub_ext
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.elapsed_time import wait_long


@case("nsq/parser/truncated-for-long", clause="ext.parser.truncated", waiting=True)
def test_truncated_frame_for_long(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A frame whose last byte never arrives is still unpublished seconds later."""
    topic = fresh_ext_topic
    token, sentinel = broker.unique_body(), broker.unique_body()
    frame = pub_ext(topic, {"k": token.decode()}, token + b"tail")
    with broker.subscribe(topic) as consumer, broker.connect(topic=topic) as client:
        client.send(frame.cut(-1))
        client.half_close()
        client.receive()
        late = wait_long(broker, topic)
        broker.publish_accepted(topic, sentinel, {})

        return late or observe_absence(consumer.until(sentinel), of=token)
