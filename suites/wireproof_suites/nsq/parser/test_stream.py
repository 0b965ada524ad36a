"""A PUB_EXT frame as a stream of bytes: cut off, in pieces, many at once."""

from collections.abc import Callable

import pytest

from wireproof_kit.case import case
from wireproof_kit.nsq.broker import Broker
from wireproof_kit.nsq.observe.observations import observe, observe_absence, observe_delivery
from wireproof_kit.nsq.topics.topic import Topic
from wireproof_kit.nsq.wire.answers import Response
from wireproof_kit.nsq.wire.connection import Connection
from wireproof_kit.nsq.wire.frames import fin, pub_ext, rdy, req, touch
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_kit.wire.outgoing import Outgoing, join_pieces
from wireproof_spec.nsq.names import TRACE_ID
from wireproof_suites.nsq.steps.frame_edits import within
from wireproof_suites.nsq.steps.partitions import READY
from wireproof_suites.nsq.steps.publish_results import (
    followed_by,
    observe_traced,
    publish_and_receive,
    then_goes_on,
)
from wireproof_suites.nsq.steps.subscriptions import receive_all

HEADER = {"k": "v"}
MANY = 50
FIRST = 1000

# Commands that name a message, and how many more deliveries are due behind them under RDY 3.
BEHIND: dict[str, tuple[Callable[[bytes], Outgoing], int]] = {
    "fin": (fin, 2),
    "req": (lambda message_id: req(message_id, 0), 3),
    "touch": (touch, 2),
}

# Where a frame is cut: a field, and how many of its bytes are still sent (from the end if < 0).
PLACES = {
    "in-the-command": ("command line", 3),
    "in-the-command-line": ("command line", -2),
    "before-line-feed": ("command line", -1),
    "before-size": ("size", 0),
    "in-size": ("size", 2),
    "before-header-length": ("header_length", 0),
    "in-header-length": ("header_length", 1),
    "before-header": ("json_header", 0),
    "in-header": ("json_header", 5),
    "last-byte-of-header": ("json_header", -1),
    "before-body": ("body", 0),
    "in-body": ("body", -2),
    "last-byte-of-body": ("body", -1),
}


@case("nsq/parser/truncated", clause="ext.parser.truncated")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_truncated_frame(broker: Broker, ext_topic: Topic, place: tuple[str, int]) -> Observation:
    """A frame cut off by the client's half-close is not published."""
    token, sentinel = broker.unique_body(), broker.unique_body()
    frame = pub_ext(ext_topic, {"k": token.decode()}, token + b"tail")
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        client.send(frame.cut(within(frame, *place)))
        client.half_close()
        client.receive()
        broker.publish_accepted(ext_topic, sentinel, {})

        return observe_absence(consumer.until(sentinel), of=token)


@case("nsq/parser/abandoned", clause="ext.parser.truncated")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_abandoned_frame(broker: Broker, ext_topic: Topic, place: tuple[str, int]) -> Observation:
    """A frame cut off by the end of the connection is not published; other clients are served."""
    token, sentinel = broker.unique_body(), broker.unique_body()
    frame = pub_ext(ext_topic, {"k": token.decode()}, token + b"tail")
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        client.send(frame.cut(within(frame, *place)))
        client.close()
        broker.publish_accepted(ext_topic, sentinel, {})

        return observe_absence(consumer.until(sentinel), of=token)


@case("nsq/parser/truncated-after-a-whole-one", clause="ext.parser.truncated")
def test_truncated_frame_behind_a_whole_one(broker: Broker, ext_topic: Topic) -> Observation:
    """A complete frame is published even if the frame behind it is cut off."""
    body = broker.unique_body()
    frame = pub_ext(ext_topic, HEADER, body)
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        client.send(join_pieces([frame, frame.cut(-1)], "a whole frame and most of another"))
        client.half_close()
        answer = observe(client.receive())
        delivery = observe_delivery(consumer.next(body), body=body, header=HEADER)

        return followed_by(answer, delivery)


@case("nsq/parser/two-pieces", clause="ext.publish.accept")
def test_frame_in_two_pieces(broker: Broker, ext_topic: Topic) -> Observation:
    """A frame split at any byte is accepted, and other clients are served between the pieces."""
    places = range(1, len(make_traced(broker, ext_topic, FIRST).data))
    with broker.connect(topic=ext_topic) as client, broker.connect(topic=ext_topic) as other:
        answers = (
            ask_in_pieces(
                client,
                make_traced(broker, ext_topic, FIRST + at),
                at,
                other=other,
                topic=ext_topic,
            )
            for at in places
        )

        return then_goes_on(first_unlike(answers, "traced"), client, ext_topic)


@case("nsq/parser/byte-by-byte", clause="ext.publish.accept")
def test_frame_byte_by_byte(broker: Broker, ext_topic: Topic) -> Observation:
    """A frame sent one byte at a time is answered exactly once."""
    frame = make_traced(broker, ext_topic, FIRST)
    with broker.connect(topic=ext_topic) as client:
        for piece in frame.split(*range(1, len(frame.data))):
            client.send(piece)
        answers = [observe_traced(client.receive(), FIRST)]
        answers += [observe_traced(client.ask(make_traced(broker, ext_topic, 2)), 2)]

        return then_goes_on(first_unlike(answers, "traced"), client, ext_topic)


