"""What moves between protocol numbers: versions, logins, heads of polls."""

import pytest

from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache.envelope import (
    Envelope,
    TokenLoginBody,
    pack_version,
    unpack_version,
)
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN
from wireproof_spec.iggy.apache.envelopes.v0_12 import V0_12, BoundLogin
from wireproof_spec.iggy.apache.header import REPLY_RESERVED_AT, ReplyHeader

each_number = pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES.keys())


def test_the_kit_speaks_a_verified_number_unless_it_is_told_another() -> None:
    assert OWN is next(iter(ENVELOPES.values()))
    assert OWN.verified


@each_number
def test_a_number_is_that_of_its_version(envelope: Envelope) -> None:
    assert envelope.number == ".".join(map(str, envelope.parts))
    assert unpack_version(envelope.version)[2] == 0


@each_number
def test_bytes_with_a_meaning_are_reserved_in_the_first_number(envelope: Envelope) -> None:
    end = REPLY_RESERVED_AT + len(ReplyHeader(client=0).reserved)
    for meaning in envelope.reply_meanings:
        assert REPLY_RESERVED_AT <= meaning.offset < meaning.offset + meaning.size <= end


def test_a_version_packs_three_numbers_of_10_bits() -> None:
    assert pack_version(0, 11, 0) == 0x2C00
    assert unpack_version(pack_version(1, 2, 1023)) == (1, 2, 1023)


@pytest.mark.parametrize(
    ("version", "accepted"),
    [
        ((0, 10, 0), False),
        ((0, 11, 0), True),
        ((0, 11, 1), True),
        ((0, 11, 1023), True),
        ((0, 12, 0), False),
        ((0, 0, 0), False),
    ],
)
def test_the_gate_accepts_any_patch_of_its_own_minor_version(
    version: tuple[int, int, int], accepted: bool
) -> None:
    assert OWN.accepts(pack_version(*version)) is accepted


@each_number
def test_a_poll_head_is_read_as_written(envelope: Envelope) -> None:
    head = envelope.make_poll_head(1, 7, 2)
    data = encode(envelope.poll_head, head)
    assert decode(envelope.poll_head, data) == head
    assert len(data) == envelope.poll_head_size


@each_number
def test_a_login_is_read_as_written(envelope: Envelope) -> None:
    login = envelope.make_login(
        protocol_version=envelope.version,
        sdk_name="s",
        sdk_version="1",
        username="u",
        password="p",
        context="c",
    )
    assert decode(envelope.login, encode(envelope.login, login)) == login
    assert login.context == "c"


def test_the_poll_head_of_0_12_has_24_bytes_more() -> None:
    assert V0_12.poll_head_size == OWN.poll_head_size + 24


def test_the_login_of_0_12_carries_a_secret_before_the_name() -> None:
    secret = bytes(range(32))
    login = BoundLogin(
        protocol_version=V0_12.version,
        sdk_name="s",
        sdk_version="1",
        bind_secret=secret,
        username="u",
        password="p",
    )
    data = encode(V0_12.login, login)

    assert decode(V0_12.login, data) == login
    assert data[8:40] == secret
    assert b"\1u\1p" in data[40:]


def test_a_token_stands_in_the_place_of_name_and_password() -> None:
    login = TokenLoginBody(
        protocol_version=OWN.version, sdk_name="s", sdk_version="1", token="secret"
    )

    assert decode(OWN.token_login, encode(OWN.token_login, login)) == login
