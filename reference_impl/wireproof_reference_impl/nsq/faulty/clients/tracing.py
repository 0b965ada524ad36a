"""Faults of tracing: PUB_TRACE, its answer, the switch, and the logs of both sides."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import answers, commands
from wireproof_reference_impl.nsq.client.core import producer as producers
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import NodeConnection
from wireproof_reference_impl.nsq.client.core.effects import Receipt
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
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


@wrong_value("client-send.trace", _traced_body)
def trace_id_little_endian(data: bytes) -> bytes:
    """The trace id of PUB_TRACE is little-endian."""
    return data[::-1]


@boundary("client-send.trace", _traced_body)
def trace_id_63_bits(data: bytes) -> bytes:
    """The highest bit of the trace id is lost."""
    return bytes([data[0] & 0x7F]) + data[1:]


@missing("client.trace-publish", _traced_line)
def trace_partition_unnamed(topic: str, partition: int | None) -> tuple[str, int | None]:
    """PUB_TRACE names no partition."""
    return (topic, None)


@wrong_value("client.trace-publish", _traced_line)
def trace_topic_capital(topic: str, partition: int | None) -> tuple[str, int | None]:
    """PUB_TRACE names the topic in capital letters."""
    return (topic.upper(), partition)


@wrong_value("client-trace.receipt", _receipt)
def receipt_ids_swapped(read: Receipt) -> Receipt:
    """The user is told internal id and trace id of a publish the wrong way round."""
    return replace(read, internal_id=read.trace_id, trace_id=read.internal_id)


@boundary("client-trace.receipt", _receipt)
def receipt_offset_63_bits(read: Receipt) -> Receipt:
    """The highest bit of the offset of a publish is lost."""
    return replace(read, disk_queue_offset=(read.disk_queue_offset or 0) & (2**63 - 1))


@missing("client-trace.bare-ok", around(answers, "read_answer"))
def bare_ok_accepted(
    original: Original, publish: Publish, partition: int | None, data: bytes
) -> object:
    """A bare OK to PUB_TRACE is taken for success."""
    if data == names.OK:
        return Receipt(partition)
    return original(publish, partition, data)


@extra("client-trace.bare-ok", around(Lane, "_judge"))
def bare_ok_repeated(original: Original, self: Lane, job: Job, event: object) -> None:
    """After a bare OK to PUB_TRACE the message is published again with PUB."""
    if job.message.trace_id is not None and getattr(event, "data", b"") == names.OK:
        job.message = replace(job.message, trace_id=None)
        self._producer.dispatch(job)
    else:
        original(self, job, event)


@missing("client.trace-switch")
def trace_stays_on() -> Change:
    """A producer that has traced one message traces all."""
    return _sticky(on=True)


@condition("client.trace-switch")
def trace_stays_off() -> Change:
    """A producer traces its first message only."""
    return _sticky(on=False)


@missing("client-trace.ordered")
def ordered_untraced() -> Change:
    """A message with a sharding id is not traced."""
    return _untraced_by_key(2**64)


@boundary("client-trace.ordered")
def ordered_untraced_below_ten() -> Change:
    """A message with a sharding id is not traced if its trace id is below ten."""
    return _untraced_by_key(10)


@extra("client-trace.no-command")
def sub_advanced_traced() -> Change:
    """A consumer that traces subscribes with SUB_ADVANCED."""
    return _advanced(traced_only=True)


@extra("client-trace.no-command")
def sub_advanced() -> Change:
    """A consumer subscribes with SUB_ADVANCED."""
    return _advanced(traced_only=False)


@missing("client.trace-log", around(producers, "tell_published"))
def published_unlogged(*_: object) -> object:
    """A producer logs nothing of traced messages."""
    return "published"


@missing("client.trace-log")
def published_offset_unlogged() -> Change:
    """A producer does not log the offset of a traced message."""
    return around(producers, "tell_published", _without("disk_queue_offset"))


@missing("client.trace-log-consumer client-trace.log-id", around(subscriptions, "tell_consumed"))
def consumed_unlogged(*_: object, **__: object) -> object:
    """A consumer logs nothing while it traces."""
    return "consumed"


@missing("client.trace-log-consumer")
def consumed_id_unlogged() -> Change:
    """A consumer does not log the internal id while it traces."""
    return around(subscriptions, "tell_consumed", _without("internal_id"))


@missing("client.trace-log-consumer")
def consumed_timestamp_unlogged() -> Change:
    """A consumer does not log the timestamp while it traces."""
    return around(subscriptions, "tell_consumed", _without("timestamp"))


@missing("client.trace-log-consumer")
def consumed_addresses_unlogged() -> Change:
    """A consumer does not log the IP addresses while it traces."""
    return around(subscriptions, "tell_consumed", _without("consumer_ip", "nsqd_ip"))


@missing("client.trace-log-consumer")
def consumed_offset_unlogged() -> Change:
    """A consumer does not log the disk queue offset while it traces."""
    return around(subscriptions, "tell_consumed", _without("disk_queue_offset"))


@missing("client.trace-log-consumer")
def consumed_size_unlogged() -> Change:
    """A consumer does not log the disk queue data size while it traces."""
    return around(subscriptions, "tell_consumed", _without("disk_queue_data_size"))


@missing("client-trace.log-id")
def consumed_trace_id_unlogged() -> Change:
    """A consumer does not log the trace id while it traces."""
    return around(subscriptions, "tell_consumed", _without("trace_id"))


FAULTS = list_faults(__name__)
