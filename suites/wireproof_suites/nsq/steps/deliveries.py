"""Comparison of delivered messages with the published messages."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from wireproof_kit.ledger.times import name_unit
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import AS_DUE, Delivery
from wireproof_kit.nsq.observe.observations import observe, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer, Response
from wireproof_kit.nsq.wire.frames import Header
from wireproof_kit.observation import Difference, Observation, observed

Sent = tuple[Header | None, bytes]

AS_SENT = "delivered:as-sent"

# A message without a header has two legal layouts on an ext topic; both are as sent.
VERSION_ALONE, VERSION_AND_LENGTH = "version-alone", "version-and-length"
NO_EXT_LAYOUTS = {
    "plain-ext": VERSION_ALONE,
    "plain-ext-length-always": VERSION_AND_LENGTH,
    "ordered-ext": VERSION_ALONE,
    "ordered-ext-length-always": VERSION_AND_LENGTH,
}


def deliver(
    broker: Broker,
    topic: Topic,
    body: bytes,
    *,
    header: Header | None = None,
    exact: bool = False,
) -> Observation:
    """Publish one message; return the refusal, or how the message was delivered."""
    with broker.subscribe(topic) as consumer:
        answer = broker.publish(topic, body, header)
        if not isinstance(answer, Response):
            return observe(answer)
        return read_all(consumer, [(header, body)], exact=exact)


def deliver_all(broker: Broker, topic: Topic, messages: Sequence[Sent]) -> Observation:
    """Publish and read messages: ``delivered:as-sent``, or the first delivery that differs."""
    with broker.subscribe(topic) as consumer:
        for header, body in messages:
            broker.publish_accepted(topic, body, header)
        return read_all(consumer, messages)


def read_all(
    consumer: Consumer,
    messages: Sequence[Sent],
    *,
    owed: Collection[bytes] | None = None,
    exact: bool = False,
) -> Observation:
    """Read until every message has come, in any order; a message may come twice.

    With ``owed``, only the messages with these bodies must come; the other messages may come.
    """
    headers = {body: header for header, body in messages}
    left: list[bytes] = list(headers if owed is None else owed)
    while left:
        delivery = consumer.next()
        body = _body_meant(delivery, headers) or left[0]
        seen = observe_delivery(delivery, body=body, header=headers[body], exact=exact)
        without = headers[body] is None and consumer.topic.extend
        if seen.value != AS_SENT and not (without and _has_no_ext_layout(delivery)):
            return seen
        left = [other for other in left if other != body]
    return observed(AS_SENT)


def answered_and(answer: Answer, seen: Observation) -> Observation:
    """Return one observation: that of an answer, then another one, joined with a comma."""
    first = observe(answer)
    evidence = (*first.evidence, *seen.evidence)
    return replace(seen, value=f"{first.value},{seen.value}", evidence=evidence)


def no_ext_layout(delivery: Delivery | None) -> Observation:
    """Return the layout in which a message without a header came, or what came in its place."""
    if delivery is None:
        return observed("missing", overdue=True)
    return observed(_name_layout(delivery)).on(delivery)


def _name_layout(delivery: Delivery) -> str:
    if delivery.layout in NO_EXT_LAYOUTS:
        return NO_EXT_LAYOUTS[delivery.layout]
    extend = delivery.message.extend if delivery.message else None
    if delivery.layout != AS_DUE or extend is None:
        return "other"
    if extend.data is None:
        return VERSION_ALONE
    return "with-data" if extend.data else VERSION_AND_LENGTH


def ext_version(delivery: Delivery | None) -> Observation:
    """Return the ext version in a delivery: ``version:4``, ``version:other``, ``version:zero``."""
    if delivery is None:
        return observed("missing", overdue=True)
    extend = delivery.message.extend if delivery.message else None
    if extend is None:
        return observed("version:undecodable").on(delivery)
    word = {0: "zero", 4: "4"}.get(extend.version, "other")
    return observed(f"version:{word}", note=f"version {extend.version}").on(delivery)


def timestamp_unit(delivery: Delivery | None) -> Observation:
    """Return the unit in which a delivery's timestamp lies in this century: ``timestamp:UNIT``."""
    if delivery is None or delivery.message is None:
        return observe_delivery(delivery, body=b"")
    unit = name_unit(delivery.message.timestamp_ns)
    if unit == "nanoseconds":
        return observed(f"timestamp:{unit}").on(delivery)
    found = str(delivery.message.timestamp_ns)
    difference = Difference("timestamp_ns", 0, "nanoseconds since 1970", found)
    return observed(f"timestamp:{unit}", difference=difference).on(delivery)


def _has_no_ext_layout(delivery: Delivery | None) -> bool:
    return delivery is not None and delivery.layout in NO_EXT_LAYOUTS


def _body_meant(delivery: Delivery | None, bodies: Iterable[bytes]) -> bytes | None:
    if delivery is None:
        return None
    if delivery.body in bodies:
        return delivery.body
    return max((body for body in bodies if delivery.raw.endswith(body)), key=len, default=None)
