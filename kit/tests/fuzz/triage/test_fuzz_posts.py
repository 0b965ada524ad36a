"""What is to be delivered of messages that were posted over HTTP."""

import json

import pytest

from wireproof_kit.fuzz.case import HALF_CLOSE, WHOLE, Case, Slow, Step, WriteStyle
from wireproof_kit.fuzz.driver import Owed
from wireproof_kit.fuzz.oracle.http_owed import STATUSES, expect_http
from wireproof_kit.fuzz.oracle.http_posts import (
    NO_PROMISE,
    SURELY_TAKEN,
    TAKEN,
    TAKEN_OR_BUSY,
    Post,
    Promise,
    add_promise,
    first_post,
    flaw_of_post,
)
from wireproof_kit.iggy.fuzz import posts as iggy_posts
from wireproof_kit.iggy.fuzz.answers import fingerprint_stored as iggy_stored
from wireproof_kit.iggy.fuzz.owed import homes
from wireproof_kit.nsq.fuzz import posts as nsq_posts
from wireproof_kit.nsq.fuzz.answers import any_header, fingerprint_stored
from wireproof_kit.nsq.fuzz.request_tracker import TargetState
from wireproof_spec.iggy.headers import Header

NO_OBJECTS: tuple[object, ...] = (0, False, "", [])
GROUND = TargetState({b"wp_e": True, b"wp_w": True}, b"wp_w")
HOMES = homes({(7, "wp_read"): True, (8, "wp_unread"): False}, topic=(1, "wp_topic"))


def post(target: str, body: bytes, *headers: str) -> bytes:
    framing = headers if any("ength" in each or "ncoding" in each for each in headers) else ()
    length = () if framing else (f"Content-Length: {len(body)}",)
    lines = (f"POST {target} HTTP/1.1", "Host: wireproof", *headers, *length, "", "")
    return "\r\n".join(lines).encode() + body


CHUNKS = b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
CODED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (post("/a", b"body"), b"body"),
        (post("/a", CHUNKS, CODED), b"onetwo"),
        (post("/a", b"body") + post("/a", b"more"), b"body"),
        (post("/a", b"A\r\n0123456789\r\n0\r\n\r\n", CODED), b"0123456789"),
    ],
)
def test_a_body_is_read_however_it_is_framed(data: bytes, body: bytes) -> None:
    assert first_post(data) == Post("/a", (), body)


@pytest.mark.parametrize(
    "data",
    [
        post("/a", b"body")[:-1],
        post("/a", b"body", "Content-Length: +4"),
        post("/a", b"body", "Content-Length: 4", "content-length: 4"),
        post("/a", CHUNKS, CODED, f"Content-Length: {len(CHUNKS)}"),
        post("/a", CHUNKS, "Transfer-Encoding: Chunked, gzip"),
        post("/a", CHUNKS[:-4], CODED),
        post("/a", CHUNKS.replace(b"e\r\n", b"e\n"), CODED),
        post("/a", CHUNKS.replace(b"3\r\n", b"3;x=y\r\n"), CODED),
        post("/a", b"body", "Expect: 100-continue"),
        post("/a", b"body", "A : b"),
        post("/a", b"body").replace(b"POST", b"PUT"),
        post("/a", b"body").replace(b"Host: wireproof\r\n", b""),
        post("/a", b"body").replace(b"1.1", b"1.0"),
        post("/a?b", b"body"),
        post("/a?b=c;d=e", b"body"),
        post("/a?b=c#d", b"body"),
    ],
)
def test_what_servers_read_in_several_ways_is_not_told(data: bytes) -> None:
    assert first_post(data) is None


def one_case(data: bytes, style: WriteStyle = WHOLE) -> Case:
    return Case(0, "http", "POST /a", "body", "random bytes", (Step(data, style),), False)


KEPT = Promise((b"kept",))
RIGHT = Promise((b"kept",), is_right=True)


@pytest.mark.parametrize(
    ("promise", "style", "kinds"),
    [
        (KEPT, WHOLE, STATUSES),
        (RIGHT, WHOLE, TAKEN_OR_BUSY),
        (RIGHT, HALF_CLOSE, STATUSES),
        (RIGHT, Slow(0.1, (3,)), STATUSES),
    ],
)
def test_what_was_posted_is_due_when_it_was_taken_and_taken_when_it_is_right(
    promise: Promise, style: WriteStyle, kinds: frozenset[str]
) -> None:
    data = post("/a", b"body")
    case = one_case(data, style)
    (one,) = add_promise(expect_http(data, case), promise, case).owed
    assert (one.kinds, one.stored, one.success) == (kinds, (b"kept",), TAKEN)


