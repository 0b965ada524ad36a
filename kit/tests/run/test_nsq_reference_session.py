"""The session against the embedded reference, as a run uses it."""

from collections import Counter
from collections.abc import Iterator

import pytest

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.disk import DataDirectory, observe_stored
from wireproof_kit.nsq.observe.observations import (
    observe,
    observe_absence,
    observe_delivery,
    observe_http,
)
from wireproof_kit.nsq.session import NsqSession, open_session
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire import frames
from wireproof_kit.protocols import read_target
from wireproof_kit.targets.embedded import EmbeddedReference, start_reference
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.nsq.names import TRACE_ID

pytestmark = pytest.mark.process

CATALOGUE = load_catalogue("nsq")
HEADER = {"k": "v"}


@pytest.fixture(scope="module")
def reference() -> Iterator[EmbeddedReference]:
    running = start_reference("nsq")
    yield running
    running.close()


@pytest.fixture(scope="module")
def session(reference: EmbeddedReference) -> Iterator[NsqSession]:
    target = read_target(reference.url)
    found = open_session(target, SessionOptions(seed=1, run_token="t1"))
    yield found
    found.close()


@pytest.fixture
def broker(session: NsqSession) -> Iterator[Broker]:
    arguments = session.arguments(("broker",), Transcript())
    found = arguments["broker"]
    assert isinstance(found, Broker)
    yield found
    session.release(arguments)


def topic(session: NsqSession, name: str) -> Topic:
    found = session.arguments((name,), Transcript())[name]
    assert isinstance(found, Topic)
    return found


@pytest.mark.parametrize("name", ["ext", "trace", "order", "http", "disk", "upgrade"])
def test_the_reference_shows_what_it_can_do(session: NsqSession, name: str) -> None:
    capability = CATALOGUE.capability(name)
    assert capability is not None
    seen = session.probe_capability(capability.probe)

    assert seen.observation.value in ("ok", "ok,open", "trace,open")
    assert seen.transcript.steps()


PUBLISHED = [
    decision
    for decision in CATALOGUE.decisions
    if not decision.id.startswith(("iggy", "oms", "lookup", "create"))
]


@pytest.mark.parametrize("name", [decision.id for decision in PUBLISHED])
def test_every_decision_has_a_reading(session: NsqSession, name: str) -> None:
    decision = CATALOGUE.decision(name)
    assert decision is not None
    seen = session.probe_reading(decision.probe).observation

    assert decision.find_shown(seen.value) is not None, seen


def test_patience_with_a_quick_target_is_short(session: NsqSession) -> None:
    session.prepare(Counter(ext_topic=3, fresh_ext_topic=2, broker=3))

    assert session.patience.push < 10
    assert session.patience.answer <= 5


def test_a_message_comes_as_sent(session: NsqSession, broker: Broker) -> None:
    shared, body = topic(session, "ext_topic"), broker.unique_body()
    with broker.subscribe(shared) as consumer:
        answer = broker.publish(shared, body, HEADER)
        delivery = consumer.next(body)

    assert observe(answer).value == "ok"
    assert observe_delivery(delivery, body=body, header=HEADER).value == "delivered:as-sent"


def test_a_trace_response_is_right(session: NsqSession, broker: Broker) -> None:
    shared = topic(session, "ext_topic")
    header = {TRACE_ID: "123456789"}
    answer = broker.publish(shared, broker.unique_body(), header)

    assert observe(answer, trace_id=123456789).value == "trace"


def test_a_refused_message_is_absent_before_the_sentinel(
    session: NsqSession, broker: Broker
) -> None:
    shared = topic(session, "ext_topic")
    refused, sentinel = broker.unique_body(), broker.unique_body()
    with broker.subscribe(shared) as consumer, broker.connect() as client:
        answer = client.ask(frames.pub_ext(shared, b"{", refused))
        state = client.goes_on(shared)
        broker.publish_accepted(shared, sentinel, HEADER)
        before = consumer.until(sentinel)

    assert observe(answer, then=state).value == "error:E_INVALID_JSON_HEADER,open"
    assert observe_absence(before, of=refused).value == "absent"


def test_ordered_deliveries_are_read_with_their_offset(
    session: NsqSession, broker: Broker
) -> None:
    ordered, body = topic(session, "fresh_ordered_ext_topic"), broker.unique_body()
    with broker.subscribe(ordered, command="SUB_ORDERED") as consumer:
        broker.publish_accepted(ordered, body, HEADER)
        delivery = consumer.next(body)

    assert delivery is not None
    assert delivery.message is not None
    assert delivery.message.disk_queue_offset == 0
    assert delivery.header == frames.header_bytes(HEADER)


def test_an_upgraded_topic_takes_headers(session: NsqSession, broker: Broker) -> None:
    plain, body = topic(session, "upgradable_topic"), broker.unique_body()
    upgraded = broker.upgrade(plain)
    with broker.subscribe(upgraded.topic) as consumer:
        broker.publish_accepted(upgraded.topic, body, HEADER)
        delivery = consumer.next(body)

    assert upgraded.answer.status == 200
    assert observe_delivery(delivery, body=body, header=HEADER).value == "delivered:as-sent"


def test_what_is_stored_is_found(session: NsqSession, broker: Broker) -> None:
    fresh, body = topic(session, "fresh_ext_topic"), broker.unique_body()
    broker.publish_accepted(fresh, body, HEADER)
    queue = DataDirectory(broker).wait_for(fresh, body)

    assert observe_stored(queue, body=body, header=HEADER).value == "stored:as-sent"


def test_http_publishes(session: NsqSession, broker: Broker) -> None:
    shared = topic(session, "ext_topic")
    query = {"topic": shared.name, "partition": shared.partition, "ext": '{"k":"v"}'}
    answer = broker.http.request("POST", "/pub_ext", query=query, body=broker.unique_body())

    assert observe_http(answer).value == "http:200,ok"
