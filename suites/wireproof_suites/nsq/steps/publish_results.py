"""Steps that many cases of publishing share."""

from dataclasses import replace

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.frames import Header
from wireproof_kit.observation import Observation, observed


def publish_and_receive(
    broker: Broker, topic: Topic, header: Header, *, content: bytes = b""
) -> Observation:
    """Publish a message; return the refusal, or how the message was delivered."""
    body = broker.unique_body() + content
    with broker.subscribe(topic) as consumer:
        answer = observe(broker.publish(topic, body, header))
        if not is_success(answer):
            return answer
        return observe_delivery(consumer.next(), body=body, header=header)


def observe_left_out(
    delivery: Delivery | None, *, body: bytes, kept: dict[str, str], reserved: dict[str, str]
) -> Observation:
    """Observe a delivery: ``as-sent`` with the reserved header names, ``header-changed`` without.

    A header that is corrupted instead must not look as if the target had left the names out.
    """
    seen = observe_delivery(delivery, body=body, header={**kept, **reserved})
    if observe_delivery(delivery, body=body, header=kept).value == "delivered:as-sent":
        return replace(seen, value="delivered:header-changed")
    is_changed = seen.value in ("delivered:header-changed", "delivered:no-header")
    return replace(seen, value="delivered:header-corrupted") if is_changed else seen


def then_received(
    answer: Observation, consumer: Consumer, *, body: bytes, header: Header | None = None
) -> Observation:
    """Add to a publish's answer how its message was delivered, unless the publish was refused."""
    if not is_success(answer):
        return answer
    return followed_by(answer, observe_delivery(consumer.next(body), body=body, header=header))


def observe_traced(answer: Answer, trace_id: int) -> Observation:
    """Return ``traced`` for an answer with this trace id, in any layout.

    A case can tell thereby which frame an answer belongs to. Other cases judge the layout.
    """
    seen = observe(answer, trace_id=trace_id)
    is_traced = seen.value.startswith("trace") and seen.value != "trace:id-differs"
    return replace(seen, value="traced") if is_traced else seen


def is_success(answer: Observation) -> bool:
    """Return True if a publish was acknowledged, with or without a trace."""
    return answer.value.partition(",")[0].partition(":")[0] in ("ok", "trace")


def followed_by(first: Observation, second: Observation) -> Observation:
    """Return one observation made of two, joined with a comma."""
    return replace(
        first.then(second.value),
        overdue=first.overdue or second.overdue,
        difference=first.difference or second.difference,
        evidence=(*first.evidence, *second.evidence),
    )


def then_goes_on(first: Observation, client: Connection, topic: Topic) -> Observation:
    """Add to an observation whether the connection can still be used."""
    state = client.goes_on(topic)
    return followed_by(first, observed(state, overdue=state == "stuck"))


def then_others(first: Observation, topic: Topic, *others: Connection) -> Observation:
    """Add whether other connections can still be used: ``others-open``, or what the first met."""
    states = [other.goes_on(topic) for other in others]
    worst = next((state for state in states if state != "open"), "open")
    return followed_by(first, observed(f"others-{worst}", overdue=worst == "stuck"))