def test_what_promises_nothing_is_owed_what_it_was() -> None:
    data = post("/a", b"body")
    assert add_promise(expect_http(data), NO_PROMISE, one_case(data)).owed == (Owed(STATUSES),)


def test_chunks_may_be_refused() -> None:
    data = post("/a", CHUNKS, CODED)
    (one,) = add_promise(expect_http(data), RIGHT, one_case(data)).owed
    assert (one.kinds, one.optional, one.stored) == (STATUSES, True, (b"kept",))


@pytest.mark.parametrize(
    ("target", "body", "due"),
    [
        ("/pub?topic=wp_w", b"x", ()),
        ("/pub?topic=wp_w&partition=0", b"x", (fingerprint_stored(b"", b"x"),)),
        ("/pubtrace?topic=wp_w&trace_id=9&partition=0", b"x", (fingerprint_stored(b"", b"x"),)),
        ("/pub_ext?topic=wp_w&ext=%7B%7D&partition=0", b"x", (any_header(b"x"),)),
        (
            "/mpub?topic=wp_w&partition=0",
            b"a\n\nb\n",
            (fingerprint_stored(b"", b"a"), fingerprint_stored(b"", b"b")),
        ),
        (
            "/mpub?topic=wp_w&binary=true&partition=0",
            b"\0\0\0\1\0\0\0\1a",
            (fingerprint_stored(b"", b"a"),),
        ),
        ("/mpub?topic=wp_w&binary=true&partition=0", b"\0\0\0\2\0\0\0\1a", ()),
        ("/mpub?topic=wp_w&binary=1&partition=0", b"\0\0\0\1\0\0\0\1a", ()),
        ("/mpub?topic=wp_w&partition=0", b"a\r\nb", ()),
        ("/pub?topic=wp_e&partition=0", b"wp_w", ()),
        ("/pub?topic=wp_w&topic=wp_e&partition=0", b"x", ()),
        ("/pub?topic=wp_w&partition=1", b"x", ()),
        ("/pub?topic=wp_w&more=1&partition=0", b"x", ()),
        ("/pub?topic=wp_w&partition=0", b"", ()),
        ("/topic/create?topic=wp_w&partition=0", b"x", ()),
    ],
)
def test_messages_for_the_watched_topic_are_due(
    target: str, body: bytes, due: tuple[bytes, ...]
) -> None:
    assert nsq_posts.read_promise(GROUND, post(target, body)).stored == due


@pytest.mark.parametrize(
    ("data", "is_right"),
    [
        (post("/pub?topic=wp_e", b"x"), True),
        (post("/pub?topic=wp_w&partition=0", b"x"), True),
        (post("/pub?topic=wp_w", b"x", "Connection: close"), True),
        (post("/pub?topic=wp_w", b"x", "Accept: application/vnd.nsq; version=1.0"), True),
        (post("/pubtrace?topic=wp_w&trace_id=18446744073709551", b"x"), True),
        (post("/mpub?topic=wp_w", b"x\n"), True),
        (post("/mpub?topic=wp_w&binary=true", b"\0\0\0\1\0\0\0\1a"), True),
        (post("/pub?topic=wp_w", b"x" * (SURELY_TAKEN + 1)), False),
        (post("/pub?topic=wp_w", b"x", "Connection: upgrade"), False),
        (post("/pub?topic=wp_w", b"x", "Accept: image/png"), False),
        (post("/pub?topic=wp_w", b"x", "X-More: 1"), False),
        (post("/pub?topic=wp_w", b"x").replace(b"Host: wireproof", b"Host: a b"), False),
        (post("/pub?topic=wp_x", b"x"), False),
        (post("/pub_ext?topic=wp_w&ext=%7B%7D", b"x"), False),
        (post("/pubtrace?topic=wp_w&trace_id=x", b"x"), False),
        (post("/pubtrace?topic=wp_w", b"x"), False),
        (post("/mpub?topic=wp_w", b"\n"), False),
        (post("/mpub?topic=wp_w&binary=false", b"\0\0\0\1\0\0\0\1a"), False),
    ],
)
def test_right_messages_for_any_topic_must_be_taken(data: bytes, is_right: bool) -> None:
    assert nsq_posts.read_promise(GROUND, data).is_right is is_right


def sent(*messages: object, kind: str = "balanced", value: str = "", **more: object) -> bytes:
    partitioning = {"kind": kind, "value": value}
    return json.dumps({"partitioning": partitioning, "messages": messages, **more}).encode()


PLAIN = {"payload": "cGF5bG9hZA=="}
HEADERS = {"K": {"kind": "string", "value": "dg=="}}
DUE = (iggy_stored(0, (), b"payload"),)


