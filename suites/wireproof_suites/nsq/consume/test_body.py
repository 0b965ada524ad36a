"""A body is delivered byte for byte, with any content and after a header of any length."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.deliveries import Sent, deliver, deliver_all
from wireproof_suites.nsq.steps.message_contents import CONTENTS, header_of

LENGTHS = [64, 255, 256, 257, 4095, 4096, 4097, 32768, 65533, 65535, 65536, 65537, 200_000]
PAIRS = [(2, 64), (255, 255), (256, 65536), (4096, 4096), (32768, 32768), (20000, 200_000)]


@case("nsq/consume/body", clause="ext.consume.body-intact")
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_body(broker: Broker, ext_topic: Topic, content: bytes) -> Observation:
    """A message with a header is delivered with an unchanged body; the body may have any bytes."""
    return deliver(broker, ext_topic, broker.unique_body(content), header=_own_header(broker))


@case("nsq/consume/body-alone", clause="ext.consume.body-intact")
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_body_without_header(broker: Broker, ext_topic: Topic, content: bytes) -> Observation:
    """On an ext topic, a message without a header is delivered unchanged, with any bytes."""
    return deliver(broker, ext_topic, broker.unique_body(content))


@case("nsq/consume/body-length", clause="ext.consume.body-intact")
@pytest.mark.parametrize("length", LENGTHS)
def test_body_length(broker: Broker, ext_topic: Topic, length: int) -> Observation:
    """A body of any length is delivered whole."""
    body = broker.unique_body().ljust(length, b".")
    return deliver(broker, ext_topic, body, header=_own_header(broker))


@case("nsq/consume/lengths", clause="ext.consume.body-intact")
@pytest.mark.parametrize(
    ("header_length", "length"), PAIRS, ids=[f"{header}-{body}" for header, body in PAIRS]
)
def test_header_and_body_length(
    broker: Broker, ext_topic: Topic, header_length: int, length: int
) -> Observation:
    """A body is delivered whole after a JSON extension header of any length."""
    body = broker.unique_body().ljust(length, b".")
    return deliver(broker, ext_topic, body, header=header_of(header_length))


@case("nsq/consume/body-small", clause="ext.consume.body-intact", waiting=True)
def test_small_bodies(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """Bodies of one, two and three bytes are delivered, with and without a header."""
    headers = [None, b"{}", b'{"k":"v"}']
    messages: list[Sent] = [
        (header, content * length)
        for header, content in zip(headers, [b"a", b"\x00", b"\x04"], strict=True)
        for length in (1, 2, 3)
    ]
    return deliver_all(broker, fresh_ext_topic, messages)


@case("nsq/consume/body-exact", clause="ext.consume.body-intact", waiting=True)
def test_exact_bodies(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A body that looks like a frame, an ext part or a command is delivered unchanged."""
    messages: list[Sent] = [({"k": name}, content) for name, content in CONTENTS.items()]
    return deliver_all(broker, fresh_ext_topic, messages)


@case("nsq/consume/body-empty", clause="ext.consume.body-intact")
def test_empty_body(broker: Broker, fresh_ext_topic: Topic) -> Observation:
    """A message with a header and an empty body is refused, or delivered as sent."""
    return deliver(broker, fresh_ext_topic, b"", header={"k": "v"})


def _own_header(broker: Broker) -> dict[str, str]:
    """Return a header by which the case knows its message even with another body."""
    return {"k": broker.unique_body().decode()}
