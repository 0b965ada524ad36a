"""Sending: a request is stored whole or not at all, in order, in the right partition."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import observe, observe_absence, observe_messages
from wireproof_kit.iggy.observe.polled import read_polled
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Topic
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.observation import Observation
from wireproof_kit.runner.patience import PUSH
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import RAW
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.limits import (
    MAX_VALUE_SIZE,
    max_header_values_size,
    max_payloads_size,
)
from wireproof_suites.iggy.steps.message_contents import (
    HEADER,
    THREE_HEADERS,
    make_numbered,
    make_payload,
    message,
)

SENTINEL = b"sentinel"
SPLITS = {"one-message": 1, "two-messages": 2, "sixteen-messages": 16}


@case("iggy/send/accept", clause="iggy.send.layout")
@pytest.mark.parametrize("count", [1, 2, 100])
@pytest.mark.parametrize("headers", [(), THREE_HEADERS], ids=["no-headers", "three-headers"])
def test_accept(
    server: Server, topic: Topic, count: int, headers: tuple[Header, ...]
) -> Observation:
    """A request with several messages is accepted, and all messages can be polled."""
    sent = [message(each.payload, *headers, id=each.id) for each in make_numbered(count)]
    answer = server.send(topic, *sent)
    seen = observe(answer)
    if seen.value != "ok":
        return seen

    polled = observe_messages(server.poll_until(topic, count), sent, ordered=False)
    return observe(answer, then=polled.value)


@case("iggy/send/order", clause="iggy.send.order")
def test_order(server: Server, topic: Topic) -> Observation:
    """Messages are stored in the order of the requests and of their places in each request."""
    sent = make_numbered(30)
    for first in range(0, 30, 10):
        server.send_accepted(topic, *sent[first : first + 10])

    return observe_messages(server.poll_until(topic, 30), sent)


@case("iggy/send/nothing-stored", clause="iggy.send.all-or-nothing")
@pytest.mark.parametrize("where", ["last", "first", "between"])
@pytest.mark.parametrize("fault", ["empty-payload", "payload-beyond-the-frame", "unknown-kind"])
def test_nothing_stored(server: Server, topic: Topic, where: str, fault: str) -> Observation:
    """If one message of a request is malformed, no message of the request is stored."""
    place = {"first": 0, "between": 1, "last": 2}[where]
    sent = [message(b"message %d" % n, HEADER) for n in range(3)]
    wrong = _damage(server.send_request(topic, *sent), place, fault)
    with server.connect() as connection:
        connection.ask(wrong)
    server.send_accepted(topic, message(SENTINEL))

    unwanted = [each.payload for each in sent]
    return observe_absence(server.poll_until(topic, 1), unwanted=unwanted, sentinel=SENTINEL)


@case("iggy/send/limit-payload", clause="iggy.send.limits")
@pytest.mark.parametrize("count", SPLITS.values(), ids=SPLITS)
def test_limit_payload(server: Server, topic: Topic, count: int) -> Observation:
    """A request with payloads of exactly the size limit is accepted."""
    size = max_payloads_size(server.generation) // count

    return _send_and_poll(
        server, topic, [message(make_payload(size), id=n) for n in range(1, count + 1)]
    )


@case("iggy/send/beyond-limit-payload", clause="iggy.send.limits")
@pytest.mark.parametrize("count", SPLITS.values(), ids=SPLITS)
def test_beyond_limit_payload(server: Server, topic: Topic, count: int) -> Observation:
    """A request with payloads one byte over the size limit is refused."""
    most = max_payloads_size(server.generation)
    size = most // count
    payloads = [bytes(size)] * (count - 1) + [bytes(most - size * (count - 1) + 1)]

    return server.refusal(server.send_request(topic, *map(message, payloads)))


@case("iggy/send/limit-headers", clause="iggy.send.limits")
@pytest.mark.parametrize("count", [1, 4], ids=["one-message", "four-messages"])
def test_limit_headers(server: Server, topic: Topic, count: int) -> Observation:
    """A request with header values of the largest total size within the limit is accepted."""
    return _send_and_poll(server, topic, _with_values(_most_values(server), count))


@case("iggy/send/beyond-limit-headers", clause="iggy.send.limits")
@pytest.mark.parametrize("count", [1, 4], ids=["one-message", "four-messages"])
def test_beyond_limit_headers(server: Server, topic: Topic, count: int) -> Observation:
    """A request with header values over the total size limit is refused."""
    sent = _with_values(_most_values(server) + 1, count)
    return server.refusal(server.send_request(topic, *sent))


def _most_values(server: Server) -> int:
    return max_header_values_size(server.generation) // MAX_VALUE_SIZE


def _with_values(values: int, count: int) -> list[SentMessage]:
    headers = [Header(f"{n}", RAW, make_payload(MAX_VALUE_SIZE)) for n in range(values)]
    parts = [headers[first::count] for first in range(count)]
    return [message(b"payload %d" % n, *each) for n, each in enumerate(parts)]


def _send_and_poll(server: Server, topic: Topic, sent: list[SentMessage]) -> Observation:
    """Send messages on a new connection, poll them, and compare them with what was sent.

    Both answers get the longer patience of a delivery, since the messages are many or large.
    """
    with server.connect() as connection:
        answer = connection.ask(server.send_request(topic, *sent), PUSH)
        seen = observe(answer, then=connection.goes_on())
        if not isinstance(answer, Done):
            return seen
        polled = read_polled(
            connection.ask(server.poll_request(topic), PUSH), server.access.forms.head
        )

    return seen.then(observe_messages(polled, sent).value)


def _damage(right: Outgoing, place: int, fault: str) -> Outgoing:
    if fault == "empty-payload":
        empty = requests.overwritten(right, f"messages[{place}].length", 0)
        return requests.resize(empty.replace(f"messages[{place}].payload", b""))
    if fault == "unknown-kind":
        return requests.overwritten(right, f"messages[{place}].headers[0].kind", 99)
    return requests.overwritten(right, f"messages[{place}].length", 1 << 24)
