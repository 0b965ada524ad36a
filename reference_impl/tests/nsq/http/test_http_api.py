"""The HTTP API on a bench, in the published dialect."""

import json
from urllib.parse import quote

import pytest
from nsq_bench import Bench

from wireproof_reference_impl.nsq.wire.limits import Limits
from wireproof_spec.json_schema import check

V1 = "Accept: application/vnd.nsq; version=1.0\r\n"


@pytest.fixture
def bench() -> Bench:
    bench = Bench(limits=Limits(message=1000, body=3000))
    bench.topic("ext")
    bench.topic("plain", extend=False)
    return bench


def post_ext(
    bench: Bench, ext: str, body: bytes = b"x", headers: str = V1, topic: str = "ext"
) -> tuple[int, bytes]:
    path = f"/pub_ext?topic={topic}&partition=0&ext={quote(ext)}"
    return bench.post(path, body, headers)


def stored(bench: Bench) -> list[tuple[bytes | None, bytes]]:
    consumer = bench.consumer("ext")
    found = []
    while (frame := consumer.frame(within=0.1)) is not None:
        length = int.from_bytes(frame.data[27:29]) if frame.data[26] else None
        header = None if length is None else frame.data[29 : 29 + length]
        found.append((header, frame.data[27 if length is None else 29 + length :]))
    return found


def test_pub_ext_keeps_ext_as_it_was_spelled(bench: Bench) -> None:
    ext = '{ "b":"a+b %41", "a":"\\u00e9é<" }'

    assert post_ext(bench, ext, b"body\n") == (200, b"OK")
    assert stored(bench) == [(ext.encode(), b"body\n")]


def test_request_headers_are_added_in_lower_case(bench: Bench) -> None:
    headers = "X-NSQEXT-Key-One: V 1\r\nx-nsqext-k: new\r\nX-NSQEXTRA-a: no\r\nX-NSQEXT-n: 1\r\n"

    assert post_ext(bench, '{"k":"old","z":"1"}', headers=headers) == (200, b"OK")
    header = stored(bench)[0][0]
    assert header is not None
    assert json.loads(header) == {"k": "new", "z": "1", "key-one": "V 1", "n": "1"}


def test_a_traced_message_is_answered_with_its_place(bench: Bench) -> None:
    status, body = post_ext(bench, '{"##trace_id":"18446744073709551615"}', headers="")
    fields = json.loads(body)

    assert status == 200
    assert check("nsq/pub-ext-answer", fields) == ()
    assert fields["trace_id"] == "18446744073709551615"
    assert fields["queue_offset"] == 0


@pytest.mark.parametrize(
    ("ext", "code"),
    [
        ("", "E_INVALID_JSON_HEADER"),
        ("{", "E_INVALID_JSON_HEADER"),
        ("null", "E_INVALID_JSON_HEADER"),
        ("[]", "E_INVALID_JSON_HEADER"),
        ("{'a':'b'}", "E_INVALID_JSON_HEADER"),
        ('{"a":1}', "E_INVALID_JSON_HEADER"),
        ('{"a":0.1}', "E_INVALID_JSON_HEADER"),
        ('{"a":{"b":"c"}}', "E_INVALID_JSON_HEADER"),
        ('{"##trace_id":"x"}', "INVALID_TRACE_ID"),
    ],
)
@pytest.mark.parametrize("headers", [V1, V1 + "X-NSQEXT-A: w\r\n"], ids=["alone", "with-header"])
def test_a_bad_ext_is_refused(bench: Bench, ext: str, code: str, headers: str) -> None:
    status, body = post_ext(bench, ext, headers=headers)

    assert (status, json.loads(body)) == (400, {"message": code})
    assert check("nsq/error-answer", json.loads(body)) == ()
    assert stored(bench) == []


def test_the_older_style_wraps_errors(bench: Bench) -> None:
    status, body = post_ext(bench, "{", headers="")

    assert status == 500
    assert json.loads(body) == {
        "status_code": 500,
        "status_txt": "E_INVALID_JSON_HEADER",
        "data": None,
    }


def test_an_empty_trace_id_is_none(bench: Bench) -> None:
    assert post_ext(bench, '{"##trace_id":""}') == (200, b"OK")


