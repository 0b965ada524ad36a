"""Faults of tracing: PUB_TRACE, its answer, the switch, and the logs of both sides."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.nsq.client.core import answers, commands
from wireproof_reference_impl.nsq.client.core import producer as producers
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import NodeConnection
from wireproof_reference_impl.nsq.client.core.effects import Receipt
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override
from wireproof_spec.nsq import names


def _traced_body(change: Callable[[bytes], bytes]) -> Override:
    """Change the trace id of PUB_TRACE."""

    def call(original: Original, publish: Publish) -> object:
        body = original(publish)
        assert isinstance(body, bytes)
        if publish.trace_id is None or publish.has_header:
            return body
        return body[:4] + change(body[4:12]) + body[12:]

    return around(commands, "publish_body", call)


def _traced_line(change: Callable[[str, int | None], tuple[str, int | None]]) -> Override:
    def call(
        original: Original,
        self: NodeConnection,
        topic: str,
        partition: int | None,
        publish: Publish,
    ) -> object:
        if publish.trace_id is not None and not publish.has_header:
            topic, partition = change(topic, partition)
        return original(self, topic, partition, publish)

    return around(NodeConnection, "publish", call)


def _receipt(change: Callable[[Receipt], Receipt]) -> Override:
    def call(original: Original, *args: object) -> object:
        read = original(*args)
        traced = isinstance(read, Receipt) and read.internal_id is not None
        return change(read) if isinstance(read, Receipt) and traced else read

    return around(answers, "read_answer", call)


def _swap_ids(read: Receipt) -> Receipt:
    return replace(read, internal_id=read.trace_id, trace_id=read.internal_id)


def _low_offset(read: Receipt) -> Receipt:
    return replace(read, disk_queue_offset=(read.disk_queue_offset or 0) & (2**63 - 1))


def _accept_ok(original: Original, publish: Publish, partition: int | None, data: bytes) -> object:
    if data == names.OK:
        return Receipt(partition)
    return original(publish, partition, data)


def _repeat_untraced(original: Original, self: Lane, job: Job, event: object) -> None:
    """Publish a traced message again, without a trace, when its answer is a bare OK."""
    if job.message.trace_id is not None and getattr(event, "data", b"") == names.OK:
        job.message = replace(job.message, trace_id=None)
        self._producer.dispatch(job)
    else:
        original(self, job, event)


def _sticky(*, on: bool) -> Override:
    """Trace all messages of a producer as the first one: on, or never again after it."""

    def call(original: Original, self: Producer, ticket: int, publish: Publish) -> None:
        known = vars(self)
        if on:
            known.setdefault("traced", publish.trace_id)
            publish = replace(publish, trace_id=publish.trace_id or known["traced"])
        elif known.get("began"):
            publish = replace(publish, trace_id=None)
        known["began"] = known.get("began") or publish.trace_id is not None
        original(self, ticket, publish)

    return around(Producer, "publish", call)


def _untraced_by_key(below: int) -> Override:
    def call(original: Original, self: Producer, ticket: int, publish: Publish) -> None:
        if publish.key is not None and publish.trace_id is not None and publish.trace_id < below:
            publish = replace(publish, trace_id=None)
        original(self, ticket, publish)

    return around(Producer, "publish", call)


def _advanced(*, traced_only: bool) -> tuple[Override, ...]:
    """Subscribe with SUB_ADVANCED; messages have a place in the queue then."""

    def send(original: Original, self: NodeConnection, *args: object, **named: object) -> object:
        line = original(self, *args, **named)
        assert isinstance(line, bytes)
        is_sub = line.startswith(b"SUB ") and (not traced_only or traces.get("on"))
        return b"SUB_ADVANCED" + line[3:] if is_sub else line

    def ready(original: Original, self: Subscription) -> None:
        traces["on"] = self.wants.trace
        original(self)

    def read(original: Original, data: bytes, *, extend: bool, ordered: bool) -> object:
        return original(data, extend=extend, ordered=ordered or not traced_only or traces["on"])

    traces: dict[str, bool] = {}
    return (
        around(Subscription, "handle_ready", ready),
        around(NodeConnection, "subscribe", send),
        around(subscriptions, "read_message", read),
    )


def _without(*names: str) -> Callable[..., str]:
    def call(original: Original, *args: object, **named: object) -> str:
        line = str(original(*args, **named))
        return " ".join(each for each in line.split(" ") if each.partition("=")[0] not in names)

    return call


FAULTS = (
    wrong_value(
        "trace-id-little-endian",
        "The trace id of PUB_TRACE is little-endian.",
        "client-send.trace",
        _traced_body(lambda data: data[::-1]),
        may="client-trace.receipt",
    ),
    boundary(
        "trace-id-63-bits",
        "The highest bit of the trace id is lost.",
        "client-send.trace",
        _traced_body(lambda data: bytes([data[0] & 0x7F]) + data[1:]),
    ),
    missing(
        "trace-partition-unnamed",
        "PUB_TRACE names no partition.",
        "client.trace-publish",
        _traced_line(lambda topic, partition: (topic, None)),
    ),
    wrong_value(
        "trace-topic-capital",
        "PUB_TRACE names the topic in capital letters.",
        "client.trace-publish",
        _traced_line(lambda topic, partition: (topic.upper(), partition)),
    ),
    wrong_value(
        "receipt-ids-swapped",
        "The user is told internal id and trace id of a publish the wrong way round.",
        "client-trace.receipt",
        _receipt(_swap_ids),
    ),
    boundary(
        "receipt-offset-63-bits",
        "The highest bit of the offset of a publish is lost.",
        "client-trace.receipt",
        _receipt(_low_offset),
        may="client.trace-log",
    ),
    missing(
        "bare-ok-accepted",
        "A bare OK to PUB_TRACE is taken for success.",
        "client-trace.bare-ok",
        around(answers, "read_answer", _accept_ok),
    ),
    extra(
        "bare-ok-repeated",
        "After a bare OK to PUB_TRACE the message is published again with PUB.",
        "client-trace.bare-ok",
        around(Lane, "_judge", _repeat_untraced),
    ),
    missing(
        "trace-stays-on",
        "A producer that has traced one message traces all.",
        "client.trace-switch",
        _sticky(on=True),
    ),
    condition(
        "trace-stays-off",
        "A producer traces its first message only.",
        "client.trace-switch",
        _sticky(on=False),
        may="client.trace-log",
    ),
    missing(
        "ordered-untraced",
        "A message with a sharding id is not traced.",
        "client-trace.ordered",
        _untraced_by_key(2**64),
    ),
    boundary(
        "ordered-untraced-below-ten",
        "A message with a sharding id is not traced if its trace id is below ten.",
        "client-trace.ordered",
        _untraced_by_key(10),
    ),
    extra(
        "sub-advanced-traced",
        "A consumer that traces subscribes with SUB_ADVANCED.",
        "client-trace.no-command",
        *_advanced(traced_only=True),
    ),
    extra(
        "sub-advanced",
        "A consumer subscribes with SUB_ADVANCED.",
        "client-trace.no-command",
        *_advanced(traced_only=False),
        may="ext.client-header.broken ext.client-header.no-loop client-send.subscribe",
    ),
    missing(
        "published-unlogged",
        "A producer logs nothing of traced messages.",
        "client.trace-log",
        around(producers, "tell_published", lambda *_: "published"),
    ),
    missing(
        "published-offset-unlogged",
        "A producer does not log the offset of a traced message.",
        "client.trace-log",
        around(producers, "tell_published", _without("disk_queue_offset")),
    ),
    missing(
        "consumed-unlogged",
        "A consumer logs nothing while it traces.",
        "client.trace-log-consumer client-trace.log-id",
        around(subscriptions, "tell_consumed", lambda *_, **__: "consumed"),
    ),
    missing(
        "consumed-id-unlogged",
        "A consumer does not log the internal id while it traces.",
        "client.trace-log-consumer",
        around(subscriptions, "tell_consumed", _without("internal_id")),
    ),
    missing(
        "consumed-timestamp-unlogged",
        "A consumer does not log the timestamp while it traces.",
        "client.trace-log-consumer",
        around(subscriptions, "tell_consumed", _without("timestamp")),
    ),
    missing(
        "consumed-addresses-unlogged",
        "A consumer does not log the IP addresses while it traces.",
        "client.trace-log-consumer",
        around(subscriptions, "tell_consumed", _without("consumer_ip", "nsqd_ip")),
    ),
    missing(
        "consumed-offset-unlogged",
        "A consumer does not log the disk queue offset while it traces.",
        "client.trace-log-consumer",
        around(subscriptions, "tell_consumed", _without("disk_queue_offset")),
    ),
    missing(
        "consumed-size-unlogged",
        "A consumer does not log the disk queue data size while it traces.",
        "client.trace-log-consumer",
        around(subscriptions, "tell_consumed", _without("disk_queue_data_size")),
    ),
    missing(
        "consumed-trace-id-unlogged",
        "A consumer does not log the trace id while it traces.",
        "client-trace.log-id",
        around(subscriptions, "tell_consumed", _without("trace_id")),
    ),
)
