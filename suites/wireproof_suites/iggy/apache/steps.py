"""What several cases of generation apache do: requests of each kind, broken batches, polls."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from wireproof_kit.iggy.apache import login, requests
from wireproof_kit.iggy.apache.answers import Answer
from wireproof_kit.iggy.apache.batches import NAME, batch, message
from wireproof_kit.iggy.apache.connection import Connection
from wireproof_kit.iggy.apache.observe import Polled, observe_absence, observe_unread
from wireproof_kit.iggy.apache.probes import NOBODY, SENTINEL, ask_send
from wireproof_kit.iggy.apache.requests import Polling, Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.iggy.wire.login import Credentials
from wireproof_kit.ledger.outcomes import Finding
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, MessageFrame
from wireproof_spec.iggy.apache.bodies.messages import QUORUM
from wireproof_spec.iggy.bodies.identifier import make_named, numeric

Ask = Callable[[ApacheServer, Topic, Connection], Outgoing]

UNKNOWN_NUMBER: Final = 99_999
UNKNOWN_CODE: Final = 9999
NO_STREAM: Final = make_named(NOBODY)
AS_ASKED: Final = "delivered:as-asked"


def create_stream(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that creates a stream."""
    body = requests.create_stream_body(server.new_name())
    return client.request(operations.CREATE_STREAM, body)


