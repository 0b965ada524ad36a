"""Other ways to publish on a topic with the extend feature: PUB, PUB_TRACE, MPUB, MPUB_EXT."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import Header, mpub, mpub_ext, pub, pub_trace
from wireproof_kit.observation import Observation
from wireproof_spec.nsq.names import CLIENT_DISPATCH_TAG, TRACE_ID
from wireproof_suites.nsq.steps.publish_results import is_success, then_received

REFUSED_HEADERS: dict[str, Header] = {
    "not-json": b"{",
    "trace-id-no-number": {TRACE_ID: "abc"},
}


@case("nsq/publish/pub-on-ext-topic", clause="ext.publish.pub-on-ext-topic")
def test_pub_on_an_ext_topic(broker: Broker, ext_topic: Topic) -> Observation:
    """A PUB without a header is accepted on an ext topic."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        answer = observe(client.ask(pub(ext_topic, body)), then=client.goes_on(ext_topic))

        return then_received(answer, consumer, body=body)


@case(
    "nsq/publish/pub-trace-on-ext-topic",
    clause="ext.publish.pub-on-ext-topic",
    needs=("trace",),
)
def test_pub_trace_on_an_ext_topic(broker: Broker, ext_topic: Topic) -> Observation:
    """A PUB_TRACE without a header is accepted on an ext topic."""
    body = broker.unique_body()
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_trace(ext_topic, 77, body))
        observation = observe(answer, then=client.goes_on(ext_topic), trace_id=77)

        return then_received(observation, consumer, body=body)


@case("nsq/publish/mpub-on-ext-topic", clause="ext.publish.pub-on-ext-topic")
def test_mpub_on_an_ext_topic(broker: Broker, ext_topic: Topic) -> Observation:
    """An MPUB without headers is accepted on an ext topic."""
    bodies = [broker.unique_body(), broker.unique_body()]
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        answer = observe(client.ask(mpub(ext_topic, bodies)), then=client.goes_on(ext_topic))

        return then_received(answer, consumer, body=bodies[1])


@case("nsq/publish/mpub-ext", clause="ext.publish.mpub-ext")
@pytest.mark.parametrize("which", [0, 1, 2], ids=["first", "second", "third"])
def test_mpub_ext(broker: Broker, ext_topic: Topic, which: int) -> Observation:
    """Each message of an MPUB_EXT batch is delivered with its own header."""
    messages = [
        ({"k": "first"}, broker.unique_body()),
        ({CLIENT_DISPATCH_TAG: "second"}, broker.unique_body()),
        ({"a": "third", "b": "third"}, broker.unique_body()),
    ]
    header, body = messages[which]
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        answer = client.ask(mpub_ext(ext_topic, messages))
        observation = observe(answer, then=client.goes_on(ext_topic))

        return then_received(observation, consumer, body=body, header=header)


@case("nsq/publish/mpub-ext-trace", clause="ext.publish.mpub-ext")
def test_mpub_ext_with_trace_ids(broker: Broker, ext_topic: Topic) -> Observation:
    """An MPUB_EXT batch whose messages have trace ids is answered OK."""
    messages = [({TRACE_ID: str(number)}, broker.unique_body()) for number in (1, 2)]
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(mpub_ext(ext_topic, messages))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/mpub-ext-refused", clause="ext.publish.mpub-ext")
@pytest.mark.parametrize("header", REFUSED_HEADERS.values(), ids=REFUSED_HEADERS)
def test_mpub_ext_with_a_refused_header(
    broker: Broker, ext_topic: Topic, header: Header
) -> Observation:
    """After an MPUB_EXT refused in mid-batch, the broker reads the next frame correctly."""
    messages: list[tuple[Header, bytes]] = [
        ({"k": "v"}, broker.unique_body()),
        (header, broker.unique_body()),
        ({"k": "v"}, broker.unique_body()),
    ]
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(mpub_ext(ext_topic, messages))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/publish/mpub-ext-nothing-stored", clause="ext.publish.mpub-ext")
def test_mpub_ext_stores_all_or_nothing(broker: Broker, ext_topic: Topic) -> Observation:
    """An MPUB_EXT batch with a refused header publishes no message."""
    first, sentinel = broker.unique_body(), broker.unique_body()
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        batch = mpub_ext(ext_topic, [({"k": "v"}, first), (b"{", broker.unique_body())])
        answer = observe(client.ask(batch))
        if is_success(answer):
            return answer
        broker.publish_accepted(ext_topic, sentinel, {})

        return observe_absence(consumer.until(sentinel), of=first)


@case("nsq/publish/mpub-ext-no-header", clause="ext.publish.mpub-ext")
def test_mpub_ext_without_headers(broker: Broker, ext_topic: Topic) -> Observation:
    """An MPUB_EXT message with a header length of 0 is answered."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(mpub_ext(ext_topic, [(b"", broker.unique_body())]))

        return observe(answer, then=client.goes_on(ext_topic))
