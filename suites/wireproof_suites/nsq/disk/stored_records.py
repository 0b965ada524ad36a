"""Comparison of the records in the queue of a topic with the published messages."""

from collections.abc import Sequence

from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.delivery import Delivery
from wireproof_kit.nsq.observe.disk import DataDirectory, Queue, StoredRecord, observe_stored
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Answer
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.runner.patience import REDELIVERY
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.disk import RecordKind, disk_record_schema
from wireproof_spec.wire_error import WireError
from wireproof_suites.nsq.steps.deliveries import VERSION_ALONE, VERSION_AND_LENGTH, Sent
from wireproof_suites.nsq.steps.trace_responses import read_trace, unread

AS_SENT = "stored:as-sent"
OLD_LAYOUT = "old-layout"
DEPLOYED_INDICATOR = 0xA
LEGAL_WITHOUT_HEADER = (VERSION_ALONE, VERSION_AND_LENGTH, OLD_LAYOUT)
FIELDS = ("timestamp_ns", "internal_id", "trace_id")


def publish_and_read(
    broker: Broker, topic: Topic, messages: Sequence[Sent], *, kind: RecordKind = "from-record"
) -> Queue:
    """Publish messages, wait until the last one is in the queue on disk, and read the queue."""
    for header, body in messages:
        broker.publish_accepted(topic, body, header)
    return wait_for(broker, topic, messages[-1][1], kind=kind)


def wait_for(
    broker: Broker, topic: Topic, body: bytes, *, kind: RecordKind = "from-record"
) -> Queue:
    """Wait until a body is in the topic's queue on disk, and read the queue.

    The length after version 0 is read as part of the body: the layout of a record without a header
    is open, and an assumed layout would shift every record after it.
    """
    stored = DataDirectory(broker, kind=kind, length_always=False)
    return stored.wait_for(topic, body, REDELIVERY)


def all_stored(queue: Queue, messages: Sequence[Sent], *, extend: bool) -> Observation:
    """Compare each message with its record: ``stored:as-sent``, or the first that is not.

    On an ext topic any legal layout of a message without a header is as sent.
    """
    for header, body in messages:
        seen = observe_stored(queue, body=body, header=header)
        without = header is None and extend
        if seen.value != AS_SENT and not (without and _has_legal_layout(queue, body)):
            return seen
    return observed(AS_SENT, note=f"{len({stored.file for stored in queue.records})} files")


def record_of(queue: Queue, body: bytes) -> StoredRecord | None:
    """Return the record on disk that ends with a body, decoded correctly or not."""
    return next((stored for stored in queue.records if stored.raw.endswith(body)), None)


def indicator_of(queue: Queue, body: bytes) -> Observation:
    """Return the ext indicator of a record on disk: ``indicator:a``, ``:other``, ``:zero``."""
    stored = record_of(queue, body)
    if stored is None:
        return observe_stored(queue, body=body)
    indicator = stored.record.indicator
    words = {0: "zero", DEPLOYED_INDICATOR: "a"}
    return observed(f"indicator:{words.get(indicator, 'other')}", note=f"{indicator:#x}")


def layout_of(queue: Queue, body: bytes) -> Observation:
    """Return the layout in which a message without a header is stored on an ext topic."""
    stored = record_of(queue, body)
    if stored is None:
        return observe_stored(queue, body=body)
    if stored.record.indicator == 0:
        is_old = stored.record.message.body == body
        return observed(OLD_LAYOUT if is_old else "other")
    words = {False: VERSION_ALONE, True: VERSION_AND_LENGTH}
    found = [words[always] for always in words if _reads(stored, body, length_always=always)]
    return observed(found[0] if found else "other")


def same_as_delivered(queue: Queue, body: bytes, delivery: Delivery | None) -> Observation:
    """Compare time and ids of a record with those of the message as it was delivered."""
    stored = queue.find(body)
    if stored is None:
        return observe_stored(queue, body=body)
    if delivery is None or delivery.message is None:
        return observed("not-delivered")
    for field in FIELDS:
        due = getattr(delivery.message, field)
        found = getattr(stored.record.message, field)
        if due != found:
            difference = Difference(field, None, str(due), str(found))
            return observed(f"stored:{field}-differs", difference=difference)
    return observed("stored:as-delivered")


def positions_true(
    queue: Queue, bodies: Sequence[bytes], answers: Sequence[Answer]
) -> Observation:
    """Compare offset and size in two trace answers with the records: ``true``, or what differs."""
    traces = [trace for trace in map(read_trace, answers) if trace]
    records = [stored for stored in map(queue.find, bodies) if stored]
    if len(traces) + len(records) < 4:
        return unread(answers, observed("missing", overdue=True))
    for trace, stored in zip(traces, records, strict=True):
        size = trace.disk_queue_data_size
        if size != len(stored.raw):
            name = "disk_queue_data_size"
            difference = Difference(name, 26, str(len(stored.raw)), str(size))
            return observed("size-differs", difference=difference)
    answered = traces[1].disk_queue_offset - traces[0].disk_queue_offset
    found = len(records[0].raw)
    if answered != found:
        difference = Difference("disk_queue_offset", 18, str(found), str(answered))
        return observed("offset-differs", difference=difference)
    return observed("true")


def _has_legal_layout(queue: Queue, body: bytes) -> bool:
    return layout_of(queue, body).value in LEGAL_WITHOUT_HEADER


def _reads(stored: StoredRecord, body: bytes, *, length_always: bool) -> bool:
    schema = disk_record_schema("from-record", length_always=length_always)
    try:
        message = decode(schema, stored.raw).message
    except WireError:
        return False
    return message.body == body and not (message.extend and message.extend.data)
