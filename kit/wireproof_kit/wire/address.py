"""An address: a host and a port."""

import contextlib
import functools
import ipaddress
import socket
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]
Number: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

METADATA = tuple(
    map(
        ipaddress.ip_network,
        (
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure
            "192.0.0.192",  # Oracle
            "fd00:ec2::/32",  # Amazon
            "fd20:ce::/32",  # Google
            "fd00:c1::/32",  # Oracle
            "fd00:42::42",  # Scaleway
        ),
    )
)
"""Where clouds hand credentials to whoever asks from inside, beside link-local addresses."""
_GATEWAYS = tuple(map(ipaddress.IPv6Network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")))
"""Addresses that end in the IPv4 address to which they lead."""


def format_address(address: Address) -> str:
    """Return HOST:PORT, with brackets around an IPv6 host."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(text: str) -> Address:
    """Return the address in HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def add_brackets(text: str) -> str:
    """Return [HOST]:PORT for an IPv6 address without brackets; empty if the text is none.

    ``::1:4150`` counts as host and port, though the whole could be one address, too.
    """
    host, _, port = text.rpartition(":")
    if port.isdecimal() and _is_ipv6(host):
        return f"[{host}]:{port}"
    return f"[{text}]:PORT" if _is_ipv6(text) else ""


def _is_ipv6(text: str) -> bool:
    return ":" in text and is_number(text)


def is_host(text: str) -> bool:
    """Return True if a text can be looked up as a host: a name or a numeric address."""
    try:
        text.encode("idna")
    except UnicodeError:
        return False
    return bool(text) and text.isprintable() and " " not in text


@functools.lru_cache(maxsize=1024)
def resolve(host: str) -> tuple[Number, ...]:
    """Return the numeric addresses of a host; none if the name cannot be resolved."""
    try:
        return _look_up(host)
    except (OSError, UnicodeError, ValueError):
        return ()


def connect(address: Address, seconds: float) -> socket.socket:
    """Return a socket connected to an address, which has so many seconds to accept.

    A name is contacted at the numbers that it was resolved to first: between the question whether
    it is loopback and the connection, a name server could give another one. A host elsewhere that
    does not accept any more, as after a restart, is looked up again.

    Raises:
        OSError: no connection is accepted there.
    """
    host, port = address
    if is_number(host):
        return socket.create_connection(address, timeout=seconds)
    if not resolve(host):
        return _connect_first(look_up_again(host), port, seconds)
    try:
        return _connect_first(resolve(host), port, seconds)
    except OSError:
        if is_loopback(host):
            raise
        others: tuple[Number, ...] = ()
        with contextlib.suppress(OSError):
            others = look_up_again(host)
        if not others:
            raise
    return _connect_first(others, port, seconds)


def look_up_again(host: str) -> tuple[Number, ...]:
    """Return the numbers that a name has now and not when it was asked for; none off limits.

    Raises:
        OSError: the name has no number, or none that may be contacted.
    """
    try:
        found = _look_up(host)
    except (UnicodeError, ValueError) as error:
        raise OSError("the host is no name") from error
    others = (each for each in found if each not in resolve(host))
    allowed = tuple(other for other in others if not is_number_off_limits(other))
    if not allowed:
        raise OSError("the name has no address that may be contacted")
    return allowed


def _connect_first(numbers: Sequence[Number], port: int, seconds: float) -> socket.socket:
    """Return a socket connected to the first of several numeric addresses that accepts."""
    *others, last = numbers
    for number in others:
        with contextlib.suppress(OSError):
            return socket.create_connection((str(number), port), timeout=seconds)
    return socket.create_connection((str(last), port), timeout=seconds)


def is_number(host: str) -> bool:
    """Return True if a host is given by its number, with a scope or without."""
    try:
        read_number(host)
    except ValueError:
        return False
    return True


def _look_up(host: str) -> tuple[Number, ...]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(read_number(str(place[0])) for *_, place in found))


def read_number(text: str) -> Number:
    """Return a numeric address, without the scope that an IPv6 one may have."""
    return ipaddress.ip_address(text.partition("%")[0])


def is_loopback(host: str) -> bool:
    """Return True if every numeric address of a host is a loopback address."""
    numbers = resolve(host)
    return bool(numbers) and all(_as_sent(number).is_loopback for number in numbers)


def is_off_limits(host: str) -> bool:
    """Return True if a host is link-local, or where a cloud gives its machines their secrets."""
    return any(map(is_number_off_limits, resolve(host)))


def is_number_off_limits(number: Number) -> bool:
    """Return True if a number is link-local or of a cloud's secrets, or leads to one that is."""
    numbers = (number, *_within(number))
    return any(each.is_link_local or any(each in net for net in METADATA) for each in numbers)


def _as_sent(number: Number) -> Number:
    """Return the number that packets carry: the IPv4 address of one that is mapped into IPv6."""
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return number if mapped is None else mapped


def _within(number: Number) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address leads to, perhaps through a gateway."""
    if isinstance(number, ipaddress.IPv4Address):
        return
    if any(number in gateway for gateway in _GATEWAYS):
        yield ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
    yield from (each for each in (number.ipv4_mapped, number.sixtofour) if each is not None)
