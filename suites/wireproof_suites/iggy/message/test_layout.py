"""The polled message as the text draws it: its fields, their order, sizes and places."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import (
    MISSING,
    as_drawn,
    make_difference,
    observe_messages,
    observe_unread,
)
from wireproof_kit.iggy.observe.polled import Polled, PolledMessage
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.observation import Observation, observed
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.headers import HEADERS, Header
from wireproof_spec.iggy.states import AVAILABLE
from wireproof_suites.iggy.steps.message_contents import (
    DISTINCT_ID,
    EVERY_BYTE,
    HEADER_SETS,
    PAYLOADS,
    THREE_HEADERS,
    make_numbered,
    make_payload,
    message,
)
from wireproof_suites.iggy.steps.polled_messages import each_of

STATE_AT = 8
CHECKSUM_AT = slice(33, 37)
HEADERS_LENGTH_AT = slice(37, 41)
HEADERS_AT = 41
LENGTH_SIZE = 4
LENGTHS = [1, 255, 256, 65535, 65536]


@case("iggy/message/layout", clause="iggy.message.layout")
@pytest.mark.parametrize("headers", HEADER_SETS)
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_layout(server: Server, topic: Topic, payload: bytes, headers: str) -> Observation:
    """A polled message has the documented layout, the sent content and the server's fields."""
    sent = message(payload, *HEADER_SETS[headers], id=DISTINCT_ID)

    return observe_messages(server.sent_and_polled(topic, sent), [sent], as_drawn)


@case("iggy/message/several", clause="iggy.message.layout")
@pytest.mark.parametrize("count", [2, 10, 100])
def test_several(server: Server, topic: Topic, count: int) -> Observation:
    """Polled messages of growing sizes follow each other without bytes between them."""
    sent = [
        message(make_payload(1 + 37 * number), *THREE_HEADERS[: number % 4], id=number + 1)
        for number in range(count)
    ]

    return observe_messages(server.sent_and_polled(topic, *sent), sent, as_drawn, ordered=False)


@case("iggy/message/places", clause="iggy.message.places")
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_places(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """In a polled message, byte 8 is the state and bytes 33 to 36 are the checksum."""
    ids = (DISTINCT_ID + (number << 125) for number in range(3))
    payloads = (EVERY_BYTE, b"a", b"b")
    sent = [SentMessage(id, headers, payload) for id, payload in zip(ids, payloads, strict=True)]
    for each in [sent] if headers else [[one] for one in sent]:
        server.send_accepted(topic, *each)

    return each_of(server.poll_until(topic, len(sent)), sent, "places:right", _places)


@case("iggy/message/layout-of-before", clause="iggy.message.old-layout")
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
@pytest.mark.parametrize("count", [1, 3])
def test_layout_of_before(
    server: Server, topic: Topic, headers: tuple[Header, ...], count: int
) -> Observation:
    """Every polled message contains a state and a checksum."""
    sent = [SentMessage(each.id, headers, each.payload) for each in make_numbered(count)]
    polled = server.sent_and_polled(topic, *sent)
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if not polled.seen:
        return observed(MISSING, overdue=True)

    return observed(f"layout:{polled.layout}")


@case("iggy/message/length", clause="iggy.message.length")
@pytest.mark.parametrize("size", LENGTHS)
@pytest.mark.parametrize("headers", ["no-headers", "three-headers"])
def test_length(server: Server, topic: Topic, size: int, headers: str) -> Observation:
    """The length field before a payload holds the number of payload bytes."""
    sent = [message(make_payload(size), *HEADER_SETS[headers])]
    if HEADER_SETS[headers]:
        sent.append(message(make_payload(size + 1)))
    polled = server.sent_and_polled(topic, *sent)

    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        right = len(due.payload)
        told = int.from_bytes(seen.raw[-right - LENGTH_SIZE : -right], "little")
        if told == right and seen.raw.endswith(due.payload):
            return observed("length:right")
        return observed(
            "length:wrong", difference=make_difference("length", seen, str(right), str(told))
        )

    return _or_length(polled, each_of(polled, sent, "length:right", look))


@case("iggy/message/headers-length", clause="iggy.message.headers-length")
@pytest.mark.parametrize("headers", HEADER_SETS.values(), ids=HEADER_SETS)
def test_headers_length(server: Server, topic: Topic, headers: tuple[Header, ...]) -> Observation:
    """The headers length field is always present and holds the size of the headers."""
    sent = [SentMessage(0, headers, b"payload")]
    if len(headers) > 1:
        sent.append(SentMessage(0, (), b"another payload"))
    polled = server.sent_and_polled(topic, *sent)

    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        size = len(encode(HEADERS, due.headers))
        told = int.from_bytes(seen.raw[HEADERS_LENGTH_AT], "little")
        length = len(due.payload).to_bytes(LENGTH_SIZE, "little")
        right = seen.raw[HEADERS_AT + size :] == length + due.payload
        if told == size and right:
            return observed("length:right")
        return observed(
            "length:wrong", difference=make_difference("headers", seen, str(size), str(told))
        )

    return _or_length(polled, each_of(polled, sent, "length:right", look))


def _places(due: SentMessage, seen: PolledMessage) -> Observation:
    state, checksum = seen.raw[STATE_AT], seen.raw[CHECKSUM_AT]
    right = payload_checksum(due.payload).to_bytes(4, "little")
    if state == AVAILABLE and checksum == right:
        return observed("places:right")
    if state != AVAILABLE:
        return observed(
            "places:state", difference=make_difference("state", seen, str(AVAILABLE), str(state))
        )
    return observed(
        "places:checksum",
        difference=make_difference("checksum", seen, right.hex(), checksum.hex()),
    )


def _or_length(polled: Polled, seen: Observation) -> Observation:
    """Name what cannot be read a wrong length where a length is to blame."""
    if polled.fault is None or not polled.fault.field.endswith("length"):
        return seen
    return replace(seen, value="length:wrong")
