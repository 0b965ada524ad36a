"""Message headers: delivered as sent, in any order; invalid headers are refused."""

import struct
from collections.abc import Mapping
from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import as_set, headers_text, make_difference
from wireproof_kit.iggy.observe.polled import Polled, PolledMessage
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire import requests
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import BOOL, HEADER_KINDS, KIND_WIDTHS, RAW, STRING
from wireproof_spec.iggy.headers import HEADERS, Header
from wireproof_suites.iggy.steps.header_kinds import EVERY_KIND
from wireproof_suites.iggy.steps.message_contents import (
    BOUNDS,
    FIFTEEN_HEADERS,
    HEADER,
    KEYS,
    PUBLISHED_HEADERS,
    THREE_HEADERS,
    WIDTHS,
    message,
)
from wireproof_suites.iggy.steps.polled_messages import each_of

AS_SENT = "headers:as-sent"
FIRST_HEADER = "messages[0].headers[0]"
DIFFERENT = bytes(range(0xE1, 0xF1))
BLOCK_VALUES = {RAW: DIFFERENT[:5], STRING: b"value", BOOL: b"\x01"}
"""Of the other kinds, a value has the width of its kind: a server may check that."""
HUNDRED_HEADERS = tuple(Header(f"key {n}", STRING, b"value %d" % n) for n in range(100))
SETS: Mapping[str, tuple[Header, ...]] = {
    "1": (HEADER,),
    "3": THREE_HEADERS,
    "15": FIFTEEN_HEADERS,
    "16": (*FIFTEEN_HEADERS, HEADER),
    "100": HUNDRED_HEADERS,
}
BEYOND = {
    "key-of-0": (b"", b"value"),
    "key-of-256": (b"k" * 256, b"value"),
    "value-of-0": (b"key", b""),
    "value-of-256": (b"key", b"v" * 256),
}


