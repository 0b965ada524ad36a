"""The rules of content of OpenMessaging: pure functions of a delivery and an entry of it.

Each yields what it shows of a clause. A rule allows what the cases of its clause, the readings
and the notes allow. An attribute that the vendor does not claim is not judged.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from wireproof_kit.decoding.printable import clip
from wireproof_kit.ledger.entries import Entry
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Difference
from wireproof_kit.oms.adapter.messages import header_of
from wireproof_kit.oms.ledger.deliveries import Delivery
from wireproof_kit.oms.ledger.sends import Content, body_of
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document
from wireproof_spec.oms.extension_header import LATEST
from wireproof_spec.oms.names import Kind
from wireproof_spec.oms.rule_result import DESCRIBED, UNSET
from wireproof_spec.oms.rules import RULES as DOCUMENT_RULES
from wireproof_spec.strict_json import JsonValue

Rule = Callable[[Delivery, Entry[Content], frozenset[str]], Iterator[Finding]]
"""Yields what a delivery shows, given an entry that may explain it, and what is claimed."""

_UNCHANGED: Final = "oms.round-trip.unchanged"
_CLAUSES: Final = {
    names.CORRELATION_ID: "oms.round-trip.correlation-id",
    names.MESSAGE_KEY: "oms.round-trip.message-key",
    names.TRACE_ID: "oms.round-trip.trace-id",
    names.DELAY_TIME: _UNCHANGED,
    names.EXPIRE_TIME: _UNCHANGED,
    names.PRIORITY: _UNCHANGED,
}
"""The attributes that arrive as they were sent, with the clause that says so."""
_SET_BY_SERVER: Final = (names.STORE_TIMESTAMP, names.STORE_HOST)
_TOLERANCE_MS: Final = 50
_LARGE: Final = 1 << 8
"""From here on a partition number may have been reduced to fewer bits."""
_NOT_SHOWN: Final = {
    "oms.document.unique-name",
    "oms.document.known-name",
    "oms.extension-header.expiry",
}
"""Rules on documents that forbid nothing, or what a transcript of values does not show."""
_UNDECIDED: Final = {"unreadable", "empty-dictionary", "other-text"}


def judge_document(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge a delivered message by the rules on documents."""
    document = Document(b"", Kind.MESSAGE, dict(delivery.event.document))
    for clause, rule in DOCUMENT_RULES.items():
        result = None if clause in _NOT_SHOWN else rule(document)
        if result is None or result.state in _UNDECIDED:
            continue
        if result.state in (DESCRIBED, UNSET):
            yield Finding(clause)
            continue
        first = result.faults[0]
        difference = Difference(first.pointer or "document", None, first.expected, first.found)
        yield Finding(clause, result.state, difference=difference)


