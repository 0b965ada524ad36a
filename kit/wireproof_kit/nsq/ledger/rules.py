"""The rules of content of NSQ: pure functions of a delivery and a publish that may explain it.

Each yields what it shows of a clause. A rule allows what the cases of its clause, the readings
and the notes allow.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from wireproof_kit.ledger.entries import Digest, Entry
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.ledger.times import name_unit
from wireproof_kit.nsq.ledger.deliveries import Delivery, due_layouts
from wireproof_kit.nsq.ledger.publishes import Content, HeaderLaw, has_escapes
from wireproof_kit.nsq.observe.delivery import WRONG_LENGTH, find_wrong_length, note_excess
from wireproof_kit.nsq.observe.observations import find_difference, is_respelled
from wireproof_kit.observation import Difference
from wireproof_spec.nsq import names
from wireproof_spec.wire_error import WireError

_HEADER_CLAUSES: Final = {
    HeaderLaw.NONE: "ext.consume.header-intact",
    HeaderLaw.KEPT: "ext.consume.header-intact",
    HeaderLaw.STORED: "ext.http.header-stored",
    HeaderLaw.MERGED: "ext.http.x-nsqext",
}

Rule = Callable[[Delivery, Entry[Content]], Iterator[Finding]]


def judge_body(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether a message came in the layout of its subscription, with its body."""
    clause = _layout_clause(delivery)
    layout, by = delivery.layout, delivery.by
    # What other commands bring is not said, nor what SUB_ORDER brings of a topic without order.
    is_wrong = layout.ordered != by.is_ordered and (by.is_ordered or by.command == "SUB")
    if is_wrong or delivery.altered or layout.extend != delivery.has_ext:
        wrong = _find_wrong_length(delivery, entry.content.body)
        if wrong is not None:
            difference = Difference(wrong.field, wrong.offset, wrong.expected, wrong.found)
            ext = "smart.order.ext-place" if by.is_ordered else "ext.consume.layout"
            yield Finding(ext, f"delivered:layout-{WRONG_LENGTH}", "", difference)
            return
    if is_wrong or layout.extend != delivery.has_ext:
        yield Finding(clause, f"delivered:layout-{layout.name}")
        return
    if not delivery.altered:
        yield Finding(clause)
        if layout.extend:
            yield Finding("ext.consume.body-intact")
        return
    body = entry.content.body
    whole = delivery.message.body
    difference = find_difference("body", expected=body.head, found=whole[: len(body.head)])
    if difference.expected == difference.found:
        difference = Difference("body", len(whole), f"{body.length} bytes", f"{len(whole)} bytes")
    intact = "ext.consume.body-intact" if layout.extend else clause
    note = note_excess(body.length, len(whole)) if whole.startswith(body.head) else ""
    yield Finding(intact, "delivered:body-changed", note, difference)


def judge_header(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether a message came with the header that was published, or without one."""
    content, extend = entry.content, delivery.message.extend
    if not delivery.layout.extend or delivery.altered or content.header_law is HeaderLaw.FREE:
        return
    clause = _HEADER_CLAUSES[content.header_law]
    found = (extend.data if extend else None) or None
    sent = content.header
    if (
        found == (sent or None)
        or is_respelled(sent, found)
        or (found is None and is_respelled(sent, b"{}"))
    ):
        yield Finding(clause)
        return
    if sent is None:
        yield Finding("ext.publish.pub-on-ext-topic", "delivered:header-changed")
        return
    difference = find_difference("json_header", expected=sent, found=found or b"")
    word = "no-header" if found is None else "header-changed"
    if has_escapes(sent) and content.header_law is HeaderLaw.STORED:
        clause = "ext.http.value-exact"
    yield Finding(clause, f"delivered:{word}", difference=difference)


def judge_ids(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge the id: the trace id of the publish, the internal id of its answer."""
    content, message = entry.content, delivery.message
    if content.trace_id is not None:
        if message.trace_id == content.trace_id:
            yield Finding("smart.message-id.halves")
        else:
            difference = Difference("trace_id", 18, str(content.trace_id), str(message.trace_id))
            yield Finding("smart.message-id.halves", "other-trace-id", difference=difference)
    answer = content.answer
    if answer is None:
        return
    clause = "smart.trace.internal-id" if content.header is None else "ext.publish.trace-response"
    if message.internal_id == answer.internal_id:
        yield Finding(clause)
    else:
        difference = Difference(
            "internal_id", 10, str(answer.internal_id), str(message.internal_id)
        )
        yield Finding(clause, "other-internal-id", difference=difference)


def judge_position(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge offset and size of an ordered message by the answer to its publish."""
    answer, message = entry.content.answer, delivery.message
    if answer is None or not delivery.layout.ordered or not delivery.by.is_ordered:
        return
    due = (answer.disk_queue_offset, answer.disk_queue_data_size)
    found = (message.disk_queue_offset, message.disk_queue_data_size)
    if due == found:
        yield Finding("smart.order.position")
    else:
        difference = Difference("disk_queue_offset", 26, str(due), str(found))
        yield Finding("smart.order.position", "other-position", difference=difference)


def judge_timestamp(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether the timestamp counts nanoseconds since 1970."""
    unit = name_unit(delivery.message.timestamp_ns)
    if unit == "nanoseconds":
        yield Finding(_layout_clause(delivery))
    else:
        found = str(delivery.message.timestamp_ns)
        difference = Difference("timestamp_ns", 0, "nanoseconds since 1970", found)
        yield Finding(_layout_clause(delivery), f"timestamp:{unit}", difference=difference)


def judge_partition(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether a message came from the topic and partition of its publish."""
    content, by = entry.content, delivery.by
    if content.topic != by.topic:
        yield Finding("smart.partition.own-messages", "foreign", f"from topic {content.topic}")
    elif content.partition is None or by.partition is None:
        return
    elif content.partition == by.partition:
        yield Finding("smart.partition.own-messages")
    else:
        difference = Difference("partition", None, str(by.partition), str(content.partition))
        yield Finding("smart.partition.own-messages", "foreign", difference=difference)


def judge_version(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether a message with a header has an ext version other than 0."""
    extend = delivery.message.extend
    if extend is None or not extend.data or delivery.altered:
        return
    word = "version:0" if extend.version == names.EXT_VERSION_NONE else ""
    yield Finding("ext.consume.version", word)


RULES: Sequence[Rule] = (
    judge_body,
    judge_header,
    judge_ids,
    judge_position,
    judge_timestamp,
    judge_partition,
    judge_version,
)


def _find_wrong_length(delivery: Delivery, body: Digest) -> WireError | None:
    """Return what is wrong with the ext length, if the whole body comes behind the ext data."""
    data = delivery.event.data
    if not delivery.may_have_ext or Digest.of(data[len(data) - body.length :]) != body:
        return None
    owed = (layout for layout in due_layouts(delivery.by) if layout.extend)
    return find_wrong_length(next(owed), data, body.length)


def _layout_clause(delivery: Delivery) -> str:
    if delivery.by.is_ordered:
        return "smart.order.ext-place" if delivery.has_ext else "smart.order.layout"
    return "ext.consume.layout" if delivery.has_ext else "ext.consume.plain-topic"