@pytest.mark.parametrize(
    ("body", "due"),
    [
        (sent(PLAIN), DUE),
        (sent(PLAIN, PLAIN), DUE * 2),
        (sent({**PLAIN, "headers": None}), DUE),
        (sent(PLAIN, kind="partition_id", value="AQAAAA=="), DUE),
        (
            sent({**PLAIN, "id": 5, "headers": HEADERS}),
            (iggy_stored(5, (Header("K", 2, b"v"),), b"payload"),),
        ),
        (sent(PLAIN, kind="partition_id", value="AgAAAA=="), ()),
        (sent(PLAIN, kind="else"), ()),
        (sent(PLAIN, more=1), ()),
        (sent({**PLAIN, "more": 1}), ()),
        (sent({**PLAIN, "id": True}), ()),
        (sent({**PLAIN, "id": 1 << 128}), ()),
        *((sent({**PLAIN, "headers": other}), ()) for other in NO_OBJECTS),
        (sent({**PLAIN, "headers": {"k": {"kind": "string", "value": ""}}}), ()),
        (sent({**PLAIN, "headers": {"k": {"kind": "else", "value": "dg=="}}}), ()),
        (sent(PLAIN, {"payload": ""}), ()),
        (sent({"payload": "cGF5bG9hZB=="}), ()),
        (sent({"payload": "cGF5bG9hZA"}), ()),
        (sent(PLAIN).replace(b'"payload":', b'"payload": "eA==", "payload":'), ()),
        (sent(PLAIN)[:-1], ()),
        (b"[]", ()),
    ],
)
def test_messages_for_the_watched_stream_are_due(body: bytes, due: tuple[bytes, ...]) -> None:
    for target in ("/streams/7/topics/1/messages", "/streams/wp_read/topics/wp_topic/messages"):
        assert iggy_posts.read_promise(HOMES, post(target, body)).stored == due


AS_JSON = "Content-Type: application/json"
WRONG_WIDTH = {"k": {"kind": "uint64", "value": "AAAA"}}


@pytest.mark.parametrize(
    ("data", "is_right"),
    [
        (post("/streams/7/topics/1/messages", sent(PLAIN), AS_JSON), True),
        (post("/streams/8/topics/wp_topic/messages", sent(PLAIN), AS_JSON), True),
        (
            post("/streams/8/topics/1/messages", sent({**PLAIN, "headers": HEADERS}), AS_JSON),
            True,
        ),
        (
            post("/streams/8/topics/1/messages", sent({**PLAIN, "headers": WRONG_WIDTH}), AS_JSON),
            False,
        ),
        (post("/streams/7/topics/1/messages", sent(PLAIN)), False),
        (post("/streams/7/topics/1/messages", sent(PLAIN), "Content-Type: text/plain"), False),
        (post("/streams/9/topics/1/messages", sent(PLAIN), AS_JSON), False),
        (post("/streams/7/topics/1/messages", sent(), AS_JSON), False),
        (post("/streams/7/topics/1/messages", sent(PLAIN, more=1), AS_JSON), False),
    ],
)
def test_right_messages_for_any_stream_must_be_taken(data: bytes, is_right: bool) -> None:
    assert iggy_posts.read_promise(HOMES, data).is_right is is_right


@pytest.mark.parametrize(
    "target",
    [
        "/streams/8/topics/1/messages",
        "/streams/7/topics/2/messages",
        "/streams/07/topics/1/messages",
        "/streams/7/topics/1/messages?x=y",
        "/streams/7/topics/1",
    ],
)
def test_messages_elsewhere_are_not(target: str) -> None:
    assert iggy_posts.read_promise(HOMES, post(target, sent(PLAIN))).stored == ()


NO_LENGTH = post("/mpub?topic=a", b"").replace(b"Content-Length", b"Content")
EMPTY = {
    "POST /mpub without a body": (
        post("/mpub?topic=a", b""),
        NO_LENGTH,
        post("/mpub?topic=a", b"", "Content-Length :9"),
        post("/mpub", b"0\r\n\r\n", "Transfer-Encoding: chunked"),
    ),
    "POST /mpub?binary without a body": (post("/mpub?topic=a&binary=true", b""),),
    "": (post("/mpub", b"x"), post("/mpub", CHUNKS, "Transfer-Encoding: chunked"), b"POST /"),
}


@pytest.mark.parametrize(("flaw", "sent"), EMPTY.items(), ids=map(str, EMPTY))
def test_a_post_without_a_body_has_one_flaw_by_its_endpoint(
    flaw: str, sent: tuple[bytes, ...]
) -> None:
    assert {flaw_of_post(each, nsq_posts.FLAGS) for each in sent} == {flaw}
