"""Answers over HTTP: their form, their status, and that one which blames the broker says why."""

import pytest

from wireproof_kit.fuzz.driver import Volume
from wireproof_kit.fuzz.oracle import http_owed
from wireproof_kit.fuzz.oracle.http_owed import STATUSES, UNEXPLAINED, HttpReader, expect_http
from wireproof_kit.fuzz.oracle.rules import NONSENSE, WRONG_ANSWER, ConnectionResult, judge

REQUEST = b"GET /ping HTTP/1.1\r\nHost: x\r\n\r\n"
ENVELOPE = b'{"status_code":500,"status_txt":"E_BAD_TOPIC","data":null}'


def response(status: int, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def violated(data: bytes, method: str = "GET") -> str | None:
    reader = HttpReader(method)
    trouble = judge(
        expect_http(REQUEST), ConnectionResult(reader.feed(data), "", reader.fault)
    ).trouble
    return trouble.violated if trouble else None


@pytest.mark.parametrize("status", [200, 204, 404, 422, 599])
def test_any_status_that_there_is_may_come(status: int) -> None:
    body = b"" if status == 204 else b"x"
    assert violated(response(status, body)) is None


@pytest.mark.parametrize("status", [600, 799, 999])
def test_a_status_that_there_is_not_is_wrong(status: int) -> None:
    assert violated(response(status, b"x")) == WRONG_ANSWER


@pytest.mark.parametrize("line", [b"HTTP/1.1 20 OK", b"HTTP/9 200 OK", b"200 OK", b"OK"])
def test_what_is_no_status_line_is_nonsense(line: bytes) -> None:
    assert violated(line + b"\r\nContent-Length: 0\r\n\r\n") == NONSENSE


@pytest.mark.parametrize("status", [500, 503])
def test_a_status_that_blames_the_broker_says_what_went_wrong(status: int) -> None:
    assert violated(response(status, ENVELOPE)) is None
    assert violated(response(status)) == WRONG_ANSWER
    assert violated(response(status, b" \n")) == WRONG_ANSWER


def test_an_answer_without_a_body_need_not_say_it() -> None:
    assert violated(response(500), "HEAD") is None


def test_each_answer_is_looked_at_by_itself() -> None:
    answers = HttpReader().feed(response(500, ENVELOPE) + response(500))
    assert [each.kind for each in answers] == ["HTTP 500", f"HTTP 500 {UNEXPLAINED}"]
    assert answers[0].kind in STATUSES
    assert answers[1].kind not in STATUSES


def test_a_response_ends_unless_it_may_tell_of_all_that_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_owed, "BODY_LIMIT", 100)
    volume = Volume()
    long, longer = (response(200, bytes(size)) for size in (100, 101))
    for reader, data, is_endless in (
        (HttpReader("GET"), long, False),
        (HttpReader("GET"), longer, True),
        (HttpReader("GET", volume), longer, False),
    ):
        volume.sent = 1
        reader.feed(data)
        assert bool(reader.fault) is is_endless


def test_of_a_response_that_may_be_long_only_the_beginning_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_owed, "BODY_LIMIT", 100)
    reader = HttpReader("GET", Volume(1000))
    data = response(200, bytes(5000)) + response(204)
    found = [each for at in range(0, len(data), 50) for each in reader.feed(data[at : at + 50])]
    assert [each.kind for each in found] == ["HTTP 200", "HTTP 204"]
    assert len(found[0].data) <= 150
    assert not reader.fault
