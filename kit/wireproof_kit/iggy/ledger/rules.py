"""The rules of content of Iggy: pure functions of a polled message and what may explain it.

Each yields what it shows of a clause. A rule allows what the cases of its clause, the readings
and the notes allow.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wireproof_kit.iggy.ledger.contents import Content
from wireproof_kit.iggy.ledger.deliveries import Delivery, Match
from wireproof_kit.iggy.observe.observations import as_set, headers_text, state_text
from wireproof_kit.ledger.entries import Entry
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.ledger.times import FIRST_S, LAST_S
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.header_kinds import (
    BOOL,
    KIND_WIDTHS,
    STRING,
    UINT64,
)
from wireproof_spec.iggy.headers import HEADERS, Header
from wireproof_spec.iggy.states import AVAILABLE, STATES
from wireproof_spec.wording import show_value

_US: Final = 10**6
_PUBLISHED_KINDS: Final = (STRING, UINT64, BOOL)

Rule = Callable[[Delivery, Entry[Content]], Iterator[Finding]]


@dataclass(slots=True)
class Change:
    """What the control API did to a stored message; without any, nobody changed it."""

    state: int = AVAILABLE
    is_state_set: bool = False
    is_state_certain: bool = True
    is_payload_changed: bool = False


def judge_state(delivery: Delivery, change: Change) -> Iterator[Finding]:
    """Judge the state: available, or the one that was set."""
    found, due = delivery.message.state, change.state
    if not change.is_state_certain or (delivery.over_http and found is None):
        return
    clause = "iggy.state.codes" if change.is_state_set else "iggy.state.default"
    if delivery.over_http:
        clause = "iggy.state.names"
    if due not in STATES:
        clause = "iggy.state.unknown"
    if found == due:
        yield Finding(clause)
        return
    word = "other" if delivery.over_http else state_text(found).replace(" ", "-")
    difference = delivery.differ("state", state_text(due), state_text(found))
    yield Finding(clause, f"state:{word}", difference=difference)


def judge_checksum(delivery: Delivery, change: Change) -> Iterator[Finding]:
    """Judge whether the checksum is that of the payload: as it was sent, or as it is polled."""
    message, over_http = delivery.message, delivery.over_http
    due, found = payload_checksum(message.payload), message.checksum
    if change.is_payload_changed:
        yield from _judge_checksum_of_changed(delivery)
        return
    clause = "iggy.checksum.json" if over_http else "iggy.checksum.polynomial"
    if found == due:
        yield Finding(clause)
        return
    if any(found == entry.content.checksum for entry in delivery.entries):
        return  # The checksum is right of what was sent: the payload is not.
    difference = delivery.differ("checksum", str(due), str(found))
    word = "other" if over_http else _checksum_word(delivery)
    if word == "of-headers":
        clause = "iggy.checksum.range"
    yield Finding(clause, f"checksum:{word}", difference=difference)


def _checksum_word(delivery: Delivery) -> str:
    message = delivery.message
    if message.checksum is None:
        return "none"
    covered = encode(HEADERS, message.headers) + message.payload
    if message.headers and message.checksum == zlib.crc32(covered):
        return "of-headers"
    return "wrong" if message.checksum else "zero"


def _judge_checksum_of_changed(delivery: Delivery) -> Iterator[Finding]:
    """Judge the checksum of a message whose payload the control API changed."""
    found = delivery.message.checksum
    stored = {entry.content.checksum for entry in delivery.entries}
    if not stored:
        return
    if found in stored:
        yield Finding("iggy.checksum.when-stored")
        return
    difference = delivery.differ("checksum", str(min(stored)), str(found))
    word = "other" if found else "zero"
    yield Finding("iggy.checksum.when-stored", f"checksum:{word}", difference=difference)


def judge_timestamp(delivery: Delivery) -> Iterator[Finding]:
    """Judge whether the timestamp counts microseconds since 1970."""
    found = delivery.message.timestamp
    if FIRST_S * _US <= found < LAST_S * _US:
        yield Finding("iggy.message.timestamp-unit")
        return
    difference = delivery.differ("timestamp", "microseconds since 1970", str(found))
    yield Finding("iggy.message.timestamp-unit", "timestamp:other", difference=difference)


def judge_keys(delivery: Delivery) -> Iterator[Finding]:
    """Judge whether each header key occurs once."""
    keys = [header.key for header in delivery.message.headers]
    if len(keys) > 1:
        is_map = len(set(keys)) == len(keys)
        yield Finding("iggy.headers.repeated-key", "" if is_map else "headers:other")


def judge_partition(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether a message is in the partition that its request names."""
    due, found = entry.content.partition, delivery.event.partition
    if None in (due, found):
        return
    if due == found:
        yield Finding("iggy.send.partitioning")
    else:
        note = f"polled from partition {found}, sent to {due}"
        yield Finding("iggy.send.partitioning", "partition:other", note)


