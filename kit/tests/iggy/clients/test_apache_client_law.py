"""What binds the requests of a client of generation apache: each clause, kept and broken."""

import pytest
from apache_requests import CLIENT, SESSION, decoded, login, poll, read, send, write
from msgspec.structs import replace

from wireproof_kit.iggy.apache import batches
from wireproof_kit.iggy.clients.apache import answers
from wireproof_kit.iggy.clients.apache.law import LAW, RequestLaw
from wireproof_kit.iggy.clients.events import Asked
from wireproof_kit.ledger.outcomes import Finding
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, BatchHeader, make_batch, seal_batch, seal_frame
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN

RIGHT = batches.batch(*batches.numbered(2))
FRAMES = RIGHT.frames


def judged(*data: bytes, logged_in: bool = True) -> list[Finding]:
    """Return what requests show, behind a login that was answered."""
    law, found = RequestLaw(), list[Finding]()
    for event in decoded(*([login()] if logged_in else []), *data):
        assert isinstance(event, Asked)
        assert event.request is not None
        found += law.see_request(event.request)
        if event.command == "login_user":
            law.see_answer(answers.reply(event.request, answers.logged_in(OWN, SESSION)))
    return found


def broken(*data: bytes, logged_in: bool = True) -> set[tuple[str, str]]:
    """Return clause and value of what requests break."""
    found = judged(*data, logged_in=logged_in)
    return {(each.clause.removeprefix(LAW), each.value) for each in found if each.value}


def with_header(**fields: int | bytes) -> Batch:
    """Return a right batch, but for fields of its header."""
    return seal_batch(Batch(replace(RIGHT.header, **fields), RIGHT.frames))


def test_right_requests_break_nothing() -> None:
    deleted = write(operations.DELETE_STREAM, b"\1\4" + bytes(4), request=3)
    assert broken(poll(request=1), send(request=2), deleted) == set()


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (poll(command=8), ("request", "command:other")),
        (poll(view=1), ("zero", "zero:not")),
        (poll(user_id=1), ("zero", "zero:not")),
        (send(code=101), ("reserved", "reserved:set")),
        (poll(client=CLIENT + 1), ("identity", "client:other")),
        (poll(session=SESSION + 1), ("session", "session:other")),
        (poll(session=0), ("session", "session:other")),
        (poll(request_checksum=1), ("stamp", "stamp:wrong")),
        (send(request=0), ("numbers-positive", "number:zero")),
        (write(64), ("operation", "operation:other")),
        (write(0), ("operation", "operation:other")),
        (read(38), ("login-first", "asks:early")),
        (login(session=1), ("session", "session:set")),
        (login(request=1), ("numbers-positive", "number:set")),
        (login(1 << 31), ("version", "version:other")),
        (login(0), ("version", "version:other")),
        (send(with_header(base_offset=1)), ("fields", "fields:set")),
        (send(with_header(base_timestamp=1)), ("fields", "fields:set")),
        (send(with_header(origin_timestamp=0)), ("origin", "origin:none")),
        (send(with_header(origin_timestamp=1_790_000_000)), ("origin", "origin:none")),
        (send(with_header(message_count=3)), ("counts", "counts:count")),
        (send(with_header(batch_length=100)), ("counts", "counts:length")),
        (send(RIGHT, 3), ("counts", "counts:count")),
        (send(with_header(reserved=b"\1" + bytes(203))), ("reserved-batch", "reserved:set")),
        (
            send(Batch(replace(RIGHT.header, batch_checksum=1), FRAMES)),
            ("checksums", "checksum:batch"),
        ),
        (
            send(seal_batch(Batch(RIGHT.header, (replace(FRAMES[0], checksum=1), FRAMES[1])))),
            ("checksums", "checksum:frame"),
        ),
        (send(batches.batch(*batches.numbered(2), deltas=[0, 0])), ("deltas", "deltas:other")),
        (
            send(make_batch(RIGHT.header, [seal_frame(replace(FRAMES[0], reserved=1))])),
            ("reserved-batch", "reserved:set"),
        ),
        (send(batches.batch(batches.message(id=0))), ("ids", "ids:zero")),
        (
            send(batches.batch(batches.message(id=4), batches.message(id=4))),
            ("ids", "ids:same"),
        ),
    ],
)
def test_a_wrong_request_breaks_its_clause_alone(data: bytes, what: tuple[str, str]) -> None:
    assert broken(data) == {what}


def test_no_request_has_the_client_id_zero() -> None:
    assert broken(login(client=0), poll(client=0)) == {("register", "client:zero")}


def test_metadata_numbers_rise_also_when_others_stand_between() -> None:
    first, second = (write(operations.CREATE_STREAM, b"\1s", request=n) for n in (3, 3))
    assert broken(first, poll(request=3), second) == {("numbers", "number:not-greater")}
    assert broken(first, login(), second) == set()


def test_nothing_but_a_ping_comes_before_the_login() -> None:
    assert broken(read(operations.PING, session=0), logged_in=False) == set()
    assert broken(poll(session=0), logged_in=False) == {("login-first", "asks:early")}


def test_a_session_ends_with_an_eviction() -> None:
    law = RequestLaw()
    entered, late = decoded(login(), poll(client=CLIENT + 1, session=SESSION + 1))
    assert isinstance(entered, Asked)
    assert entered.request is not None
    list(law.see_request(entered.request))
    law.see_answer(answers.reply(entered.request, answers.logged_in(OWN, SESSION)))
    law.see_answer(answers.eviction(entered.request, 13))
    assert isinstance(late, Asked)
    assert late.request is not None
    assert [each.value for each in law.see_request(late.request) if each.value] == []


def test_bytes_with_a_meaning_in_the_number_of_the_login_are_not_reserved() -> None:
    number = ENVELOPES["0.12"]
    incarnation = b"\1" * 24 + bytes(32)
    origin = RIGHT.header.origin_timestamp
    body = BatchHeader(reserved=b"\1" * 20 + bytes(184), origin_timestamp=origin)
    data = send(make_batch(body, FRAMES))
    data = data[:200] + incarnation + data[256:]
    assert broken(data) == {("reserved", "reserved:set"), ("reserved-batch", "reserved:set")}
    later = login(number.version, number=number)
    assert broken(later, data, logged_in=False) == set()