def send(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that sends a message to the topic."""
    return client.request(operations.SEND_MESSAGES, server.send_body(topic, batch(message())))


def send_unknown(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that sends a message to a topic that does not exist."""
    nowhere = Topic(topic.stream_id, topic.stream_name, UNKNOWN_NUMBER, NOBODY)
    return send(server, nowhere, client)


def poll(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a poll of the topic."""
    body = requests.poll_body(topic.by_number, 0, Polling())
    return client.read(operations.POLL_MESSAGES, body)


def poll_many(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Store so many messages that the reply is large, and return a poll of them."""
    store(server, topic, [50])
    return poll(server, topic, client)


def poll_unknown(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a poll of a topic that does not exist."""
    where = numeric(topic.stream_id), numeric(UNKNOWN_NUMBER)
    return client.read(operations.POLL_MESSAGES, requests.poll_body(where, 0, Polling()))


def store_offset(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that stores offset 0."""
    body = requests.store_offset_body(topic, requests.consumer(1), 0, 0, QUORUM)
    return client.request(operations.STORE_CONSUMER_OFFSET, body)


def get_offset(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Store an offset, and return a request for it."""
    server.store_offset(topic, 0)
    body = requests.get_offset_body(topic, requests.consumer(1), 0)
    return client.read(operations.GET_CONSUMER_OFFSET, body)


def delete_offset(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Store an offset, and return a request that deletes it."""
    server.store_offset(topic, 0)
    body = requests.delete_offset_body(topic, requests.consumer(1), 0)
    return client.request(operations.DELETE_CONSUMER_OFFSET, body)


def create_topic(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that creates a topic of a name that the run's stream has."""
    body = requests.create_topic_body(topic.by_number[0], topic.name, 1)
    return client.request(operations.CREATE_TOPIC, body)


def delete_topic(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that deletes the topic."""
    return client.request(operations.DELETE_TOPIC, requests.topic_body(*topic.by_number))


def create_topic_nowhere(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that creates a topic in a stream that does not exist."""
    body = requests.create_topic_body(NO_STREAM, topic.name, 1)
    return client.request(operations.CREATE_TOPIC, body)


def delete_topic_nowhere(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that deletes a topic that does not exist."""
    body = requests.topic_body(topic.by_number[0], numeric(UNKNOWN_NUMBER))
    return client.request(operations.DELETE_TOPIC, body)


def delete_no_offset(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request that deletes the offset of a consumer that has stored none."""
    body = requests.delete_offset_body(topic, requests.consumer(NOBODY), 0)
    return client.request(operations.DELETE_CONSUMER_OFFSET, body)


def get_topics(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request for all topics of the stream."""
    return client.read(operations.GET_TOPICS, requests.stream_body(topic.by_number[0]))


def get_me(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request for what the server knows of this client."""
    return client.read(operations.GET_ME)


def get_topic(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request for the topic."""
    return client.read(operations.GET_TOPIC, requests.topic_body(*topic.by_number))


def get_nobody(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request for a stream that does not exist."""
    return client.read(operations.GET_STREAM, requests.stream_body(NO_STREAM))


def get_streams(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a request for all streams."""
    return client.read(operations.GET_STREAMS)


def unknown_code(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a read whose code does not exist."""
    return client.read(UNKNOWN_CODE)


def ping(server: ApacheServer, topic: Topic, client: Connection) -> Outgoing:
    """Return a ping."""
    return client.ping()


WRONG_LOGINS: Final = ("version", "cut", "password")


def wrong_login(server: ApacheServer, kind: str, connection: Connection) -> Answer:
    """Log in wrongly: with another version, with a cut body or with a wrong password."""
    access = server.access
    wrong = Credentials(access.credentials.name, "wp wrong password")
    version = access.entered.server_protocol_version + (1 << 20) if kind == "version" else None
    body = login.login_body(wrong, access.envelope, version=version)
    return login.ask_login(
        connection, access.envelope, body[:3] if kind == "cut" else body, wrong.name
    )


def refused_and_absent(
    server: ApacheServer, topic: Topic, body: Outgoing | bytes, unwanted: Sequence[MessageFrame]
) -> Observation:
    """Send a batch that must not be stored, and the sentinel; observe what is stored."""
    answer = ask_send(server, topic, body)
    if answer.kind in ("closed", "evicted", "nonsense"):
        server.reconnect()
        server.send_accepted(topic, message(SENTINEL))
    polled = server.poll_for(topic, SENTINEL)
    payloads = [each.payload for each in unwanted]
    return observe_absence(polled, unwanted=payloads, sentinel=SENTINEL).on(answer, polled)


def store(
    server: ApacheServer, topic: Topic, sizes: Sequence[int], *, partition: int = 0
) -> list[MessageFrame]:
    """Send batches of these sizes, one after the other; return all messages in their order."""
    sent: list[MessageFrame] = []
    for size in sizes:
        start = len(sent)
        numbers = range(start, start + size)
        # Every second one has a user header: a server may cut a batch right only without any.
        sent += [message(b"message %d" % number, *(NAME,) * (number % 2)) for number in numbers]
        server.send_accepted(topic, *sent[start:], partition=partition)
    server.poll_until(topic, len(sent), Polling(partition=partition, count=len(sent)))
    return sent


def each_part(server: ApacheServer, topic: Topic, count: int) -> Iterator[Polled]:
    """Poll from each offset of so many messages, with counts of 1, 2 and all that are left."""
    for start in range(count):
        for size in sorted({1, 2, count - start}):
            yield server.poll(topic, Polling(value=start, count=size))


def observe_batches(
    polls: Sequence[Polled], judge: Callable[[Batch], Iterator[Finding]], right: str
) -> Observation:
    """Judge each polled batch by a rule; return the first breach, or what is right."""
    for polled in polls:
        unread = observe_unread(polled)
        if unread is not None:
            return unread
        for each in polled.batches:
            broken = next((found for found in judge(each) if not found.holds), None)
            if broken is not None:
                seen = observed(broken.value, difference=broken.difference, note=broken.note)
                return seen.on(polled)
    if not any(polled.batches for polled in polls):
        return observed("missing", overdue=True).on(*polls)
    return observed(right).on(*polls)


def observe_asked(
    polled: Polled, due: Sequence[MessageFrame], *, whole: bool = True
) -> Observation:
    """Compare polled messages with those that are due; unless ``whole``, with the first of them.

    ``delivered:as-asked``, ``delivered:none``, ``fewer``, ``more`` or ``other``.
    """
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    payloads = [each.payload for each in due]
    if not whole:
        payloads = payloads[: max(1, len(polled.frames))]
    if polled.payloads == payloads:
        return observed(AS_ASKED).on(polled)
    came, note = len(polled.frames), f"{len(polled.frames)} in place of {len(payloads)}"
    if not came:
        return observed("delivered:none", note=note).on(polled)
    if came != len(payloads):
        word = "fewer" if came < len(payloads) else "more"
        return observed(f"delivered:{word}", note=note).on(polled)
    return observed("delivered:other", note=f"from {polled.payloads[0]!r}").on(polled)
