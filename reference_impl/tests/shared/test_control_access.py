"""A control API serves who knows its token, and no page of a browser."""

from base64 import b64encode

import pytest

from wireproof_reference_impl.control_access import ControlAccess

HOST = (b"Host", b"127.0.0.1:4000")


@pytest.fixture
def access() -> ControlAccess:
    return ControlAccess()


def shown(access: ControlAccess) -> tuple[bytes, bytes]:
    return b"Authorization", f"Bearer {access.token}".encode()


def test_the_token_lets_in(access: ControlAccess) -> None:
    basic = b64encode(f"{access.token}:".encode())

    assert access.refusal((HOST, shown(access))) == ""
    assert access.refusal((HOST, (b"authorization", b"Basic " + basic))) == ""


def test_without_the_token_nothing_is_served(access: ControlAccess) -> None:
    other = shown(ControlAccess())

    assert "token" in access.refusal((HOST,))
    assert "token" in access.refusal((HOST, other))


@pytest.mark.parametrize("host", [b"localhost:1", b"[::1]:1", b"127.8.9.1", b"LOCALHOST"])
def test_loopback_names_are_served(access: ControlAccess, host: bytes) -> None:
    assert access.refusal(((b"host", host), shown(access))) == ""


@pytest.mark.parametrize(
    "host", [b"evil.example:4000", b"", b"127.0.0.1.evil.example", b"10.0.0.1", b"\xff"]
)
def test_a_foreign_host_is_refused(access: ControlAccess, host: bytes) -> None:
    refused = access.refusal(((b"Host", host), shown(access)))

    assert "Host" in refused


@pytest.mark.parametrize("origin", [b"http://evil.example", b"null", b"http://127.0.0.1:1", b""])
def test_a_page_is_refused(access: ControlAccess, origin: bytes) -> None:
    assert "Origin" in access.refusal((HOST, (b"Origin", origin), shown(access)))


def test_each_start_has_another_token() -> None:
    assert len({ControlAccess().token for _ in range(10)}) == 10