@case("nsq/parser/byte-by-byte-arrives", clause="ext.publish.accept")
def test_message_byte_by_byte(broker: Broker, ext_topic: Topic) -> Observation:
    """A message sent one byte at a time is delivered whole."""
    body = broker.unique_body()
    frame = pub_ext(ext_topic, HEADER, body)
    with broker.subscribe(ext_topic) as consumer, broker.connect(topic=ext_topic) as client:
        for piece in frame.split(*range(1, len(frame.data))):
            client.send(piece)
        answer = client.receive()
        if not isinstance(answer, Response):
            return observe(answer)

        return observe_delivery(consumer.next(body), body=body, header=HEADER)


@case("nsq/parser/pipelined", clause="ext.publish.accept")
def test_pipelined(broker: Broker, ext_topic: Topic) -> Observation:
    """Several PUB_EXT in one write are each answered, and all messages are delivered."""
    topic, bodies = ext_topic, [broker.unique_body() for _ in range(10)]
    with broker.subscribe(topic, ready=READY) as consumer, broker.connect(topic=topic) as client:
        frames = [pub_ext(topic, HEADER, body) for body in bodies]
        client.send(join_pieces(frames, "ten PUB_EXT in one write"))
        answers = (observe(client.receive()) for _ in bodies)
        if (seen := first_unlike(answers, "ok")).value != "ok":
            return seen

        return receive_all(consumer, bodies)


@case("nsq/parser/many-in-one-write", clause="ext.parser.segmentation")
def test_many_frames_in_one_write(broker: Broker, ext_topic: Topic) -> Observation:
    """Many frames in one write are each answered, in order."""
    numbers = range(FIRST, FIRST + MANY)
    frames = [make_traced(broker, ext_topic, number) for number in numbers]
    with broker.connect(topic=ext_topic) as client:
        client.send(join_pieces(frames, f"{MANY} frames"))
        answers = (observe_traced(client.receive(), number) for number in numbers)

        return then_goes_on(first_unlike(answers, "traced"), client, ext_topic)


@case("nsq/parser/one-and-a-half", clause="ext.parser.segmentation")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_frame_and_a_part_of_the_next(
    broker: Broker, ext_topic: Topic, place: tuple[str, int]
) -> Observation:
    """A complete frame is answered although only part of the next frame has arrived."""
    first, second, third = (make_traced(broker, ext_topic, FIRST + more) for more in range(3))
    head, tail = second.split(within(second, *place))
    with broker.connect(topic=ext_topic) as client:
        sent = (join_pieces([first, head], "a frame and a part of the next"), tail, third)
        answers = [
            observe_traced(client.ask(frame), FIRST + more) for more, frame in enumerate(sent)
        ]

        return then_goes_on(first_unlike(answers, "traced"), client, ext_topic)


@case(
    "nsq/parser/behind-a-message-id",
    clause="ext.parser.segmentation",
    waiting=True,
    needs_of={"touch": ("touch",)},
)
@pytest.mark.parametrize("command", BEHIND)
def test_command_behind_one_with_an_id(
    broker: Broker, fresh_ext_topic: Topic, command: str
) -> Observation:
    """The broker reads the command that follows FIN, REQ or TOUCH in the same write."""
    make, more = BEHIND[command]
    with broker.subscribe(fresh_ext_topic) as consumer:
        for _ in range(3):
            broker.publish_accepted(fresh_ext_topic, broker.unique_body(), HEADER)
        first = consumer.take()
        if first is None or first.message_id is None:
            return observe_delivery(first, body=b"", header=HEADER)
        both = [make(first.message_id), rdy(3)]
        consumer.connection.send(join_pieces(both, f"{command} and RDY"))
        for _ in range(more):
            if consumer.take() is None:
                return observed("missing", overdue=True)

        return observed("all-delivered")


@case("nsq/parser/large-body-in-pieces", clause="ext.publish.accept")
def test_large_frame(broker: Broker, ext_topic: Topic) -> Observation:
    """A frame larger than one TCP segment is published as one message."""
    content = bytes(range(256)) * 275

    return publish_and_receive(broker, ext_topic, HEADER, content=content)


def make_traced(broker: Broker, topic: Topic, number: int) -> Outgoing:
    """Return a PUB_EXT with a trace id made of `number`, so that its answer can be told."""
    return pub_ext(topic, {TRACE_ID: str(number)}, broker.unique_body())


def ask_in_pieces(
    client: Connection, frame: Outgoing, at: int, *, other: Connection, topic: Topic
) -> Observation:
    """Send a frame in two pieces, with an exchange on another connection in between."""
    head, tail = frame.split(at)
    client.send(head)
    state = other.goes_on(topic)
    answer = observe_traced(client.ask(tail), FIRST + at)
    return answer if state == "open" else observed(f"others-{state}")