@case("iggy/headers/delivered", clause="iggy.headers.delivered")
@pytest.mark.parametrize("headers", SETS.values(), ids=SETS)
def test_delivered(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """A poll returns all headers of a message, in any order."""
    return _sent_and_compared(server, topic, message(b"payload", *headers))


@case("iggy/headers/beside", clause="iggy.headers.delivered")
def test_beside(server: Server, topic: Topic) -> Observation:
    """Each message of a request is polled with its own headers, or none if it had none."""
    sets = ((HEADER,), (), THREE_HEADERS, (), (Header("other", RAW, b"1"),), FIFTEEN_HEADERS)
    sent = [message(b"payload %d" % n, *headers) for n, headers in enumerate(sets)]

    return _sent_and_compared(server, topic, *sent)


@case("iggy/headers/none", clause="iggy.headers.none")
def test_none(server: Server, topic: Topic) -> Observation:
    """A message sent without headers is polled without headers."""
    sent = [message(b"one"), message(b"two")]

    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        found = seen.message.headers
        if not found:
            return observed("headers:none")
        difference = make_difference("headers", seen, "none", headers_text(found))
        return observed("headers:some", difference=difference)

    return each_of(server.allowed_and_polled(topic, *sent), sent, "headers:none", look)


@case("iggy/headers/published-kind", clause="iggy.headers.kinds")
@pytest.mark.parametrize("header", PUBLISHED_HEADERS, ids=["uint64", "string", "bool"])
def test_published_kind(server: Server, topic: Topic, header: Header) -> Observation:
    """Each header of the published example is polled with its kind and value."""
    return _sent_and_compared(server, topic, message(b"orders_data_3", header))


@case("iggy/headers/published-kind/together", clause="iggy.headers.kinds")
def test_published_kinds(server: Server, topic: Topic) -> Observation:
    """The three headers of the published example are polled together on one message."""
    return _sent_and_compared(server, topic, message(b"orders_data_3", *PUBLISHED_HEADERS))


@case("iggy/headers/kind", clause="iggy.headers.other-kinds")
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_kind(server: Server, topic: Topic, kind: str) -> Observation:
    """A header of any kind and value is polled with the same kind and value."""
    sent = [message(b"payload %d" % n, each) for n, each in enumerate(EVERY_KIND[kind])]

    return _sent_and_compared(server, topic, *sent)


@case("iggy/headers/block", clause="iggy.headers.block")
@pytest.mark.parametrize("kind", sorted(HEADER_KINDS), ids=lambda code: HEADER_KINDS[code])
def test_block(server: Server, topic: Topic, kind: int) -> Observation:
    """A message's header block with one header is polled byte for byte as sent."""
    header = Header("abc", kind, BLOCK_VALUES.get(kind) or DIFFERENT[: KIND_WIDTHS[kind]])
    block = encode(HEADERS, (header,))

    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        found = seen.raw[41 : 41 + len(block)]
        if found == block:
            return observed("block:as-sent")
        difference = make_difference("headers", seen, block.hex(" "), found.hex(" "))
        return observed("block:other", difference=difference)

    sent = message(b"payload", header)
    return each_of(server.allowed_and_polled(topic, sent), [sent], "block:as-sent", look)


@case("iggy/headers/limit", clause="iggy.headers.limits")
@pytest.mark.parametrize("header", BOUNDS.values(), ids=BOUNDS)
def test_limit(server: Server, topic: Topic, header: Header) -> Observation:
    """Header keys and values of 1 and of 255 bytes are polled as sent."""
    return _sent_and_compared(server, topic, message(b"payload", header))


@case("iggy/headers/beyond-limit", clause="iggy.headers.refused")
@pytest.mark.parametrize(("key", "value"), BEYOND.values(), ids=BEYOND)
def test_beyond_limit(server: Server, topic: Topic, key: bytes, value: bytes) -> Observation:
    """Header keys and values of 0 or 256 bytes are refused."""
    return server.refusal(_with_block(server, topic, _header(key, RAW, value)))


@case("iggy/headers/unknown-kind", clause="iggy.headers.unknown-kind")
@pytest.mark.parametrize("kind", [0, 16, 17, 255])
def test_unknown_kind(server: Server, topic: Topic, kind: int) -> Observation:
    """A header with an undefined kind code is refused."""
    right = server.send_request(topic, message(b"payload", HEADER))

    return server.refusal(requests.overwritten(right, f"{FIRST_HEADER}.kind", kind))


@case("iggy/headers/key-case", clause="iggy.headers.key-text")
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_key_text(server: Server, topic: Topic, key: str) -> Observation:
    """A header key is polled with the letter case it was sent with."""
    return _sent_and_compared(server, topic, message(b"payload", Header(key, STRING, b"v")))


@case("iggy/headers/key-not-utf8", clause="iggy.headers.refused")
@pytest.mark.parametrize("key", [b"\xff", b"k\xc3", b"\xed\xa0\x80"], ids=["ff", "cut", "lone"])
def test_key_not_utf8(server: Server, topic: Topic, key: bytes) -> Observation:
    """A header key that is not valid UTF-8 is refused."""
    return server.refusal(_with_block(server, topic, _header(key, STRING, b"value")))


@case("iggy/headers/repeated-key", clause="iggy.headers.repeated-key")
@pytest.mark.parametrize("values", [(b"one", b"two"), (b"same", b"same")], ids=["two", "one"])
def test_repeated_key(server: Server, topic: Topic, values: tuple[bytes, bytes]) -> Observation:
    """A message with a repeated header key is refused, or keeps one of the values."""
    headers = [Header("key", STRING, value) for value in values]
    sent = message(b"payload", *headers)
    answer = server.refusal(server.send_request(topic, sent))
    if not answer.value.startswith("ok"):
        return answer
    polled = server.poll_until(topic, 1)
    kept = polled.messages[0].headers if polled.messages else ()
    word = "one" if len(kept) == 1 and kept[0] in headers else "other"

    return observed(f"headers:{word}{answer.value.removeprefix('ok')}")


@case("iggy/headers/width", clause="iggy.headers.width")
@pytest.mark.parametrize("header", WIDTHS.values(), ids=WIDTHS)
def test_width(server: Server, topic: Topic, header: Header) -> Observation:
    """A header value of the wrong size for its kind is refused, or polled as sent."""
    sent = message(b"payload", header)
    answer = server.refusal(server.send_request(topic, sent))
    if not answer.value.startswith("ok"):
        return answer
    found = _compare(server.poll_until(topic, 1), sent)

    return replace(found, value=found.value + answer.value.removeprefix("ok"))


def _sent_and_compared(server: Server, topic: Topic, *sent: SentMessage) -> Observation:
    return _compare(server.allowed_and_polled(topic, *sent), *sent)


def _compare(polled: Polled, *sent: SentMessage) -> Observation:
    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        found = seen.message.headers
        if as_set(due.headers) == as_set(found):
            return observed(AS_SENT)
        difference = make_difference(
            "headers", seen, headers_text(due.headers), headers_text(found)
        )
        return observed(f"headers:{_what_differs(due.headers, found)}", difference=difference)

    return each_of(polled, sent, AS_SENT, look)


def _what_differs(due: tuple[Header, ...], found: tuple[Header, ...]) -> str:
    if len(found) < len(due):
        return "lost"
    if len(found) > len(due):
        return "added"
    pairs = zip(as_set(due), as_set(found), strict=True)
    sights = (
        observed("same" if a == b else next(w for w, x, y in _compare_named(a, b) if x != y))
        for a, b in pairs
    )
    return first_unlike(sights, "same").value


def _compare_named(
    a: tuple[str, int, bytes], b: tuple[str, int, bytes]
) -> list[tuple[str, object, object]]:
    return list(zip(("key", "kind", "value"), a, b, strict=True))


def _header(key: bytes, kind: int, value: bytes) -> bytes:
    """Return the bytes of a header, also with lengths that the grammar refuses."""
    return struct.pack("<I", len(key)) + key + struct.pack("<BI", kind, len(value)) + value


def _with_block(server: Server, topic: Topic, block: bytes) -> Outgoing:
    """Return a request to send one message, with a block of headers that is given in bytes."""
    right = server.send_request(topic, message(b"payload", HEADER))
    parts = [part.label for part in right.parts]
    fields = [label.partition(" ")[0] for label in parts if label.startswith(FIRST_HEADER)]
    for field in fields[1:]:
        right = right.replace(field, b"")
    changed = right.replace(fields[0], block)
    return requests.resize(requests.overwritten(changed, "messages[0].headers.length", len(block)))
