"""Error statuses: valid requests in valid frames that the server cannot fulfil."""

from dataclasses import replace

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.observe.observations import observe
from wireproof_kit.iggy.server import Server
from wireproof_kit.iggy.topics import Stream, Topic
from wireproof_kit.iggy.wire import requests
from wireproof_kit.iggy.wire.answers import Done
from wireproof_kit.iggy.wire.payloads import Polling
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy import commands
from wireproof_spec.iggy.bodies.identifier import Identifier, make_named, numeric
from wireproof_spec.iggy.bodies.partitioning import Partitioning
from wireproof_spec.iggy.bodies.streams import CreateStream, StreamRequest
from wireproof_spec.iggy.bodies.topics import TopicRequest
from wireproof_spec.iggy.kinds import PARTITION_ID
from wireproof_spec.iggy.limits import MAX_PARTITIONS
from wireproof_suites.iggy.steps.message_contents import message
from wireproof_suites.iggy.steps.poll_results import send_and_check
from wireproof_suites.iggy.steps.requests import ABSENT, ABSENT_NAME, NO_TOPIC
from wireproof_suites.iggy.steps.stored_offsets import observe_offset

ASKS = ["get", "send", "poll"]
WIDTHS = [1, 2, 3, 5, 8]
PLACEHOLDER = "wp_name"


@case("iggy/status/unknown-stream", clause="iggy.status.unknown")
@pytest.mark.parametrize("ask", ASKS)
def test_unknown_stream(server: Server, ask: str) -> Observation:
    """A request for an unknown stream number returns an error status or an empty result."""
    return _ask_telling(server, ask, _request(server, ask, numeric(ABSENT), numeric(1)))


@case("iggy/status/unknown-stream-name", clause="iggy.status.unknown")
@pytest.mark.parametrize("ask", ASKS)
def test_unknown_stream_name(server: Server, ask: str) -> Observation:
    """A request for an unknown stream name returns an error status or an empty result."""
    return _ask_telling(server, ask, _request(server, ask, make_named(ABSENT_NAME), numeric(1)))


@case("iggy/status/unknown-topic", clause="iggy.status.unknown")
@pytest.mark.parametrize("ask", ASKS)
def test_unknown_topic(server: Server, topic: Topic, ask: str) -> Observation:
    """A request for an unknown topic number returns an error status or an empty result."""
    return _ask_telling(
        server, ask, _request(server, ask, topic.stream.id, numeric(ABSENT), of="topic")
    )


@case("iggy/status/unknown-topic-name", clause="iggy.status.unknown")
@pytest.mark.parametrize("ask", ASKS)
def test_unknown_topic_name(server: Server, topic: Topic, ask: str) -> Observation:
    """A request for an unknown topic name returns an error status or an empty result."""
    stream = topic.stream.id
    return _ask_telling(
        server, ask, _request(server, ask, stream, make_named(ABSENT_NAME), of="topic")
    )


@case("iggy/status/unknown-partition", clause="iggy.status.unknown")
@pytest.mark.parametrize("ask", ["send", "poll"])
@pytest.mark.parametrize("partition", [2, 4294967295])
def test_unknown_partition(server: Server, topic: Topic, ask: str, partition: int) -> Observation:
    """A request for an unknown partition returns an error status."""
    if ask == "send":
        return _ask(server, server.send_request(topic, message(), partition=partition))

    return _ask(server, server.poll_request(topic, Polling(partition=partition)))


@case("iggy/status/no-partitions", clause="iggy.status.unknown")
@pytest.mark.parametrize("ask", ["send", "poll"])
def test_no_partitions(server: Server, ask: str) -> Observation:
    """A send or poll on a topic without partitions returns an error status."""
    topic = server.new_topic(partitions=0)
    right = server.send_request(topic, message()) if ask == "send" else server.poll_request(topic)

    return _ask(server, right)


@case("iggy/status/taken-stream", clause="iggy.status.taken")
@pytest.mark.parametrize("taken", ["number", "name", "name-in-upper-case"])
def test_taken_stream(server: Server, taken: str) -> Observation:
    """Creating a stream with a number or name already in use is refused."""
    stream = server.new_stream()
    other = server.access.identifiers.stream()
    names = {
        "number": (stream.number, other.name),
        "name": (other.number, stream.name),
        "name-in-upper-case": (other.number, stream.name.upper()),
    }

    return _ask(server, server.request(commands.CREATE_STREAM, CreateStream(*names[taken])))


@case("iggy/status/taken-topic", clause="iggy.status.taken")
@pytest.mark.parametrize("taken", ["number", "name", "name-in-upper-case"])
def test_taken_topic(server: Server, taken: str) -> Observation:
    """Creating a topic with a number or name already in use is refused."""
    stream = server.new_stream()
    topic = server.new_topic(stream=stream)
    number = server.access.identifiers.topic_number()
    names = {
        "number": (topic.number, server.access.identifiers.topic_name(number)),
        "name": (number, topic.name),
        "name-in-upper-case": (number, topic.name.upper()),
    }
    second = Topic(stream, *names[taken], 1)

    return _ask(server, _create(server, second))


