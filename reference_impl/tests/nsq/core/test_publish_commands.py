"""PUB, PUB_TRACE, PUB_EXT and the batches in the published dialect."""

import pytest
from nsq_bench import Bench, Client, pub, pub_ext, sized, word

from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_spec.decoding import decode
from wireproof_spec.nsq.trace_response import TRACE_RESPONSE, TraceResponse

LIMITS = Limits(message=1000, body=3000)


@pytest.fixture
def bench() -> Bench:
    bench = Bench(limits=LIMITS)
    bench.topic("ext")
    bench.topic("plain", extend=False)
    bench.topic("ordered", ordered=True)
    return bench


@pytest.fixture
def client(bench: Bench) -> Client:
    return bench.connect()


def batch(*messages: bytes, count: int | None = None) -> bytes:
    number = len(messages) if count is None else count
    return sized(number.to_bytes(4) + b"".join(map(sized, messages)))


def with_header(header: bytes, body: bytes) -> bytes:
    return len(header).to_bytes(2) + header + body


FATAL = {
    "no topic": (b"PUB\n", "E_INVALID"),
    "no partition": (b"PUB ext\n" + sized(b"x"), "E_INVALID"),
    "word too many": (b"PUB ext 0 1\n" + sized(b"x"), "E_INVALID"),
    "partition no number": (b"PUB ext a\n" + sized(b"x"), "E_INVALID"),
    "bad topic": (pub("b!d", b"x"), "E_BAD_TOPIC"),
    "unknown topic": (pub("nosuch", b"x"), "E_TOPIC_NOT_EXIST"),
    "unknown partition": (pub("ext", b"x", "1"), "E_TOPIC_NOT_EXIST"),
    "size 0": (b"PUB ext 0\n" + bytes(4), "E_BAD_MESSAGE"),
    "size -1": (b"PUB ext 0\n" + b"\xff" * 4, "E_BAD_MESSAGE"),
    "too big": (b"PUB ext 0\n" + (1001).to_bytes(4), "E_BAD_MESSAGE"),
    "ext bad topic": (pub_ext("b!d", b"{}", b"x"), "E_BAD_TOPIC"),
    "ext size 0": (b"PUB_EXT ext 0\n" + bytes(4), "E_BAD_MESSAGE"),
    "ext too big": (b"PUB_EXT ext 0\n" + (1001).to_bytes(4), "E_BAD_MESSAGE"),
    "ext size 2": (b"PUB_EXT ext 0\n" + sized(bytes(2)), "E_BAD_MESSAGE"),
    "ext beyond frame": (pub_ext("ext", b"{}", b"x", length=4), "E_BAD_MESSAGE"),
    "ext no body": (pub_ext("ext", b"{}", b""), "E_BAD_MESSAGE"),
    "trace size 8": (b"PUB_TRACE ext 0\n" + sized(bytes(8)), "E_BAD_MESSAGE"),
    "batch of none": (b"MPUB ext 0\n" + batch(), "E_BAD_BODY"),
    "batch too big": (b"MPUB ext 0\n" + (3001).to_bytes(4), "E_BAD_BODY"),
    "batch lacks a message": (b"MPUB ext 0\n" + batch(b"a", count=2), "E_BAD_MESSAGE"),
    "batch with a rest": (b"MPUB ext 0\n" + batch(b"a", b"b", count=1), "E_BAD_BODY"),
    "batch message of none": (b"MPUB ext 0\n" + batch(b"a", b""), "E_BAD_MESSAGE"),
    "batch message too big": (b"MPUB ext 0\n" + batch(b"a" * 1001), "E_BAD_MESSAGE"),
    "batch trace too small": (b"MPUB_TRACE ext 0\n" + batch(bytes(8)), "E_BAD_MESSAGE"),
    "unknown command": (b"PUBX ext 0\n", "E_INVALID"),
}


