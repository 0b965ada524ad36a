"""An address: a host and a port."""

import contextlib
import functools
import ipaddress
import socket
from collections.abc import Iterator, Sequence
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]
Number: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

# Where clouds hand credentials to whoever asks from inside; the usual one is link-local.
METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200")))
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


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
    return _look_up(host)


def connect(address: Address, seconds: float) -> socket.socket:
    """Return a socket connected to an address, which has so many seconds to accept.

    A name is contacted at the numbers that it was resolved to first: between the question whether
    it is loopback and the connection, a name server could give another one. A host elsewhere that
    does not accept any more, as after a restart, is looked up again.

    Raises:
        OSError: no connection is accepted there.
    """
    host, port = address
    if is_number(host) or not resolve(host):
        return socket.create_connection(address, timeout=seconds)
    try:
        return _connect_first(resolve(host), port, seconds)
    except OSError:
        if is_loopback(host):
            raise
        others = [each for each in _look_up(host) if each not in resolve(host)]
        allowed = [each for each in others if not is_number_off_limits(each)]
        if not allowed:
            raise
    return _connect_first(allowed, port, seconds)


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
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError):
        return ()
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
    return any(each.is_link_local or each in METADATA for each in numbers)


def _as_sent(number: Number) -> Number:
    """Return the number that packets carry: the IPv4 address of one that is mapped into IPv6."""
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return number if mapped is None else mapped


def _within(number: Number) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses that an IPv6 address leads to, perhaps through a gateway."""
    if isinstance(number, ipaddress.IPv4Address):
        return
    if number in _NAT64:
        yield ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
    yield from (each for each in (number.ipv4_mapped, number.sixtofour) if each is not None)
