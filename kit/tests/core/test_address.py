"""A name is contacted where it was found to be: a name server cannot change that in between."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from wireproof_kit.wire.address import Address, connect, is_loopback, look_up_again, resolve

AWAY = "192.0.2.1"
LINK_LOCAL = "169.254.169.254"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    resolve.cache_clear()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that has a name resolved to one number after another."""
    contacted: list[str] = []

    def answer(*numbers: str) -> list[str]:
        left = list(numbers)

        def getaddrinfo(_host: str, *_more: object, **_options: object) -> list[object]:
            number = left.pop(0) if len(left) > 1 else left[0]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, 0))]

        def create_connection(address: Address, timeout: float) -> socket.socket:
            assert timeout > 0
            contacted.append(address[0])
            if address[0] != numbers[-1]:
                raise ConnectionRefusedError
            return socket.socket()

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        monkeypatch.setattr(socket, "create_connection", create_connection)
        return contacted

    return answer


def test_a_name_that_was_loopback_is_contacted_there_and_nowhere_else(
    asked: Callable[..., list[str]],
) -> None:
    contacted = asked("127.0.0.1", AWAY)
    assert is_loopback("broker.example")

    with pytest.raises(ConnectionRefusedError):
        connect(("broker.example", 4150), 1)

    assert contacted == ["127.0.0.1"]


def test_a_host_elsewhere_may_move(asked: Callable[..., list[str]]) -> None:
    contacted = asked("192.0.2.7", AWAY)
    assert not is_loopback("broker.example")

    with closing(connect(("broker.example", 4150), 1)):
        assert contacted == ["192.0.2.7", AWAY]


def test_it_may_not_move_to_an_address_that_is_never_contacted(
    asked: Callable[..., list[str]],
) -> None:
    contacted = asked("192.0.2.7", LINK_LOCAL)
    assert not is_loopback("broker.example")

    with pytest.raises(ConnectionRefusedError):
        connect(("broker.example", 4150), 1)

    assert contacted == ["192.0.2.7"]


def test_a_name_without_a_number_at_first_leads_to_no_address_that_is_never_contacted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look_up(host: str, port: object, **_options: object) -> list[object]:
        if host == "broker.example" and port is None and not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (number, port)) for number in found]

    found: list[str] = []
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert resolve("broker.example") == ()
    with pytest.raises(socket.gaierror):
        connect(("broker.example", 80), 1)
    found.append(LINK_LOCAL)

    with pytest.raises(OSError, match="no address that may be contacted"):
        connect(("broker.example", 80), 1)
    with pytest.raises(OSError, match="no address that may be contacted"):
        look_up_again("broker.example")


def test_a_number_is_contacted_as_it_was_given(asked: Callable[..., list[str]]) -> None:
    contacted = asked("fe80::1%lo")

    with closing(connect(("fe80::1%lo", 4150), 1)):
        assert contacted == ["fe80::1%lo"]
