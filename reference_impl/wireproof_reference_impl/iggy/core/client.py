"""The clients that are connected, as they are told of."""

import zlib
from dataclasses import dataclass, field
from typing import NamedTuple


class Joined(NamedTuple):
    """A consumer group that a client is in."""

    stream: int
    topic: int
    group: int


@dataclass(slots=True)
class Client:
    """One client over TCP; the id is the CRC-32 of its address."""

    id: int
    address: str
    user: int | None = None
    groups: list[Joined] = field(default_factory=list[Joined])


def client_id(address: str) -> int:
    """Return the id of the client at an address."""
    return zlib.crc32(address.encode())
