"""Addresses as options of `serve`, and the error of a bad option."""

from ipaddress import ip_address


class BadOption(ValueError):
    """Raised for an invalid command-line option; the message is one sentence."""


def read_address(text: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`.

    Raises:
        BadOption: the text does not have this form.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise BadOption(f"{text!r} is no address: HOST:PORT is needed, port 0 for any")
    if ":" in host and not host.startswith("["):
        raise BadOption(f"{text!r}: an IPv6 address stands in brackets; write [{host}]:{port}")
    return host.strip("[]"), int(port)


def read_loopback(text: str) -> tuple[str, int]:
    """Return host and port of an address that only this machine can reach.

    Raises:
        BadOption: the text does not have this form, or is not a loopback address.
    """
    host, port = read_address(text)
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        raise BadOption(f"{text!r} can be reached from outside: a loopback address is needed")
    return host, port


def address_text(host: str, port: int) -> str:
    """Return `HOST:PORT`."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
