"""Effects of parser faults on the server: hangs, crashes, lost bytes, leaked connections.

The state is kept here, by connection and server, so that the core needs none of it.
"""

from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server
from wireproof_reference_impl.iggy.link import Link
from wireproof_reference_impl.overrides import Original, around

_MOST_HOARDED = 3 << 30
"""Bytes; a server that never frees memory must not take the whole machine."""

_DEAF = WeakSet[Connection]()
_STUCK = WeakSet[Server]()
_LEAKED = WeakSet[Connection]()
_SKIPPED = WeakKeyDictionary[Connection, int]()
_LINKS = WeakValueDictionary[Connection, Link]()

hoard: list[bytes] = []
"""Memory that is never freed."""


class StopsReading(Exception):
    """Raised by a fault: the connection stays open and is never read again."""


class ProcessEnds(Exception):
    """Raised by a fault: the whole server ends at once."""


class ProcessHangs(Exception):
    """Raised by a fault: the whole server never answers any client again."""


def leak(connection: Connection) -> None:
    """Let a connection never be closed, whatever its client does."""
    _LEAKED.add(connection)


def skip(connection: Connection, count: int) -> None:
    """Drop the next `count` bytes of a connection: received ones first, then future ones."""
    here = min(count, len(connection.buffer))
    del connection.buffer[:here]
    _SKIPPED[connection] = count - here


def drop_another(connection: Connection) -> None:
    """Close the connection of another client of the server: the one connected longest."""
    for other, link in _LINKS.items():
        if other is not connection and other.server is connection.server and not other.closed:
            other.drop()
            link.source.changed[link] = None
            return


def keep_memory(size: int) -> None:
    """Allocate a number of bytes and never free them."""
    if sum(map(len, hoard)) < _MOST_HOARDED:
        hoard.append(b"\1" * size)


def _receive(original: Original, connection: Connection, data: bytes, now_us: int) -> None:
    if connection in _DEAF or connection.server in _STUCK:
        return
    skipped = _SKIPPED.pop(connection, 0)
    if skipped > len(data):
        _SKIPPED[connection] = skipped - len(data)
    try:
        original(connection, data[skipped:], now_us)
    except StopsReading:
        _DEAF.add(connection)
    except ProcessHangs:
        _STUCK.add(connection.server)


def _drop(original: Original, connection: Connection) -> None:
    if connection not in _LEAKED:
        original(connection)


def _link(original: Original, self: Link, source: object, connection: object) -> None:
    original(self, source, connection)
    if isinstance(connection, Connection):
        _LINKS[connection] = self


def _link_receive(original: Original, link: Link, data: bytes, now_ns: int) -> None:
    try:
        original(link, data, now_ns)
    except ProcessEnds:
        link.source.halted = True
        link.source.changed[link] = None


HARMS = (
    around(Connection, "receive", _receive),
    around(Connection, "drop", _drop),
    around(Link, "__init__", _link),
    around(Link, "receive", _link_receive),
)
"""What every fault needs that uses a function or an exception of this module."""
