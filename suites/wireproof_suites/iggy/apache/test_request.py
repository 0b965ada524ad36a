"""Request numbers, request checksums, and sessions that are too old."""

import pytest
from msgspec.structs import replace

from wireproof_kit.case import case
from wireproof_kit.iggy.apache import login, requests
from wireproof_kit.iggy.apache.answers import Replied
from wireproof_kit.iggy.apache.batches import batch, message
from wireproof_kit.iggy.apache.observe import first_unlike, observe, observe_messages
from wireproof_kit.iggy.apache.probes import ask_unserved
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation, observed
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.checksum import xxh3_64
from wireproof_suites.iggy.apache import steps


@case("iggy/apache/request/gaps", clause="iggy.apache.request.gaps")
@pytest.mark.parametrize("step", [1, 2, 1000, 1 << 40], ids=["1", "2", "1000", "2-to-40"])
def test_gaps(apache: ApacheServer, step: int) -> Observation:
    """A metadata operation is served with any number above the last one."""
    client, seen = apache.client, list[Observation]()
    for _ in range(3):
        client.number += step - 1
        body = requests.create_stream_body(apache.new_name())
        answer = client.ask(client.request(operations.CREATE_STREAM, body))
        seen.append(observe(answer, framed=True))
    return first_unlike(seen, "ok")


@case("iggy/apache/request/dedup", clause="iggy.apache.request.dedup")
def test_dedup(apache: ApacheServer) -> Observation:
    """A metadata operation that is sent again is answered as the first time."""
    client = apache.client
    body = requests.create_stream_body(apache.new_name())
    asked = client.request(operations.CREATE_STREAM, body)
    first, again = client.ask(asked), client.ask(asked)
    if not isinstance(first, Replied) or not isinstance(again, Replied):
        return observe(again)
    is_same = (first.header.status, first.body) == (again.header.status, again.body)
    return observed("same").on(first, again) if is_same else observe(again, framed=True)


@case("iggy/apache/request/untracked", clause="iggy.apache.request.untracked")
@pytest.mark.parametrize("rise", [0, 1], ids=["same-number", "rising"])
def test_untracked(apache: ApacheServer, apache_topic: Topic, rise: int) -> Observation:
    """Partition operations are served with the number of the request before, or a new one."""
    client = apache.client
    sent = [message(b"first"), message(b"second")]
    header = client.header(operations.SEND_MESSAGES)
    seen: list[Observation] = []
    for number, each in enumerate(sent):
        own = replace(header, request=header.request + number * rise)
        client.number = own.request
        answer = client.ask(requests.frame(own, apache.send_body(apache_topic, batch(each))))
        seen.append(observe(answer))
    worst = first_unlike(seen, "ok")
    if worst.value != "ok":
        return worst
    return worst.then(observe_messages(apache.poll_until(apache_topic, 2), sent).value)


@case("iggy/apache/request/unstamped", clause="iggy.apache.request.unstamped")
@pytest.mark.parametrize("is_stamped", [False, True], ids=["no-checksum", "checksum"])
def test_unstamped(apache: ApacheServer, is_stamped: bool) -> Observation:
    """A request without a checksum, or with the right one, is served."""
    body = requests.create_stream_body(apache.new_name())
    checksum = xxh3_64(body.data) if is_stamped else 0
    header = apache.client.header(operations.CREATE_STREAM)
    asked = requests.frame(replace(header, request_checksum=checksum), body)
    return observe(apache.client.ask(asked), framed=True)


@case("iggy/apache/request/stamp", clause="iggy.apache.request.stamp")
@pytest.mark.parametrize("kind", ["one-bit", "other-body"])
def test_stamp(apache: ApacheServer, kind: str) -> Observation:
    """A request whose checksum is not that of its body is refused."""
    client = apache.client
    body = requests.create_stream_body(apache.new_name())
    checksum = xxh3_64(body.data) ^ 1 if kind == "one-bit" else xxh3_64(b"another body")
    header = replace(client.header(operations.CREATE_STREAM), request_checksum=checksum)
    return observe(ask_unserved(client, header, body))


@case("iggy/apache/request/session-stale", clause="iggy.apache.request.session-stale")
@pytest.mark.parametrize("kind", ["read", "create"])
def test_session_stale(apache: ApacheServer, apache_topic: Topic, kind: str) -> Observation:
    """When a client id registers again elsewhere, the first connection is refused."""
    first, second = apache.connect(), apache.connect(enter=False)
    second.client = first.client
    login.log_in(second, apache.access.credentials, apache.access.envelope)
    ask = steps.get_streams if kind == "read" else steps.create_stream
    return observe(first.ask_before(ask(apache, apache_topic, first)))