def judge_id(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge the id: the one that was sent, or instead of 0 a generated one."""
    due, found = entry.content.id, delivery.message.id
    if not due:
        yield Finding("iggy.message.generated-id", "" if found else "id:zero")
        return
    clause = "iggy.json.id" if delivery.over_http else "iggy.message.id"
    if due == found:
        yield Finding(clause)
        return
    is_reversed = found == int.from_bytes(due.to_bytes(16, "big"), "little")
    word = "reversed" if is_reversed and not delivery.over_http else "other"
    yield Finding(clause, f"id:{word}", difference=delivery.differ("id", str(due), str(found)))


def judge_headers(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether the headers are those that were sent, with their kinds."""
    due, found = entry.content.headers, delivery.message.headers
    if len({header.key for header in due}) < len(due):
        yield from _judge_repeated(delivery, due)
        return
    if not due:
        yield from _judge_no_headers(delivery, entry.content)
        return
    clause, word = _headers_clause(due, found, over_http=delivery.over_http)
    if not word:
        yield Finding(clause)
        return
    difference = delivery.differ("headers", headers_text(due), headers_text(found))
    yield Finding(clause, f"headers:{word}", difference=difference)


def _judge_no_headers(delivery: Delivery, content: Content) -> Iterator[Finding]:
    headers = delivery.message.headers
    if isinstance(delivery.found, dict):
        shown = delivery.found.get("headers")
        if shown == {} and content.has_empty_headers:
            yield Finding("iggy.json.headers-empty")
        else:
            difference = delivery.differ("headers", "null", show_value(shown))
            word = "" if shown is None else "headers:other"
            yield Finding("iggy.json.headers-null", word, difference=difference)
    elif headers:
        difference = delivery.differ("headers", "none", headers_text(headers))
        yield Finding("iggy.headers.none", "headers:some", difference=difference)
    else:
        yield Finding("iggy.headers.none")


def _judge_repeated(delivery: Delivery, due: Sequence[Header]) -> Iterator[Finding]:
    """Judge the headers of a message that was sent with the same key twice: one of both stays."""
    found = delivery.message.headers
    is_one = len(found) == len({header.key for header in due}) and all(
        header in due for header in found
    )
    difference = delivery.differ("headers", "one value", headers_text(found))
    word = "" if is_one else "headers:other"
    yield Finding("iggy.headers.repeated-key", word, difference=difference)


def _headers_clause(
    due: Sequence[Header], found: Sequence[Header], *, over_http: bool
) -> tuple[str, str]:
    """Return the clause about the first header that differs, and how it differs."""
    sent, came = as_set(due), as_set(found)
    counts = {-1: "lost", 1: "added"}
    size = (len(came) > len(sent)) - (len(came) < len(sent))
    changed = [each for each in sent if each not in came]
    key, kind, value = changed[0] if changed else sent[0]
    word = counts.get(size, "")
    if not word and changed:
        other = next(each for each in came if each not in sent)
        word = "key" if other[0] != key else "kind" if other[1] != kind else "value"
    if is_of_odd_width(kind, value):
        return "iggy.headers.width", word
    if over_http:
        is_other = kind not in _PUBLISHED_KINDS
        clause = "iggy.json.other-kinds" if is_other else "iggy.json.headers-object"
        return clause, "other" if word else ""
    return _clause_of(kind, word), word


def is_of_odd_width(kind: int, value: bytes) -> bool:
    """Return True if a value has another width than its kind has, or is no bool; none is given."""
    is_bool = kind != BOOL or value in (b"\x00", b"\x01")
    return KIND_WIDTHS.get(kind, len(value)) != len(value) or not is_bool


def _clause_of(kind: int, word: str) -> str:
    """Return the clause that a header breaks over TCP."""
    if word == "key":
        return "iggy.headers.key-text"
    if word in ("kind", "value"):
        return "iggy.headers.kinds" if kind in _PUBLISHED_KINDS else "iggy.headers.other-kinds"
    return "iggy.headers.delivered"


def judge_payload(delivery: Delivery, entry: Entry[Content]) -> Iterator[Finding]:
    """Judge whether the payload is the one that was sent."""
    payload, due = delivery.message.payload, entry.content.payload
    over_http = delivery.over_http
    clause = "iggy.json.payload" if over_http else "iggy.message.layout"
    if delivery.match in (Match.PAYLOAD, Match.ELSEWHERE):
        yield Finding(clause)
        return
    expected, found = show_value(due.head), show_value(payload[: len(due.head)])
    if expected == found:
        expected, found = f"{due.length} bytes", f"{len(payload)} bytes"
    word = "payload:other" if over_http else "delivered:payload"
    yield Finding(clause, word, difference=delivery.differ("payload", expected, found))


RULES: Sequence[Rule] = (judge_partition, judge_id, judge_headers, judge_payload)
"""The rules that hold a polled message against one that may explain it."""
