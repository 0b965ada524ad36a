"""One connection of the example client: bytes in any division, and nothing out of its turn."""

import pytest

from wireproof_reference_impl.nsq.client.core import commands
from wireproof_reference_impl.nsq.client.core.connection import (
    Answered,
    Complaint,
    Delivered,
    Event,
    NodeConnection,
    OutOfStep,
    Refused,
    State,
    Strange,
)
from wireproof_spec.nsq.frame import error_frame, message_frame, response_frame

IDENTITY = commands.Identity(30_000)
STREAM = (
    response_frame(b"_heartbeat_")
    + message_frame(b"one")
    + error_frame("E_FIN_FAILED", "late")
    + response_frame(b"_heartbeat_")
    + response_frame(b"what")
    + b"\x00\x00\x00\x06\x00\x00\x00\x09xx"
)
EVENTS: list[Event] = [
    Delivered(b"one"),
    Complaint("E_FIN_FAILED", "E_FIN_FAILED late"),
    Strange("the response b'what' answers nothing", is_answer=True),
    Strange("a frame of type 9"),
]


def subscribed() -> NodeConnection:
    node = NodeConnection()
    node.identify(IDENTITY)
    node.receive(response_frame(b"OK"))
    node.subscribe("t", "c", 0, ordered=False)
    assert node.receive(response_frame(b"OK")) == ([Answered(State.SUBSCRIBING, b"OK")], b"")
    return node


@pytest.mark.parametrize("size", [1, 3, 7, len(STREAM)])
def test_a_stream_means_the_same_in_any_division(size: int) -> None:
    node, events, sent = subscribed(), list[Event](), b""
    for at in range(0, len(STREAM), size):
        new, reply = node.receive(STREAM[at : at + size])
        events += new
        sent += reply

    assert events == EVENTS
    assert sent == b"NOP\nNOP\n"


@pytest.mark.parametrize("size", [b"\x00\x00\x00\x03", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"])
def test_a_size_that_cannot_be_ends_the_reading(size: bytes) -> None:
    with pytest.raises(OutOfStep, match="size"):
        subscribed().receive(size + b"\x00" * 8)


def test_nothing_is_sent_before_identify_is_answered() -> None:
    node = NodeConnection()
    node.identify(IDENTITY)
    with pytest.raises(KeyError):
        node.publish("t", 0, commands.Publish(b"x"))

    assert node.receive(error_frame("E_BAD_BODY")) == (
        [Refused(State.IDENTIFYING, "E_BAD_BODY", "E_BAD_BODY ")],
        b"",
    )
    with pytest.raises(KeyError):
        node.subscribe("t", "c", 0, ordered=False)


def test_one_publish_is_under_way_at_a_time() -> None:
    node = NodeConnection()
    node.identify(IDENTITY)
    node.receive(response_frame(b"{}"))
    node.publish("t", 0, commands.Publish(b"x"))
    with pytest.raises(KeyError):
        node.publish("t", 0, commands.Publish(b"y"))
    node.receive(error_frame("E_PUB_FAILED"))

    assert node.publish("t", 0, commands.Publish(b"y")) == b"PUB t 0\n\x00\x00\x00\x01y"
