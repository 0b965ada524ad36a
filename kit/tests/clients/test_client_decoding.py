"""What a client sends that no peer can read is an event for the case, no error of the kit."""

import pytest

from wireproof_kit.clients.events import Event, Malformed
from wireproof_kit.clients.story import Story
from wireproof_kit.iggy.clients.decoder import HTTP, IggyDecoder
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.nsq.clients.decoder import NsqDecoder
from wireproof_kit.nsq.clients.events import Commanded, Requested
from wireproof_kit.nsq.clients.script import LOOKUP_1, NODE_1
from wireproof_suites.nsq.client.seen import list_ready

NODE, LOOKUPD, PORT = f"{NODE_1}.1", f"{LOOKUP_1}.1", f"{HTTP}.1"
TCP, PING = "tcp.1", bytes.fromhex("0400000001000000")


def read_command(line: bytes) -> list[Event]:
    decoder = NsqDecoder()
    decoder.open(0.0, NODE)
    return [*decoder.decode_received(0.0, NODE, b"  V2" + line)][1:]


def test_a_connection_whose_beginning_was_not_recorded_begins_with_a_command() -> None:
    (event,) = NsqDecoder().decode_received(0.0, NODE, b"RDY 2\n")
    assert isinstance(event, Commanded)

    (event,) = NsqDecoder().decode_received(0.0, LOOKUPD, request(b"GET", b"/lookup?topic=t"))
    assert isinstance(event, Requested)

    (event,) = IggyDecoder().decode_received(0.0, TCP, PING)
    assert isinstance(event, Asked)

    (event,) = IggyDecoder().decode_received(0.0, PORT, request(b"GET", b"/ping"))
    assert isinstance(event, Asked)


@pytest.mark.parametrize("count", [b"one", b"-1", b"1.0", b"", b"9" * 20, b"\xb2"])
def test_a_ready_without_a_number_is_malformed(count: bytes) -> None:
    nop, event = read_command(b"NOP\nRDY " + count + b"\nNOP\n")

    assert isinstance(nop, Commanded)
    assert isinstance(event, Malformed)
    assert (event.error.field, event.error.offset) == ("count", len(b"  V2NOP\nRDY "))


@pytest.mark.parametrize(
    ("line", "count"), [(b"RDY 1\n", 1), (b"RDY 007\n", 7), (b"RDY\n", 1), (b"RDY 2500\n", 2500)]
)
def test_the_count_of_a_ready_is_read(line: bytes, count: int) -> None:
    story = Story(NsqDecoder())
    story.events += read_command(line)

    assert list_ready(story) == [(NODE, count)]


@pytest.mark.parametrize("target", [b"/lookup?topic=%ff", b"//[", b"http://[x]/lookup"])
def test_a_request_for_any_target_is_an_event(target: bytes) -> None:
    decoder = NsqDecoder()
    decoder.open(0.0, LOOKUPD)

    assert [*decoder.decode_received(0.0, LOOKUPD, request(b"GET", target))]


@pytest.mark.parametrize("word", [b"9" * 11, b"9" * 5000, b"4294967296"])
def test_an_identifier_beyond_32_bits_is_a_name(word: bytes) -> None:
    (event,) = read_request(request(b"GET", b"/streams/" + word + b"/topics/1/messages"))

    assert isinstance(event, Asked)
    assert event.poll is not None
    assert event.poll.stream.value == word


@pytest.mark.parametrize("name", [b"partition_id", b"value", b"count"])
@pytest.mark.parametrize("number", [b"one", b"-1", b"9" * 25, b"9" * 5000])
def test_a_parameter_without_a_number_is_malformed(name: bytes, number: bytes) -> None:
    target = b"/streams/1/topics/1/messages?" + name + b"=" + number

    (event,) = read_request(request(b"GET", target))

    assert isinstance(event, Malformed)
    assert event.error.field == name.decode()


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' * 50_000, b"9" * 5000, b"\xff", b"null"]
)
def test_a_document_that_cannot_be_read_is_malformed(body: bytes) -> None:
    (event,) = read_request(request(b"POST", b"/streams/1/topics/1/messages", body))

    assert isinstance(event, Malformed)


def request(method: bytes, target: bytes, body: bytes = b"") -> bytes:
    head = b"%s %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d" % (method, target, len(body))
    return head + b"\r\n\r\n" + body


def read_request(data: bytes) -> list[Event]:
    decoder = IggyDecoder()
    decoder.open(0.0, PORT)
    return [*decoder.decode_received(0.0, PORT, data)]
