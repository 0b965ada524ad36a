"""Connected clients."""

import zlib
from typing import NamedTuple

from msgspec import Struct, field


class Joined(NamedTuple):
    """A consumer group that a client has joined: ids of stream, topic and group."""

    stream: int
    topic: int
    group: int


class Client(Struct):
    """One connected TCP client; its id is the CRC-32 of its address."""

    id: int
    address: str
    user: int | None = None
    groups: list[Joined] = field(default_factory=list[Joined])


def client_id(address: str) -> int:
    """Return the id of the client at an address: the CRC-32 of the address."""
    return zlib.crc32(address.encode())
