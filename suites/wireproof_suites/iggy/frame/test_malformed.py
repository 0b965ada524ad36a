"""Payloads that are none: cut anywhere, with lengths that lie, with kinds that nothing has.

Each is refused, and nothing of it is done: a message sent afterwards is the first one there.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import observe_absence
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.decoding import Schema, encode, spans
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.bodies.identifier import numeric
from wireproof_spec.iggy.bodies.partitioning import partition_id
from wireproof_spec.iggy.bodies.poll_messages import POLL_MESSAGES, PollMessages
from wireproof_spec.iggy.bodies.send_messages import SEND_MESSAGES, SendMessages
from wireproof_suites.iggy.steps.message_contents import HEADER, message

PAYLOAD = b"unwanted"
SENTINEL = b"sentinel"
MESSAGE = message(PAYLOAD, HEADER, id=1)
FIRST = "messages[0]"

Change = Callable[[Outgoing], Outgoing]
T = TypeVar("T")


def _cuts(schema: Schema[T], value: T) -> Iterator[tuple[str, int]]:
    """Name the places at which each field begins, and one within it."""
    for span in spans(schema, encode(schema, value)):
        name = span.field.replace("[", "-").replace("]", "")
        yield f"at-{name}", span.offset
        if span.length > 1:
            yield f"within-{name}", span.offset + span.length // 2


def _send_cuts() -> dict[str, int]:
    value = SendMessages(numeric(1), numeric(1), partition_id(1), (MESSAGE,))
    return dict(_cuts(SEND_MESSAGES, value))


def _poll_cuts() -> dict[str, int]:
    value = PollMessages(Consumer(1, 1), numeric(1), numeric(1), 1, 1, 0, 1, 0)
    return dict(_cuts(POLL_MESSAGES, value))


def _set(field: str, number: int) -> Change:
    return lambda right: requests.overwritten(right, field, number)


def _without(*fields: str) -> Change:
    def change(right: Outgoing) -> Outgoing:
        for field in fields:
            right = right.replace(field, b"")
        return requests.resize(right)

    return change


def _no_message(right: Outgoing) -> Outgoing:
    labels = [part.label.partition(" ")[0] for part in right.parts]
    return _without(*[label for label in labels if label.startswith(FIRST)])(right)


def _empty_payload(right: Outgoing) -> Outgoing:
    return _without(f"{FIRST}.payload")(requests.overwritten(right, f"{FIRST}.length", 0))


def _stray(size: int) -> Change:
    return lambda right: requests.lengthen(right, bytes(size))


HEADERS_SIZE = 4 + 4 + 1 + 4 + 5
SENDS: dict[str, Change] = {
    "headers-beyond-the-frame": _set(f"{FIRST}.headers.length", 1000),
    "headers-beyond-all-memory": _set(f"{FIRST}.headers.length", -1),
    "headers-one-byte-too-long": _set(f"{FIRST}.headers.length", HEADERS_SIZE + 1),
    "headers-one-byte-too-short": _set(f"{FIRST}.headers.length", HEADERS_SIZE - 1),
    "headers-of-none": _set(f"{FIRST}.headers.length", 0),
    "key-beyond-the-block": _set(f"{FIRST}.headers[0].key_length", 200),
    "value-beyond-the-block": _set(f"{FIRST}.headers[0].value_length", 200),
    "payload-beyond-the-frame": _set(f"{FIRST}.length", 1000),
    "payload-beyond-all-memory": _set(f"{FIRST}.length", -1),
    "payload-one-byte-too-long": _set(f"{FIRST}.length", len(PAYLOAD) + 1),
    "payload-one-byte-too-short": _set(f"{FIRST}.length", len(PAYLOAD) - 1),
    "payload-empty": _empty_payload,
    "no-message": _no_message,
    "1-stray-byte": _stray(1),
    "20-stray-bytes": _stray(20),
    "partitioning-kind-0": _set("partitioning.kind", 0),
    "partitioning-kind-4": _set("partitioning.kind", 4),
    "partitioning-kind-255": _set("partitioning.kind", 255),
    "key-of-no-byte": lambda right: _without("partitioning.value")(
        _set("partitioning.length", 0)(_set("partitioning.kind", 3)(right))
    ),
}
POLLS: dict[str, Change] = {
    **{f"strategy-{kind}": _set("strategy", kind) for kind in (0, 6, 255)},
    **{f"consumer-kind-{kind}": _set("consumer.kind", kind) for kind in (0, 3, 255)},
}
IDENTIFIERS = {
    "kind-0": b"\x00\x04\x01\x00\x00\x00",
    "kind-3": b"\x03\x04\x01\x00\x00\x00",
    "kind-255": b"\xff\x04\x01\x00\x00\x00",
    "number-of-0-bytes": b"\x01\x00",
    "number-of-3-bytes": b"\x01\x03\x01\x00\x00",
    "number-of-5-bytes": b"\x01\x05\x01\x00\x00\x00\x00",
    "number-of-8-bytes": b"\x01\x08\x01\x00\x00\x00\x00\x00\x00\x00",
    "empty-name": b"\x02\x00",
    "name-beyond-the-frame": b"\x02\xffname",
    "cut-behind-its-kind": b"\x01",
}


@case("iggy/frame/truncated-send", clause="iggy.frame.truncated")
@pytest.mark.parametrize("at", _send_cuts().values(), ids=_send_cuts())
def test_truncated_send(server: Server, topic: Topic, at: int) -> Observation:
    """A send request cut off inside a field is refused, and nothing is stored."""
    right = server.send_request(topic, MESSAGE)

    return _refused_and_absent(server, topic, requests.cut(right, at))


@case("iggy/frame/truncated-poll", clause="iggy.frame.truncated")
@pytest.mark.parametrize("at", _poll_cuts().values(), ids=_poll_cuts())
def test_truncated_poll(server: Server, topic: Topic, at: int) -> Observation:
    """A poll request cut off inside a field is refused."""
    return server.refusal(requests.cut(server.poll_request(topic), at))


@case("iggy/frame/malformed-send", clause="iggy.frame.malformed")
@pytest.mark.parametrize("change", SENDS.values(), ids=SENDS)
def test_malformed_send(server: Server, topic: Topic, change: Change) -> Observation:
    """A send request whose fields contradict each other is refused; nothing is stored."""
    right = server.send_request(topic, MESSAGE)

    return _refused_and_absent(server, topic, change(right))


@case("iggy/frame/malformed-poll", clause="iggy.frame.malformed")
@pytest.mark.parametrize("change", POLLS.values(), ids=POLLS)
def test_malformed_poll(server: Server, topic: Topic, change: Change) -> Observation:
    """A poll request with an undefined kind code is refused."""
    return server.refusal(change(server.poll_request(topic, Polling())))


@case("iggy/frame/identifier", clause="iggy.frame.identifier-refused")
@pytest.mark.parametrize("identifier", IDENTIFIERS.values(), ids=IDENTIFIERS)
@pytest.mark.parametrize("what", ["get-stream", "poll-stream"])
def test_identifier(server: Server, topic: Topic, what: str, identifier: bytes) -> Observation:
    """A request with a malformed stream identifier is refused."""
    if what == "get-stream":
        payload = requests.raw(identifier, "an identifier")
        return server.refusal(requests.frame_request(commands.GET_STREAM, payload))
    right = _without("stream.kind", "stream.length")(server.poll_request(topic))

    return server.refusal(requests.resize(right.replace("stream.value", identifier)))


def _refused_and_absent(server: Server, topic: Topic, wrong: Outgoing) -> Observation:
    seen = server.refusal(wrong)
    server.send_accepted(topic, message(SENTINEL))
    absence = observe_absence(server.poll_until(topic, 1), unwanted=[PAYLOAD], sentinel=SENTINEL)
    return seen.then(absence.value) if absence.value != "no-sentinel" else absence
