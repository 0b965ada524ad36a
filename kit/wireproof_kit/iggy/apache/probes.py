"""Probes of an Apache Iggy server: its capabilities, and its readings of the pages.

Each docstring lists the words it can return; ``unavailable`` if the probe cannot get what it
needs.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from wireproof_kit.iggy.apache import batches, login, requests
from wireproof_kit.iggy.apache.answers import Answer, Replied
from wireproof_kit.iggy.apache.connection import Connection
from wireproof_kit.iggy.apache.disk import wait_for_log
from wireproof_kit.iggy.apache.observe import observe
from wireproof_kit.iggy.apache.server import ApacheServer, confirmations_of
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.outgoing import Outgoing
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.header import RequestHeader
from wireproof_spec.iggy.bodies.identifier import make_named

SENT_TIME_US: Final = 1_700_000_000_123_456
"""A time of the past, which no server would set itself."""
UNKNOWN_OPERATION: Final = 255
NOBODY: Final = "wp_nobody"
"""The name of a stream that is never created."""

Probe = Callable[[ApacheServer], Observation]


def apache(server: ApacheServer) -> Observation:
    """Log in: ``ok``; the session has done so already, or it would not be there."""
    with server.connect():
        return observed("ok")


def http(server: ApacheServer) -> Observation:
    """Ask for the streams over HTTP: ``ok``, or ``http:STATUS``."""
    answer = server.http.get("/streams")
    return observed("ok" if answer.status == 200 else f"http:{answer.failure or answer.status}")


def disk(server: ApacheServer) -> Observation:
    """Send a message and look for it in the data directory: ``ok`` or ``missing``."""
    topic = server.new_topic()
    message = batches.message(b"wp probe of the disk")
    server.send_accepted(topic, message)
    log = wait_for_log(server, topic, message.payload)
    return observed("ok" if message.payload in log else "missing")


def groups(server: ApacheServer) -> Observation:
    """Create a consumer group: ``ok``, or what was answered."""
    body = requests.create_group_body(server.new_topic(), NOBODY)
    return observe(server.ask_settled(operations.CREATE_CONSUMER_GROUP, body), framed=True)


def login_body(server: ApacheServer) -> Observation:
    """Log in: ``reply:bare`` or ``reply:result-section``, or what was answered."""
    with server.connect(enter=False) as connection:
        access = server.access
        answer = login.log_in(connection, access.credentials, access.envelope)
    entered = login.read_entered(access.envelope, answer)
    seen = login.observe_login(access.envelope, answer)
    return seen if entered is None else observed(f"reply:{entered.place}")


def echo(server: ApacheServer) -> Observation:
    """Read, create a stream and send: ``echo:fields``, or ``other:`` and the first other field."""
    topic = server.new_topic()
    client = server.client
    asked = (
        echo_read(client),
        echo_create(client, server.new_name()),
        echo_send(server, client, topic),
    )
    seen = [observe_echo(each, client.ask(each)) for each in asked]
    return next((each for each in seen if each.value != "echo:fields"), seen[0])


def echo_read(client: Connection, code: int = operations.PING) -> Outgoing:
    """Return a read that has a time, by default a ping."""
    return requests.frame(timed(client.header(operations.NON_REPLICATED, code=code)))


def echo_create(client: Connection, name: str) -> Outgoing:
    """Return a request that creates a stream, and has a time."""
    header = timed(client.header(operations.CREATE_STREAM))
    return requests.frame(header, requests.create_stream_body(name))


def echo_send(server: ApacheServer, client: Connection, topic: requests.Topic) -> Outgoing:
    """Return a send that has a time."""
    header = timed(client.header(operations.SEND_MESSAGES))
    return requests.frame(header, server.send_body(topic, batches.batch(batches.message())))


def timed(header: RequestHeader) -> RequestHeader:
    """Return a header with a time of the past."""
    return replace(header, timestamp=SENT_TIME_US)


def observe_echo(asked: Outgoing, answer: Answer) -> Observation:
    """Compare client id, time and operation of a reply with those of its request."""
    if not isinstance(answer, Replied):
        return observe(answer)
    found, data = answer.header, asked.data
    due = {
        "client": (int.from_bytes(data[128:144], "little"), found.client),
        "timestamp": (SENT_TIME_US, found.timestamp),
        "operation": (data[176], found.operation),
    }
    unlike = next((name for name, (one, other) in due.items() if one != other), None)
    return observed(f"other:{unlike}" if unlike else "echo:fields").on(answer)


def unknown_operation(server: ApacheServer) -> Observation:
    """Send a request with operation 255: ``evicted:REASON``, ``silence``, or what was answered."""
    with server.connect() as connection:
        return observe(ask_unserved(connection, connection.header(UNKNOWN_OPERATION)))


def ask_unserved(
    connection: Connection, header: RequestHeader, body: Outgoing | bytes = b""
) -> Answer:
    """Send a request that is not to be served, and return the answer or that there is none.

    Behind it goes a request that deletes a stream that does not exist: it goes the way of requests
    that change something, and would be answered later than the one in front of it.
    """
    stream = requests.stream_body(make_named(NOBODY))
    return connection.ask_before(
        requests.frame(header, body), lambda: connection.request(operations.DELETE_STREAM, stream)
    )


def header_checks(server: ApacheServer) -> Observation:
    """Send a message with a header of kind 0: ``kept`` or ``refused``."""
    topic = server.new_topic()
    block = batches.field_bytes(0, b"key") + batches.field_bytes(2, b"value")
    answer = ask_send(
        server, topic, server.send_body(topic, batches.batch(batches.message(block=block)))
    )
    return observed("kept" if confirmations_of(answer) else "refused").on(answer)


def ask_send(server: ApacheServer, topic: requests.Topic, body: Outgoing | bytes) -> Answer:
    """Send a batch that may be refused, with a right one behind it to the same partition.

    Return the answer, or that there is none though the right one was answered.
    """
    client = server.client
    return client.ask_before(
        client.request(operations.SEND_MESSAGES, body),
        lambda: client.request(operations.SEND_MESSAGES, sentinel_body(server, topic)),
    )


SENTINEL: Final = b"sentinel"


def sentinel_body(server: ApacheServer, topic: requests.Topic) -> Outgoing:
    """Return the body of a send of the sentinel to a topic's partition."""
    return server.send_body(topic, batches.batch(batches.message(SENTINEL)))


CAPABILITY_PROBES: Mapping[str, Probe] = {
    "apache": apache,
    "apache-groups": groups,
    "http": http,
    "disk": disk,
}

READING_PROBES: Mapping[str, Probe] = {
    "iggy-apache-login-body": login_body,
    "iggy-apache-echo": echo,
    "iggy-apache-unknown-operation": unknown_operation,
    "iggy-apache-header-checks": header_checks,
}