def test_a_plain_topic_takes_no_header(bench: Bench) -> None:
    assert post_ext(bench, "{}", topic="plain")[1] == b'{"message":"E_EXT_NOT_SUPPORT"}'


def test_a_header_beyond_two_bytes_of_length_is_refused(bench: Bench) -> None:
    ext = '{"a":"%s"}' % ("x" * (65535 - 8))
    assert post_ext(bench, ext) == (200, b"OK")
    assert post_ext(bench, ext.replace("a", "aa"))[0] == 503


def test_chunked_bodies_are_taken(bench: Bench) -> None:
    request = (
        b"POST /pub?topic=ext HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    assert b"200" in bench.http(request).split(b"\r\n")[0]
    assert stored(bench) == [(None, b"abcde")]


def test_a_body_that_is_cut_off_is_not_stored(bench: Bench) -> None:
    request = b"POST /pub?topic=ext HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"
    bench.http(request, end=True)
    assert stored(bench) == []


def test_several_requests_on_one_connection(bench: Bench) -> None:
    request = b"POST /pub?topic=ext HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na"
    answers = bench.http(request + request + b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answers.count(b"HTTP/1.1 200") == 3


def test_mpub(bench: Bench) -> None:
    assert bench.post("/mpub?topic=ext", b"a\n\nb") == (200, b"OK")
    binary = (1).to_bytes(4) + (1).to_bytes(4) + b"c"
    assert bench.post("/mpub?topic=ext&binary=true", binary) == (200, b"OK")
    assert bench.post("/mpub?topic=ext&binary=true", binary[:-1], V1)[0] == 413
    assert bench.post("/mpub?topic=ext", b"\n\n", V1)[0] == 406
    assert bench.post("/mpub?topic=ext", b"a" * 1001, V1)[0] == 413
    assert [body for _, body in stored(bench)] == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    "junk",
    [b"\x00\x01\r\n\r\n", b"GET\r\n\r\n", b"POST /pub HTTP/1.1\r\nContent-Length: x\r\n\r\n"],
)
def test_what_is_no_http_is_answered_and_ended(bench: Bench, junk: bytes) -> None:
    assert bench.http(junk).startswith(b"HTTP/1.1 400")


def test_topics_are_created_upgraded_and_deleted(bench: Bench) -> None:
    create = "/topic/create?topic=new&partition_num=2"
    assert bench.post(create) == (200, b"")
    assert bench.post(create) == (200, b"")
    assert bench.post(create + "&extend=true") == (400, b'{"message":"already exist"}')
    assert sorted(bench.node.topics["new"].partitions) == [0, 1]
    update = "/topic/meta/update?topic=new&upgradeext="
    assert bench.post(update + "1") == (200, b"")
    assert not bench.node.topics["new"].extend
    assert bench.post(update + "true") == (200, b"")
    assert bench.node.topics["new"].extend
    assert bench.post("/topic/delete?topic=new&partition=**") == (200, b"")
    assert "new" not in bench.node.topics
    assert bench.post(update + "true") == (400, b'{"message":"topic is not created"}')


def test_the_published_spelling_of_the_create_path_works(bench: Bench) -> None:
    assert bench.post("/topic/creat?topic=c&partition_num=1&extend=true") == (200, b"")
    assert bench.node.topics["c"].extend


def test_deleting_a_topic_sends_its_clients_away(bench: Bench) -> None:
    consumer = bench.consumer("ext")
    bench.post("/topic/delete?topic=ext&partition=**")
    assert consumer.closed


def test_stats_count_what_waits(bench: Bench) -> None:
    bench.consumer("ext", ready=1)
    for _ in range(3):
        post_ext(bench, "{}")
    answer = bench.http(b"GET /stats?topic=ext HTTP/1.1\r\nHost: x\r\n\r\n")
    topic = json.loads(answer.partition(b"\r\n\r\n")[2])["data"]["topics"][0]
    assert (topic["topic_name"], topic["message_count"]) == ("ext", 3)
    channel = topic["channels"][0]
    assert (channel["depth"], channel["in_flight_count"], channel["client_num"]) == (2, 1, 1)
