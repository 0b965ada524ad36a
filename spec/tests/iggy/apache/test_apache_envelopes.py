"""What moves between protocol numbers: versions, logins, heads of polls."""

import pytest

from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache.envelope import (
    Envelope,
    LoginBody,
    PollHead,
    TokenLoginBody,
    pack_version,
    unpack_version,
)
from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN
from wireproof_spec.iggy.apache.envelopes.v0_12 import V0_12
from wireproof_spec.wire_error import WireError


def test_only_the_published_number_is_verified() -> None:
    assert {number: each.verified for number, each in ENVELOPES.items()} == {
        "0.11": True,
        "0.12": False,
    }
    assert OWN is ENVELOPES["0.11"]


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


@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES.keys())
def test_a_poll_head_has_its_size(envelope: Envelope) -> None:
    least = OWN.poll_head_size
    context = bytes(envelope.poll_head_size - least) or None
    assert len(encode(envelope.poll_head, PollHead(0, 7, 2, context))) == envelope.poll_head_size


@pytest.mark.parametrize("envelope", ENVELOPES.values(), ids=ENVELOPES.keys())
def test_a_login_has_a_secret_of_its_size(envelope: Envelope) -> None:
    secret = bytes(envelope.secret_size) or None
    login = LoginBody(envelope.version, "s", "1", "u", "p", "", secret)
    assert decode(envelope.login, encode(envelope.login, login)) == login


def test_the_login_of_0_12_carries_a_secret_before_the_name() -> None:
    secret = bytes(range(32))
    login = LoginBody(
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
    with pytest.raises(WireError):
        encode(OWN.login, login)


def test_a_token_stands_in_the_place_of_name_and_password() -> None:
    login = TokenLoginBody(
        protocol_version=OWN.version, sdk_name="s", sdk_version="1", token="secret"
    )

    assert decode(OWN.token_login, encode(OWN.token_login, login)) == login
