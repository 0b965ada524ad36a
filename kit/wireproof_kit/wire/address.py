"""An address: a host and a port."""

from typing import TypeAlias

Address: TypeAlias = tuple[str, int]


def format_address(address: Address) -> str:
    """Return HOST:PORT, with brackets around an IPv6 host."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(text: str) -> Address:
    """Return the address in HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)