def judge_body(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge whether the body came as it was sent."""
    if not delivery.altered:
        yield Finding("oms.message.body-restored")
        return
    sent, found = entry.content.body, body_of(delivery.event.document) or b""
    difference = Difference("data", None, f"{sent.length} bytes", f"{len(found)} bytes")
    yield Finding("oms.message.body-restored", "changed", difference=difference)


def judge_message_id(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge whether the messageId is the provider's, and the one that the sender was told."""
    told, due = delivery.header.get(names.MESSAGE_ID), entry.content.answered_id
    word = "untold" if told is None else _judge_id(told, entry)
    word = word or ("other-id" if due and told != due else "")
    yield _compared("oms.message.message-id-assigned", word, names.MESSAGE_ID, due, told)


def judge_answered_id(entry: Entry[Content]) -> Iterator[Finding]:
    """Judge the messageId in the message that sending returned, if it has one."""
    header = header_of(entry.content.answer)
    if names.MESSAGE_ID in header:
        told = header[names.MESSAGE_ID]
        word, due = _judge_id(told, entry), "one of the provider's"
        yield _compared("oms.message.message-id-assigned", word, names.MESSAGE_ID, due, told)


def _judge_id(told: JsonValue, entry: Entry[Content]) -> str:
    """Return how a messageId is none that the provider assigned; nothing if it may be."""
    if not isinstance(told, str) or not told:
        return "empty"
    return "senders" if told == entry.content.header.get(names.MESSAGE_ID) else ""


def judge_header(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge the destination, and the qos of a message that was sent without one."""
    told, due = delivery.header.get(names.DESTINATION), delivery.event.destination
    word = "untold" if told is None else "" if told == due else "other"
    yield _compared("oms.message.destination-received", word, names.DESTINATION, due, told)
    if names.QOS in entry.content.header:
        return
    qos = delivery.header.get(names.QOS)
    word = "" if qos is None or qos == 0 else "other"
    yield _compared("oms.message.qos-default", word, names.QOS, 0, qos)


def judge_attributes(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge the attributes that arrive as they were sent."""
    sent, found = entry.content.attributes, delivery.attributes
    for name, clause in _CLAUSES.items():
        if name not in sent or name not in claims or not _is_kept(name, sent[name], delivery):
            continue
        if name not in found:
            yield _compared(clause, "dropped", name, sent[name], None)
        else:
            is_same = _is_same(found[name], sent[name]) or (
                name == names.DELAY_TIME and _is_same_due_time(delivery, sent[name])
            )
            word = "" if is_same else "changed"
            yield _compared(clause, word, name, sent[name], found[name])


def _is_same_due_time(delivery: Delivery, delay: JsonValue) -> bool:
    """Return True if bornTimestamp and delayTime tell the due time to which a delay leads.

    A system may keep the due time. Its delayTime is then the rest of it at the birth of the
    message, which may be later than the call: RocketMQ's driver tells 999 for 1000. A due time
    is not later than the greatest Long.
    """
    born, told = (
        delivery.header.get(names.BORN_TIMESTAMP),
        delivery.attributes.get(names.DELAY_TIME),
    )
    if not (isinstance(born, int) and isinstance(told, int) and isinstance(delay, int)):
        return False
    return abs(min(born + delay, LATEST) - (born + told)) <= _TOLERANCE_MS


def _is_kept(name: str, value: JsonValue, delivery: Delivery) -> bool:
    """Return True if the texts say that this value of an attribute arrives."""
    if not isinstance(value, int):
        return True
    if name == names.DELAY_TIME:
        # No text says that a message which comes again still has its delay, nor what becomes of
        # a negative one.
        return value >= 0 and not delivery.is_again
    return name != names.PRIORITY or _is_level(value)


def judge_properties(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge the user properties: texts as they were sent, and no other names besides.

    No text says how a system represents numbers.
    """
    sent, found = entry.content.properties, delivery.properties
    for name, value in sent.items():
        if isinstance(value, str):
            word = "dropped" if name not in found else "changed"
            word = "" if _is_same(found.get(name), value) else word
            yield _compared("oms.round-trip.properties", word, name, value, found.get(name))
    added = next((name for name in found if name not in sent), None)
    word, told = ("", None) if added is None else ("added", found[added])
    yield _compared("oms.round-trip.nothing-added", word, added or "properties", None, told)


def judge_priority(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge the priority of a message that has none, or one outside 1 to 10."""
    if names.PRIORITY not in claims:
        return
    due, told = entry.content.attributes.get(names.PRIORITY), delivery.attributes
    found = told.get(names.PRIORITY)
    is_default = names.PRIORITY not in told or _is_same(found, names.DEFAULT_PRIORITY)
    if due is None:
        word = "" if is_default else "other"
        yield _compared("oms.priority.default", word, names.PRIORITY, "5 or none", found)
    elif not _is_level(due):
        word = "" if is_default or _is_same(found, due) else "folded"
        yield _compared("oms.priority.not-folded", word, names.PRIORITY, due, found)


def judge_claims(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge whether each attribute that the adapter claims arrives, if it was sent or set."""
    sent = entry.content.attributes
    for name in (*_CLAUSES, *_SET_BY_SERVER):
        is_due = name in _SET_BY_SERVER or (name in sent and _is_kept(name, sent[name], delivery))
        if is_due and name in claims:
            word = "" if name in delivery.attributes else "dropped"
            yield _compared("oms.round-trip.claimed", word, name, "the attribute", None)


def judge_store(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge whether storeTimestamp and storeHost are the server's own."""
    sent, found = entry.content.attributes, delivery.attributes
    time, host = found.get(names.STORE_TIMESTAMP), found.get(names.STORE_HOST)
    if names.STORE_TIMESTAMP in claims and names.STORE_TIMESTAMP in sent:
        theirs = sent[names.STORE_TIMESTAMP]
        word = "senders" if _is_same(time, theirs) else ""
        yield _compared("oms.store.timestamp-own", word, names.STORE_TIMESTAMP, "its own", time)
    if names.STORE_HOST not in claims or not isinstance(host, str):
        return
    theirs = sent.get(names.STORE_HOST)
    if isinstance(theirs, str) and theirs:
        word = "senders" if theirs in host else ""
        yield _compared("oms.store.host", word, names.STORE_HOST, "its own", host)
    word = "" if host else "empty"
    yield _compared("oms.store.host-not-empty", word, names.STORE_HOST, "some text", host)


def judge_partition(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge the partition of a first delivery; a message may come again from another one."""
    content = entry.content
    due, count, place = content.attributes.get(names.PARTITION), content.partitions, delivery.place
    if not {names.PARTITION, "partitions"} <= claims or delivery.is_again:
        return
    if not isinstance(due, int) or count is None or place is None:
        return
    told = delivery.attributes.get(names.PARTITION)
    if 0 < due < count:  # if they are numbered from 1, 0 does not exist
        word = "" if place == due else "other"
        yield _compared("oms.partition.delivered-from", word, names.PARTITION, due, place)
    elif due not in (0, count):  # the last one if they are numbered from 1
        word = "as-chosen" if place == due else "replaced"
        word = "other-number" if told not in (None, due) else word
        yield _compared("oms.partition.unknown", word, names.PARTITION, "a refusal", place)
        # A message that was put into another partition may tell that one.
        if due > _LARGE and word != "replaced" and told in (None, due):
            yield _compared("oms.partition.no-wrap", "", names.PARTITION, due, told)
        elif due > _LARGE and told not in (None, due, place):
            yield _compared("oms.partition.no-wrap", "other-number", names.PARTITION, due, told)


def judge_transaction(
    delivery: Delivery, entry: Entry[Content], claims: frozenset[str]
) -> Iterator[Finding]:
    """Judge the transactionId, and whether a message came before its transaction was committed."""
    transaction = entry.content.transaction
    if transaction is None or not {names.TRANSACTION_ID, "transaction"} <= claims:
        return
    order, note = delivery.event.order, f"transaction {transaction.id}"
    if not transaction.commit_order or order < transaction.commit_order:
        if transaction.rollback_order and order > transaction.rollback_order:
            yield Finding("oms.transaction.rolled-back", "delivered", note)
        elif transaction.is_certain:
            yield Finding("oms.transaction.prepared", "delivered", note)
        return
    due, told = transaction.id, delivery.attributes.get(names.TRANSACTION_ID)
    if transaction.committed_as is not None and transaction.committed_as != due:
        told = transaction.committed_as
    word = "" if told == due else "other-id"
    yield _compared("oms.transaction.same-id", word, names.TRANSACTION_ID, due, told)


RULES: Sequence[Rule] = (
    judge_document,
    judge_body,
    judge_message_id,
    judge_header,
    judge_attributes,
    judge_properties,
    judge_priority,
    judge_claims,
    judge_store,
    judge_partition,
    judge_transaction,
)


def _compared(
    clause: str, word: str, field: str, expected: JsonValue, found: JsonValue
) -> Finding:
    if not word:
        return Finding(clause)
    shown = "nothing" if found is None else clip(repr(found), 80)
    difference = Difference(field, None, clip(repr(expected), 80), shown)
    return Finding(clause, word, difference=difference)


def _is_same(found: JsonValue, sent: JsonValue) -> bool:
    return type(found) is type(sent) and found == sent


def _is_level(priority: JsonValue) -> bool:
    lowest, highest = names.LOWEST_PRIORITY, names.HIGHEST_PRIORITY
    return isinstance(priority, int) and lowest <= priority <= highest