@pytest.mark.parametrize("case", FATAL)
def test_refused_for_good(client: Client, case: str) -> None:
    frame, code = FATAL[case]

    assert client.ask(frame) == code
    assert client.closed


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (b"{", "E_INVALID_JSON_HEADER"),
        (b"", "E_INVALID_JSON_HEADER"),
        (b'{"a":1}', "E_INVALID_JSON_HEADER"),
        (b'{"a":"1","a":"2"}', "E_INVALID_JSON_HEADER"),
        (b'{"a b":"1"}', "E_INVALID_JSON_HEADER"),
        (b'{"##x":"1"}', "E_INVALID_JSON_HEADER"),
        (b'{"a":"\n"}', "E_INVALID_JSON_HEADER"),
        (b'["a"]', "E_INVALID_JSON_HEADER"),
        (b'{"##trace_id":"x"}', "INVALID_TRACE_ID"),
        (b'{"##trace_id":1}', "INVALID_TRACE_ID"),
        (b'{"##trace_id":"18446744073709551616"}', "INVALID_TRACE_ID"),
    ],
)
def test_refused_header_leaves_the_connection_in_step(
    bench: Bench, client: Client, header: bytes, code: str
) -> None:
    assert client.ask(pub_ext("ext", header, b"PUB ext 0\n")) == code
    assert client.ask(b"MPUB_EXT ext 0\n" + batch(with_header(header or b"{", b"x"))) in (
        code,
        "E_INVALID_JSON_HEADER",
    )
    assert client.ask(pub_ext("ext", b"{}", b"right")) == "OK"
    assert bench.consumer("ext").bodies(extend=True) == [b"right"]


def test_a_refused_batch_stores_nothing_and_leaves_the_stream_in_step(
    bench: Bench, client: Client
) -> None:
    messages = [with_header(b"{}", b"1"), with_header(b"{", b"2"), with_header(b"{}", b"3")]

    assert client.ask(b"MPUB_EXT ext 0\n" + batch(*messages)) == "E_INVALID_JSON_HEADER"
    assert client.ask(b"MPUB_EXT ext 0\n" + batch(messages[0])) == "OK"
    assert bench.consumer("ext").bodies(extend=True) == [b"1"]


def test_trace_responses_tell_where_messages_are(client: Client) -> None:
    header = b'{"##trace_id":"77"}'
    client.send(pub("ext", b"first") + pub_ext("ext", header, b"second"))
    assert word(client.frame()) == "OK"
    frame = client.frame()

    assert frame is not None
    first, second = 4 + 26 + 1 + 5, 4 + 26 + 3 + len(header) + 6
    assert decode(TRACE_RESPONSE, frame.data) == TraceResponse(2, 77, first, second)


def test_a_traced_batch_is_answered_as_a_whole(client: Client) -> None:
    messages = [(7).to_bytes(8) + b"a", (8).to_bytes(8) + b"bb"]
    client.send(b"MPUB_TRACE plain 0\n" + batch(*messages))
    frame = client.frame()

    assert frame is not None
    assert decode(TRACE_RESPONSE, frame.data) == TraceResponse(1, 0, 0, 31 + 32)


def test_an_empty_trace_id_is_none(client: Client) -> None:
    assert client.ask(pub_ext("ext", b'{"##trace_id":""}', b"x")) == "OK"


def test_a_header_is_refused_on_a_plain_topic(client: Client) -> None:
    assert client.ask(pub_ext("plain", b"{}", b"x")) == "E_EXT_NOT_SUPPORT"
    assert client.ask(pub("plain", b"x")) == "OK"


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_frame_that_is_cut_off_is_not_published(bench: Bench, cut: int) -> None:
    frame = pub_ext("ext", b'{"k":"v"}', b"body")
    client = bench.connect()
    client.send(frame[:-cut])
    client.half_close()

    assert client.closed
    assert bench.consumer("ext").bodies(extend=True) == []


def test_frames_may_be_cut_anywhere(bench: Bench) -> None:
    frames = pub_ext("ext", b'{"k":"v"}', b"1") + pub("ext", b"2") + b"NOP\n" + pub("ext", b"3")
    for at in range(1, len(frames)):
        client = bench.connect()
        client.send(frames[:at])
        client.send(frames[at:])
        assert [word(client.frame()) for _ in range(3)] == ["OK"] * 3
        assert client.frame(within=0.01) is None


def test_a_refused_frame_harms_nobody_else(bench: Bench, client: Client) -> None:
    other = bench.connect()
    client.ask(pub("nosuch", b"x"))

    assert other.ask(pub("ext", b"x")) == "OK"
    assert bench.connect().ask(pub("ext", b"x")) == "OK"


def test_header_lengths_up_to_the_greatest() -> None:
    bench = Bench()
    bench.topic("ext")
    consumer, client = bench.consumer("ext"), bench.connect()
    for length in (255, 256, 32767, 32768, 65533, 65534, 65535):
        header = b'{"k":"%s"}' % (b"v" * (length - 8))
        assert client.ask(pub_ext("ext", header, b"x")) == "OK"
        extend = consumer.message(extend=True).extend
        assert extend is not None
        assert extend.data == header
