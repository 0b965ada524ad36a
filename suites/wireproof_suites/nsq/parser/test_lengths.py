"""The numbers in a PUB_EXT frame: header length and size, right, wrong and absurd."""

from collections.abc import Callable

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_absence
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.frames import header_bytes, pub_ext
from wireproof_kit.observation import Observation
from wireproof_suites.nsq.steps.frame_edits import cut_to_size, ended_after, header_of
from wireproof_suites.nsq.steps.publish_results import publish_and_receive, then_others

LENGTHS = (2, 127, 128, 255, 256, 257, 4095, 4096, 4097, 32767, 32768, 65506)

# With 29 bytes of message head these pass 65535, and a broker that adds in 16 bits falls over
# when it reads the message: they are published where nobody reads.
LONG_LENGTHS = (65507, 65533)

# With their own 2 bytes these pass 65535: such a broker falls over at once.
KILLING_LENGTHS = (65534, 65535)

# JSON wherever it is cut from the second byte on, and still JSON with the body behind it: a
# broker that moves the border between header and body instead of refusing has no other excuse.
HEADER = b"{}        "
BLANKS = b"     "

# How a header length is wrong, given the bytes that really follow it in the frame.
BEYOND: dict[str, Callable[[int], int]] = {
    "by-one": lambda rest: rest + 1,
    "by-its-own-two-bytes": lambda rest: rest + 2,
    "by-hundreds": lambda rest: rest + 500,
    "sign-bit": lambda _: 0x8000,
    "65533": lambda _: 0xFFFD,
    "65534": lambda _: 0xFFFE,
    "65535": lambda _: 0xFFFF,
}

TOO_SHORT = {
    "nothing": 0,
    "half-a-length": 1,
    "length-alone": 2,
    "half-a-header": 2 + len(HEADER) // 2,
    "all-but-one-byte-of-header": 2 + len(HEADER) - 1,
}

ABSURD_SIZES = {
    "minus-one": -1,
    "minus-two": -2,
    "least": -(2**31),
    "greatest": 2**31 - 1,
    "greatest-but-one": 2**31 - 2,
}


@case("nsq/parser/header-length", clause="ext.parser.header-length")
@pytest.mark.parametrize("length", LENGTHS)
def test_header_of_length(broker: Broker, ext_topic: Topic, length: int) -> Observation:
    """PUB_EXT refuses or delivers a header of any length, and the broker keeps running."""
    observation = publish_and_receive(broker, ext_topic, header_of(length))

    return then_others(observation, ext_topic, broker.connect(topic=ext_topic))


@case("nsq/parser/header-length-long", clause="ext.parser.header-length")
@pytest.mark.parametrize("length", LONG_LENGTHS)
def test_header_of_long_length(broker: Broker, fresh_ext_topic: Topic, length: int) -> Observation:
    """PUB_EXT refuses or accepts a header near the length limit; the broker keeps running."""
    with broker.connect(topic=fresh_ext_topic) as client:
        frame = pub_ext(fresh_ext_topic, header_of(length), broker.unique_body())
        observation = observe(client.ask(frame))

        return then_others(observation, fresh_ext_topic, broker.connect(topic=fresh_ext_topic))


@case("nsq/parser/header-length-killing", clause="ext.parser.header-length", hazard=True)
@pytest.mark.parametrize("length", KILLING_LENGTHS)
def test_header_of_killing_length(
    broker: Broker, fresh_ext_topic: Topic, length: int
) -> Observation:
    """The broker survives the two greatest header lengths, which crash a real broker."""
    with broker.connect(topic=fresh_ext_topic) as client:
        frame = pub_ext(fresh_ext_topic, header_of(length), broker.unique_body())
        observation = observe(client.ask(frame))

        return then_others(observation, fresh_ext_topic, broker.connect(topic=fresh_ext_topic))


@case("nsq/parser/header-length-killing-plain", clause="ext.parser.header-length", hazard=True)
@pytest.mark.parametrize("length", KILLING_LENGTHS)
def test_garbage_of_killing_length(broker: Broker, plain_topic: Topic, length: int) -> Observation:
    """The broker survives non-JSON headers of the two greatest lengths on a plain topic."""
    with broker.connect(topic=plain_topic) as client:
        frame = pub_ext(plain_topic, b"x" * length, broker.unique_body())
        observation = observe(client.ask(frame))

        return then_others(observation, plain_topic, broker.connect(topic=plain_topic))


@case("nsq/parser/header-beyond-frame", clause="ext.parser.header-beyond-frame")
@pytest.mark.parametrize("lie", BEYOND.values(), ids=BEYOND)
def test_header_beyond_the_frame(
    broker: Broker, ext_topic: Topic, lie: Callable[[int], int]
) -> Observation:
    """A header length greater than the rest of the frame is refused at once."""
    with broker.connect(topic=ext_topic) as client:
        length = lie(len(HEADER + BLANKS))
        answer = client.ask(pub_ext(ext_topic, HEADER, BLANKS, header_length=length))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/parser/frame-too-short", clause="ext.parser.header-beyond-frame")
@pytest.mark.parametrize("size", TOO_SHORT.values(), ids=TOO_SHORT)
def test_frame_shorter_than_its_header(broker: Broker, ext_topic: Topic, size: int) -> Observation:
    """A PUB_EXT frame whose declared size ends inside its JSON header is refused at once."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(cut_to_size(pub_ext(ext_topic, HEADER, BLANKS), size))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/parser/header-beyond-frame-unpublished", clause="ext.parser.header-beyond-frame")
@pytest.mark.parametrize("lie", BEYOND.values(), ids=BEYOND)
def test_message_with_a_header_beyond_the_frame(
    broker: Broker, ext_topic: Topic, lie: Callable[[int], int]
) -> Observation:
    """A frame whose header length exceeds the frame publishes nothing."""
    refused, sentinel = broker.unique_body(), broker.unique_body()
    header = header_bytes({"k": refused.decode()})
    length = lie(len(header + BLANKS))
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        client.ask(pub_ext(ext_topic, header, BLANKS, header_length=length))
        broker.publish_accepted(ext_topic, sentinel, {})

        return observe_absence(consumer.until(sentinel), of=refused)


@case("nsq/parser/size", clause="ext.parser.size", waiting=True)
@pytest.mark.parametrize("size", ABSURD_SIZES.values(), ids=ABSURD_SIZES)
def test_absurd_size(broker: Broker, ext_topic: Topic, size: int) -> Observation:
    """A negative or absurdly large frame size is refused before any body byte is sent."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(ended_after(pub_ext(ext_topic, HEADER, b"x", size=size), "size"))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/parser/empty-body", clause="ext.parser.empty-body")
def test_empty_body(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT with an empty body is answered OK or refused."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, HEADER, b""))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/parser/empty-header", clause="ext.parser.empty-body")
def test_empty_header(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT with a header length of 0 is answered OK or refused."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, b"", broker.unique_body()))

        return observe(answer, then=client.goes_on(ext_topic))


@case("nsq/parser/empty-frame", clause="ext.parser.empty-body")
def test_empty_header_and_body(broker: Broker, ext_topic: Topic) -> Observation:
    """PUB_EXT with a header length of 0 and no body is answered OK or refused."""
    with broker.connect(topic=ext_topic) as client:
        answer = client.ask(pub_ext(ext_topic, b"", b""))

        return observe(answer, then=client.goes_on(ext_topic))