@case("iggy/status/count-zero", clause="iggy.status.refused")
@pytest.mark.parametrize("stream", ["there", "not-there"])
def test_count_zero(server: Server, topic: Topic, stream: str) -> Observation:
    """A poll with a count of 0 is refused."""
    where = topic if stream == "there" else NO_TOPIC

    return _ask(server, server.poll_request(where, Polling(count=0)))


@case("iggy/status/offset-beyond", clause="iggy.status.refused")
@pytest.mark.parametrize("offset", [3, 100, (1 << 64) - 1])
def test_offset_beyond(server: Server, topic: Topic, offset: int) -> Observation:
    """Storing an offset after the last message is refused."""
    send_and_check(server, topic, 3)
    server.store_offset(topic, 1)
    seen = observe(server.store_offset(topic, offset), then=server.client.goes_on())

    return seen.then(observe_offset(server, topic, 1).value)


@case("iggy/status/partition-width", clause="iggy.status.refused")
@pytest.mark.parametrize("width", WIDTHS)
def test_partition_width(server: Server, topic: Topic, width: int) -> Observation:
    """A partition id that is not four bytes long is refused."""
    where = Partitioning(PARTITION_ID, b"\x01" + bytes(width - 1))

    return _ask(server, server.send_request(topic, message(), partitioning=where))


@case("iggy/status/invalid-stream", clause="iggy.status.invalid")
@pytest.mark.parametrize("wrong", ["number-0", "no-name", "slash", "too-long"])
def test_invalid_stream(server: Server, wrong: str) -> Observation:
    """Creating a stream with number 0 or an illegal name is refused."""
    right = server.access.identifiers.stream()
    numbers = {"number-0": 0}
    names = {"no-name": "", "slash": f"{right.name}/a", "too-long": right.name.ljust(256, "a")}
    stream = Stream(numbers.get(wrong, right.number), names.get(wrong, right.name))
    seen = server.refusal(_create_stream(server, stream))
    if seen.value.startswith("ok"):
        made = stream.id if stream.number else make_named(stream.name)
        server.ask(commands.DELETE_STREAM, StreamRequest(made))

    return seen


@case("iggy/status/invalid-topic", clause="iggy.status.invalid")
@pytest.mark.parametrize("wrong", ["number-0", "no-name", "slash", "too-many-partitions"])
def test_invalid_topic(server: Server, wrong: str) -> Observation:
    """Creating a topic with number 0, an illegal name or too many partitions is refused."""
    stream = server.new_stream()
    number = 0 if wrong == "number-0" else 1
    name = {"no-name": "", "slash": "wp_a/b"}.get(wrong, "wp_topic")
    partitions = MAX_PARTITIONS + 1 if wrong == "too-many-partitions" else 1

    return server.refusal(_create(server, Topic(stream, number, name, partitions)))


def _ask(server: Server, outgoing: Outgoing) -> Observation:
    """Ask on a new connection, and add the state of that connection afterwards."""
    with server.connect() as connection:
        answer = connection.ask(outgoing)
        return observe(answer, then=connection.goes_on())


def _ask_telling(server: Server, ask: str, outgoing: Outgoing) -> Observation:
    """Ask on a new connection, and add the state of that connection afterwards.

    ``none`` is a successful ``get`` request with an empty body.
    """
    with server.connect() as connection:
        answer = connection.ask(outgoing)
        if ask == "get" and isinstance(answer, Done) and not answer.body:
            return observed("none").then(connection.goes_on())
        return observe(answer, then=connection.goes_on())


def _request(
    server: Server, ask: str, stream: Identifier, topic: Identifier, of: str = "stream"
) -> Outgoing:
    if ask == "send":
        return server.send_request(NO_TOPIC, message(), by=(stream, topic))
    if ask == "poll":
        return server.poll_request(NO_TOPIC, by=(stream, topic))
    if of == "stream":
        return server.request(commands.GET_STREAM, StreamRequest(stream))
    return server.request(commands.GET_TOPIC, TopicRequest(stream, topic))


def _create(server: Server, topic: Topic) -> Outgoing:
    """Return a request that creates a topic, even with an invalid name."""
    right = server.topic_to_create(replace(topic, name=PLACEHOLDER))
    return _put_name(server.request(commands.CREATE_TOPIC, right), topic.name)


def _create_stream(server: Server, stream: Stream) -> Outgoing:
    """Return a request that creates a stream, even with an invalid name."""
    right = CreateStream(stream.number, PLACEHOLDER)
    return _put_name(server.request(commands.CREATE_STREAM, right), stream.name)


def _put_name(right: Outgoing, name: str) -> Outgoing:
    """Put a name into a request, and its length where there is one: the grammar refuses some."""
    data = name.encode()
    changed = right.replace("name", data)
    if any(part.label.startswith("name_length") for part in right.parts):
        changed = requests.overwritten(changed, "name_length", len(data))
    return requests.resize(changed)
