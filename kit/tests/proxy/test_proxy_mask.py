"""Secrets that pass the proxy are masked before anything is kept, in pieces of any size."""

import pytest

from wireproof_kit.iggy.clients.mask import make_mask as make_iggy
from wireproof_kit.nsq.clients.mask import make_mask as make_nsq
from wireproof_kit.wire.mask import MakeMask, Mask

SECRET = b"5ecret-of-mine"
STARS = b"*" * len(SECRET)


def sized(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def asked(code: int, payload: bytes) -> bytes:
    return (len(payload) + 4).to_bytes(4, "little") + code.to_bytes(4, "little") + payload


def short(text: bytes) -> bytes:
    return bytes([len(text)]) + text


NODE = b"  V2IDENTIFY\n" + sized(b'{"a":1}') + b"AUTH\n" + sized(SECRET) + b"SUB t c\nRDY 1\n"
MPUB = b"PUB t\n" + sized(b"AUTH\n" + sized(b"a message")) + b"NOP\n"
PING = asked(1, b"")
LOGIN = asked(38, short(b"name") + short(SECRET) + bytes(8))
HEAD = b"POST /users/login HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + SECRET + b"\r\n"
BODY = b'{"password":"' + SECRET + b'"}'
PLAIN = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY + b"GET /x HTTP/1.1\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def fed(mask: Mask, data: bytes, size: int, *, by_client: bool = True) -> bytes:
    pieces = (data[at : at + size] for at in range(0, len(data), size))
    return b"".join(mask.feed(piece, by_client=by_client) for piece in pieces)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("make", "conn", "data"),
    [(make_nsq, "nsqd1.1", NODE + MPUB), (make_iggy, "tcp1.1", LOGIN + PING)],
)
def test_a_secret_is_masked_and_nothing_else_changes(
    make: MakeMask, conn: str, data: bytes, size: int
) -> None:
    assert fed(make(conn), data, size) == data.replace(SECRET, STARS)


@pytest.mark.parametrize("code", [33, 37, 44])
def test_other_commands_with_secrets_are_masked_whole(code: int) -> None:
    data = asked(code, short(b"name") + short(SECRET))

    assert fed(make_iggy("tcp1.1"), data + PING, 3) == data[:8] + b"*" * (len(data) - 8) + PING


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_message_that_looks_like_auth_passes(size: int) -> None:
    data = b"  V2" + MPUB

    assert fed(make_nsq("nsqd1.1"), data, size) == data


def test_an_auth_that_promises_more_hides_all_that_follows() -> None:
    data = b"  V2AUTH\n" + (1 << 30).to_bytes(4, "big") + SECRET + SECRET

    assert SECRET not in fed(make_nsq("nsqd1.1"), data, 5)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("data", [PLAIN, CHUNKED])
def test_http_credentials_are_masked(data: bytes, size: int) -> None:
    shown = fed(make_iggy("http1.1"), data, size)

    assert SECRET not in shown
    assert len(shown) == len(data)
    assert b"Host: h\r\n" in shown


@pytest.mark.parametrize("size", [1, 1000])
def test_the_answer_to_a_login_is_masked(size: int) -> None:
    mask = make_iggy("http1.1")
    fed(mask, PLAIN, size)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
    other = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"

    shown = fed(mask, answer + other, size, by_client=False)

    assert SECRET not in shown
    assert shown.endswith(other)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_token_that_a_server_makes_is_masked(size: int) -> None:
    mask = make_iggy("tcp1.1")
    fed(mask, PING + asked(42, short(b"name") + bytes(8)) + PING, size)
    token, nothing = short(SECRET), bytes(8)
    answer = bytes(4) + len(token).to_bytes(4, "little") + token

    shown = fed(mask, nothing + answer + nothing, size, by_client=False)

    assert shown == nothing + answer[:8] + b"*" * len(token) + nothing
