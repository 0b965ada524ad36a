"""Probes of what a target delivers and stores. Each docstring lists the words it can return.

Each can also return ``missing``, when a message that was owed did not come.
"""

import time

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.consumer import Consumer
from wireproof_kit.nsq.observe.delivery import AS_DUE, BARE, OFFSET_FIRST
from wireproof_kit.nsq.observe.disk import DataDirectory, Queue
from wireproof_kit.nsq.probes.context import ProbeContext
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_spec.nsq import names
from wireproof_spec.wire_error import WireError

HEADER = {"k": "v"}
TAG = "wp_probe"
HELD_BACK_SECONDS = 0.5
MISSING = observed("missing", overdue=True)


def no_ext_layout(bench: ProbeContext) -> Observation:
    """Find out which bytes are between the id and the body of a PUB message on an ext topic.

    Return ``version-alone``, ``version-and-length``, ``no-ext-part`` or ``other``.
    """
    topic = bench.topic("ext_topic")
    body = bench.broker.unique_body()
    with bench.broker.subscribe(topic) as consumer:
        bench.broker.publish_accepted(topic, body)
        delivery = consumer.next(body)
    if delivery is None:
        return MISSING
    forms = {b"\0": "version-alone", b"\0\0\0": "version-and-length", b"": "no-ext-part"}
    return observed(forms.get(_before_body(delivery.raw, body), "other"))


def ext_version(bench: ProbeContext) -> Observation:
    """Consume a message with a header: ``version:4``, ``version:0`` or ``version:other``."""
    topic = bench.topic("ext_topic")
    body = bench.broker.unique_body()
    with bench.broker.subscribe(topic) as consumer:
        bench.broker.publish_accepted(topic, body, HEADER)
        delivery = consumer.next(body)
    if delivery is None:
        return MISSING
    extend = delivery.message.extend if delivery.message else None
    version = extend.version if extend else 0
    known = (0, names.EXT_VERSION_JSON)
    return observed(f"version:{version if version in known else 'other'}", note=str(version))


def order_ext_place(bench: ProbeContext) -> Observation:
    """Consume in order from an ext topic: ``ext-then-offset``, ``offset-then-ext``, ``other``."""
    topic = bench.topic("fresh_ordered_ext_topic", "ext_topic")
    body = bench.broker.unique_body()
    with bench.broker.subscribe(topic, command="SUB_ORDERED") as consumer:
        bench.broker.publish_accepted(topic, body, HEADER)
        delivery = consumer.next(body)
    if delivery is None:
        return MISSING
    if delivery.layout == AS_DUE and delivery.body == body:
        return observed("ext-then-offset")
    return observed("offset-then-ext" if delivery.layout.endswith(OFFSET_FIRST) else "other")


def order_rdy(bench: ProbeContext) -> Observation:
    """Subscribe in order without RDY: ``delivered-without-rdy`` or ``delivered-after-rdy``.

    A second channel, with RDY, shows by when a message would have arrived.
    """
    topic = bench.topic("fresh_ordered_topic", "plain_topic")
    broker = bench.broker
    with (
        broker.subscribe(topic, command="SUB_ORDERED") as control,
        broker.subscribe(topic, command="SUB_ORDERED", ready=0) as consumer,
    ):
        word = _held_back(broker, topic, control=control, held=consumer)
        if word is not None:
            return observed("delivered-without-rdy") if word else MISSING
        consumer.ready(1)
        came = consumer.next()
    return observed("delivered-after-rdy") if came else MISSING


def dispatch_fallback(bench: ProbeContext) -> Observation:
    """Publish a tagged message while the only client with its tag has its RDY count in flight.

    ``falls-back``: a client without a tag gets the message. ``waits``: the tagged client gets it
    after finishing another message. That client holds a message from the start, since brokers may
    answer SUB before they know the tag.
    """
    topic = bench.topic("fresh_ext_topic")
    broker, channel = bench.broker, topic.channel()
    with (
        broker.subscribe(topic) as control,
        broker.subscribe(topic, channel=channel, identify=_make_identity()) as tagged,
    ):
        first = broker.unique_body()
        broker.publish_accepted(topic, first, {names.CLIENT_DISPATCH_TAG: TAG})
        in_flight = tagged.take(first)
        if in_flight is None or control.next(first) is None:
            return MISSING
        with broker.subscribe(topic, channel=channel) as untagged:
            word = _held_back(broker, topic, control=control, held=untagged, tag=TAG)
            if word is not None:
                return observed("falls-back") if word else MISSING
            tagged.finish(in_flight)
            came = tagged.next()
    return observed("waits") if came else MISSING


def dispatch_tagged_gets_other(bench: ProbeContext) -> Observation:
    """Publish an untagged message while only a tagged client is subscribed.

    ``idle``: the tagged client gets the message. ``never``: the message waits for a client without
    a tag.
    """
    topic = bench.topic("other_fresh_ext_topic")
    broker, channel = bench.broker, topic.channel()
    with (
        broker.subscribe(topic) as control,
        broker.subscribe(topic, channel=channel, identify=_make_identity()) as tagged,
    ):
        word = _held_back(broker, topic, control=control, held=tagged)
        if word is not None:
            return observed("idle") if word else MISSING
        with broker.subscribe(topic, channel=channel) as untagged:
            came = untagged.next()
    return observed("never") if came else MISSING


def disk_nibble(bench: ProbeContext) -> Observation:
    """Store a message with a header and one without: which record has high 4 bits.

    ``nibble:topic`` (both), ``nibble:message`` (with a header only), ``nibble:none`` (the one
    with a header has none).
    """
    topic = bench.topic("ext_topic")
    stored = DataDirectory(bench.broker)
    bare, extended = bench.broker.unique_body(), bench.broker.unique_body()
    bench.broker.publish_accepted(topic, bare)
    bench.broker.publish_accepted(topic, extended, HEADER)
    queue = stored.wait_for(topic, extended)
    without, with_header = _indicator(queue, bare), _indicator(queue, extended)
    if without is None or with_header is None:
        return MISSING
    if not with_header:
        return observed("nibble:none")
    return observed("nibble:topic" if without else "nibble:message")


def _held_back(
    broker: Broker, topic: Topic, *, control: Consumer, held: Consumer, tag: str | None = None
) -> bool | None:
    """Publish; tell whether ``held`` gets it although it should perhaps not.

    None: it had not come long after the control consumer on another channel had its copy.
    False: not even the control consumer got it.
    """
    body = broker.unique_body()
    header = {names.CLIENT_DISPATCH_TAG: tag} if tag else None
    started = time.monotonic()
    broker.publish_accepted(topic, body, header)
    if control.next(body) is None:
        return False
    took = time.monotonic() - started
    came = held.next(body, seconds=max(HELD_BACK_SECONDS, 10 * took))
    return True if came else None


def _make_identity() -> dict[str, object]:
    return {names.DESIRED_TAG: TAG}


def _before_body(raw: bytes, body: bytes) -> bytes:
    """Return the bytes between message id and body; if the body is missing, all bytes."""
    try:
        return BARE.read(raw).body.removesuffix(body)
    except WireError:
        return raw


def _indicator(queue: Queue, body: bytes) -> int | None:
    record = queue.find_record(body)
    return record.record.indicator if record else None
