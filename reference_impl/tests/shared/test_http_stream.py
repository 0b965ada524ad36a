"""Requests out of a stream, and the heads of answers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wireproof_reference_impl.http_stream import (
    MOST_HEAD_BYTES,
    BadRequest,
    End,
    Event,
    Head,
    Requests,
    answer_head,
)

HOST = b"Host: x\r\n"
POST = b"POST /p?a=1 HTTP/1.1\r\n" + HOST + b"X-A: \xff \r\nContent-Length: 3\r\n\r\nabc"
CHUNKED = (
    b"POST /c HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    b"2\r\nab\r\n1\r\nc\r\n0\r\nTrailer: x\r\n\r\n"
)
GET = b"GET /g HTTP/1.1\r\n" + HOST + b"\r\n"


def request(*headers: bytes, line: bytes = b"GET /g HTTP/1.1", host: bytes = HOST) -> bytes:
    return line + b"\r\n" + host + b"".join(each + b"\r\n" for each in headers) + b"\r\n"


def events(requests: Requests) -> list[Event]:
    """What has come, pieces of a body put together."""
    found: list[Event] = []
    while (event := requests.next()) is not None:
        if isinstance(event, bytes) and found and isinstance(found[-1], bytes):
            found[-1] += event
        else:
            found.append(event)
    return found


def read(*pieces: bytes) -> list[Event]:
    requests = Requests()
    for piece in pieces:
        requests.feed(piece)
    return events(requests)


def head_of(data: bytes) -> Head:
    head = read(data)[0]
    assert isinstance(head, Head)
    return head


def refused(data: bytes) -> int:
    requests = Requests()
    requests.feed(data)
    with pytest.raises(BadRequest) as caught:
        events(requests)
    return caught.value.status


def test_a_request_is_its_head_its_body_and_its_end() -> None:
    head, body, end = read(POST)

    assert head == Head(
        method="POST",
        target=b"/p?a=1",
        headers=((b"Host", b"x"), (b"X-A", b"\xff"), (b"Content-Length", b"3")),
        length=3,
        lasts=True,
        expects=False,
    )
    assert (body, end) == (b"abc", End.REQUEST)
    assert isinstance(head, Head)
    assert head.field(b"x-a") == b"\xff"
    assert head.field(b"x-b") == b""


@given(st.lists(st.integers(0, len(POST + CHUNKED + GET)), max_size=8))
def test_pieces_make_no_difference(cuts: list[int]) -> None:
    data = POST + CHUNKED + GET
    places = [0, *sorted(cuts), len(data)]
    pieces = [data[begin:end] for begin, end in pairwise(places)]

    whole = read(data)

    assert read(*pieces) == whole
    assert [each for each in whole if isinstance(each, bytes)] == [b"abc", b"abc"]
    assert whole.count(End.REQUEST) == 3


@pytest.mark.parametrize(
    ("data", "lasts"),
    [
        (request(), True),
        (request(b"Connection: keep-alive"), True),
        (request(b"Connection: close"), False),
        (request(line=b"GET /g HTTP/1.0", host=b""), False),
        (request(b"Connection: keep-alive", line=b"GET /g HTTP/1.0"), False),
        (request(b"Connection: upgrade", b"Upgrade: h2c"), False),
    ],
)
def test_what_may_follow(data: bytes, *, lasts: bool) -> None:
    assert head_of(data).lasts is lasts


def test_a_wish_for_100_is_told_of_the_version_that_has_it() -> None:
    wish = b"Expect: 100-Continue"

    assert head_of(request(wish)).expects
    assert not head_of(request(wish, line=b"GET /g HTTP/1.0")).expects
    assert not head_of(request()).expects


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x00\x01\x02\x03", 400),
        (b"GARBAGE\r\n\r\n", 400),
        (request(b"no colon"), 400),
        (request(b"X: a\x00b"), 400),
        (request(b"Content-Length: +3"), 400),
        (request(b"Content-Length: 3", b"Content-Length: 4"), 400),
        (request(b"Content-Length: 99999999999999999999999"), 400),
        (request(b"Content-Length: 3", b"Transfer-Encoding: chunked"), 400),
        (request(host=b""), 400),
        (request(line=b"GET /g HTTP/2.0"), 505),
        (request(line=b"GET /g"), 505),
        (request(b"Transfer-Encoding: gzip"), 501),
        (b"GET /g HTTP/1.1\r\nX: " + b"x" * MOST_HEAD_BYTES, 431),
    ],
)
def test_what_is_no_request_is_refused(data: bytes, status: int) -> None:
    assert refused(data) == status


def test_whole_requests_come_before_the_refusal_of_what_follows() -> None:
    requests = Requests()
    requests.feed(POST + b"\x00")

    found = [requests.next() for _ in range(3)]

    assert found[1:] == [b"abc", End.REQUEST]
    with pytest.raises(BadRequest):
        requests.next()


def test_nothing_is_read_behind_a_refusal() -> None:
    requests = Requests()
    requests.feed(b"\x00")
    requests.feed(GET)

    with pytest.raises(BadRequest):
        requests.next()


@pytest.mark.parametrize("data", [b"", GET, POST + CHUNKED])
def test_the_end_between_requests_is_an_end(data: bytes) -> None:
    requests = Requests()
    requests.feed(data)
    requests.end()

    assert events(requests)[-1] is End.STREAM


@pytest.mark.parametrize("data", [b"G", GET[:-1], POST[:-1], CHUNKED[:-1]])
def test_the_end_within_a_request_is_a_fault(data: bytes) -> None:
    requests = Requests()
    requests.feed(data)
    requests.end()

    with pytest.raises(BadRequest):
        events(requests)


def test_an_answer_begins_with_its_status_and_headers() -> None:
    headers = [("Content-Type", "text/plain"), ("Content-Length", "2")]

    assert answer_head(200, headers) == (
        b"HTTP/1.1 200 \r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n"
    )
    assert answer_head(404, [], reason="Not Found", closes=True) == (
        b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n"
    )
