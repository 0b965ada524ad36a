"""The checksum: CRC-32 of the payload that was stored, and of nothing else."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import make_difference, observe, observe_unread
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_suites.iggy.steps.message_contents import (
    EVERY_BYTE,
    HEADER_SETS,
    LOOKS_LIKE_A_MESSAGE,
    PUBLISHED_CHECKSUMS,
    PUBLISHED_PAYLOADS,
    make_payload,
    message,
)
from wireproof_suites.iggy.steps.polled_messages import each_of, observe_checksums
from wireproof_suites.iggy.steps.stored_states import NOT_CHANGED, WITHHELD, flip_payload

PAYLOADS = {
    "1-byte": b"a",
    "1-zero": b"\x00",
    "4-bytes": b"\x01\x02\x03\x04",
    "255-bytes": make_payload(255),
    "256-bytes": make_payload(256),
    "4096-bytes": make_payload(4096),
    "4097-bytes": make_payload(4097),
    "65536-bytes": make_payload(65536),
    "1048576-bytes": make_payload(1048576),
    "zeros": bytes(1000),
    "ones": b"\xff" * 1000,
    "every-byte": EVERY_BYTE,
    "looks-like-a-message": LOOKS_LIKE_A_MESSAGE,
}

IDS = (1, 2, 1 << 64, (1 << 128) - 1)
BITS = {"first-bit": 0, "last-bit-of-the-first-byte": 7, "middle-bit": 44, "last-bit": 87}


@case("iggy/checksum/published-example", clause="iggy.checksum.polynomial")
def test_published_payloads(server: Server, topic: Topic) -> Observation:
    """The payloads of the published example are polled with the published checksums."""
    sent = [message(payload) for payload in PUBLISHED_PAYLOADS]
    polled = server.sent_and_polled(topic, *sent)
    due = dict(zip(PUBLISHED_PAYLOADS, PUBLISHED_CHECKSUMS, strict=True))

    return each_of(
        polled,
        sent,
        "checksum:right",
        lambda each, seen: (
            observed("checksum:right")
            if seen.message.checksum == due[each.payload]
            else observed(
                "checksum:wrong",
                difference=make_difference(
                    "checksum", seen, str(due[each.payload]), str(seen.message.checksum)
                ),
            )
        ),
    )


@case("iggy/checksum/payload", clause="iggy.checksum.polynomial")
@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_payload(server: Server, topic: Topic, payload: bytes) -> Observation:
    """The checksum of a polled message is the CRC-32 of its payload."""
    sent = message(payload)

    return observe_checksums(server.sent_and_polled(topic, sent), [sent])


@case("iggy/checksum/headers-not-covered", clause="iggy.checksum.range")
@pytest.mark.parametrize("beside", ["in-one-request", "one-by-one"])
def test_headers_are_not_covered(server: Server, topic: Topic, beside: str) -> Observation:
    """The headers of a message do not change its checksum."""
    sent = [message(b"the same payload", *headers) for headers in HEADER_SETS.values()]
    if beside == "one-by-one":
        for each in sent:
            server.send_accepted(topic, each)
        return observe_checksums(server.poll_until(topic, len(sent)), sent)

    return observe_checksums(server.sent_and_polled(topic, *sent), sent)


@case("iggy/checksum/id-not-covered", clause="iggy.checksum.range")
def test_id_is_not_covered(server: Server, topic: Topic) -> Observation:
    """The id, offset and timestamp of a message do not change its checksum."""
    sent = [message(b"the same payload", id=number) for number in (*IDS, 0)]
    for each in sent:
        server.send_accepted(topic, each)

    return observe_checksums(server.poll_until(topic, len(sent)), sent)


@case("iggy/checksum/payload-changed", clause="iggy.checksum.when-stored")
@pytest.mark.parametrize("bit", BITS.values(), ids=BITS)
def test_payload_changed(server: Server, topic: Topic, bit: int) -> Observation:
    """If a stored payload is altered, a poll returns its original checksum, or no message."""
    sent = message(b"orders_data")
    server.send_accepted(topic, sent)
    if not flip_payload(server, topic, 0, bit):
        return observed(NOT_CHANGED)
    polled = server.poll_until(topic, 1, Polling(count=1))
    unread = observe_unread(polled)
    if unread is not None:
        return observe(polled.answer, then=server.client.goes_on())

    if not polled.messages:
        return observed(WITHHELD)
    return _of_stored(sent, polled.messages[0].checksum)


def _of_stored(sent: SentMessage, found: int | None) -> Observation:
    if found == payload_checksum(sent.payload):
        return observed("checksum:of-stored")
    return observed("checksum:zero" if found == 0 else "checksum:other")
