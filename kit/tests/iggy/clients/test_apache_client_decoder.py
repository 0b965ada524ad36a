"""Requests of clients of generation apache: which generation it is, and what they ask for."""

import pytest
from apache_requests import decoded, login, poll, read, send, write

from wireproof_kit.clients.events import Malformed
from wireproof_kit.iggy.apache import batches
from wireproof_kit.iggy.clients.course import tell_event
from wireproof_kit.iggy.clients.decoder import begins_as_apache
from wireproof_kit.iggy.clients.events import Asked, Replied
from wireproof_kit.iggy.clients.mask import make_mask
from wireproof_kit.iggy.wire.requests import ping
from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.envelope import LoginBody, TokenLoginBody
from wireproof_spec.iggy.apache.envelopes import OWN
from wireproof_spec.iggy.apache.user_headers import TypedBytes, UserHeader, text_header
from wireproof_spec.iggy.header_kinds import STRING, UINT32
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.kinds import OFFSET


@pytest.mark.parametrize(
    ("data", "is_apache"),
    [
        (b"", None),
        (b"\0\0\0", None),
        (bytes(4), True),
        (login(), True),
        (ping().data, False),
        (b"\3\0\0\0", False),
        (b"\xff\xff\xff\xff", None),
        (b"\xff" * 60 + b"\5", True),
        (b"\xff" * 60 + b"\6", False),
    ],
)
def test_a_client_shows_its_generation_by_its_first_bytes(
    data: bytes, is_apache: bool | None
) -> None:
    assert begins_as_apache(data) is is_apache


@pytest.mark.parametrize("at", [0, 1, 4, 60, 61, 255, 256, 257, 400])
def test_requests_come_in_any_pieces(at: int) -> None:
    data = login() + poll() + send() + write(operations.LOGOUT)
    found = list(decoded(data[:at], data[at:]))
    asked = [each for each in found if isinstance(each, Asked)]
    assert [each.command for each in asked] == [
        "login_user",
        "poll_messages",
        "send_messages",
        "logout_user",
    ]
    assert {each.generation for each in asked} == {"apache"}
    assert len(found) == len(asked)


def test_a_request_is_told_in_the_shapes_of_the_earlier_generations() -> None:
    key = UserHeader(TypedBytes(UINT32, b"\7\0\0\0"), TypedBytes(STRING, b"v"))
    message = batches.message(b"payload", text_header("key", STRING, b"value"), key, id=9)
    _, polled, sent = decoded(login(), poll(3), send(batches.batch(message)))
    assert isinstance(polled, Asked)
    assert polled.poll is not None
    assert (polled.poll.strategy, polled.poll.count, polled.poll.partition_id) == (OFFSET, 3, 0)
    assert isinstance(sent, Asked)
    assert sent.sending is not None
    (found,) = sent.sending.messages
    headers = (Header("key", STRING, b"value"), Header("11:07000000", STRING, b"v"))
    assert (found.id, found.payload, found.headers) == (9, b"payload", headers)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (read(operations.POLL_MESSAGES, b"\1"), "consumer.id.kind"),
        (send(b"no batch"), "batch.header.base_offset"),
        (send(batches.batch(batches.message(block=b"\2\1\0\0\0k"))), "[0].value.kind"),
        (login()[:48] + bytes(4) + login()[52:], "size"),
    ],
)
def test_what_cannot_be_read_is_malformed(data: bytes, field: str) -> None:
    *_, event = decoded(data)
    assert isinstance(event, Malformed)
    assert event.error.field == field


def test_secrets_of_a_login_are_masked_and_it_stays_readable() -> None:
    mask = make_mask("tcp.1")
    data = login() + poll()
    shown = b"".join(mask.feed(data[at : at + 7], by_client=True) for at in range(0, len(data), 7))
    assert len(shown) == len(data)
    assert b"secret" not in shown
    entered, polled = decoded(shown)
    assert isinstance(entered, Asked)
    assert entered.request is not None
    body: LoginBody = decode(OWN.login, entered.request.body)
    assert (body.sdk_name, body.password) == ("sdk", "*" * len("secret"))
    assert isinstance(polled, Asked)
    assert shown.endswith(poll())


def test_a_token_is_masked() -> None:
    body = encode(OWN.token_login, TokenLoginBody(OWN.version, "sdk", "1.0", "a-token"))
    data = write(operations.REGISTER, body)
    shown = make_mask("tcp.1").feed(data, by_client=True)
    assert b"a-token" not in shown
    assert [each.command for each in decoded(shown) if isinstance(each, Asked)] == ["login_user"]


@pytest.mark.parametrize(
    ("data", "text"), [(b"", "no frame, 0 bytes"), (bytes(300), "no frame, 300 bytes")]
)
def test_an_answer_that_is_none_is_told_by_its_length(data: bytes, text: str) -> None:
    assert str(tell_event(Replied(0.0, "tcp.1", data))).endswith(text)
