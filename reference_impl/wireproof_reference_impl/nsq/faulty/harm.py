"""Effects of faults on connections and the broker: hangs, crashes, lost bytes, leaks.

The state is kept here, by connection and node, so that the core needs none of it.
"""

from weakref import WeakKeyDictionary, WeakSet

from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.http.connection import HttpConnection, Site
from wireproof_reference_impl.nsq.wire.message import PublishResult
from wireproof_reference_impl.overrides import Original, around

_MOST_HOARDED = 3 << 30
"""Bytes; a broker that never frees memory must not take the whole machine."""

_DEAF = WeakSet[object]()
_STUCK = WeakSet[Node]()
_LEAKED = WeakSet[Connection]()
_SKIPPED = WeakKeyDictionary[Connection, int]()
_LOSING = WeakSet[Node]()
_AT_HAND: list[Connection] = []

hoard: list[bytes] = []
"""Memory that is never freed."""


class StopsReading(Exception):
    """Raised by a fault: the connection stays open and is never read again."""


class ProcessEnds(Exception):
    """Raised by a fault: the whole broker ends at once."""


class ProcessHangs(Exception):
    """Raised by a fault: the whole broker never answers any client again."""


def at_hand() -> Connection | None:
    """Return the TCP connection whose input is being read now, or None."""
    return _AT_HAND[-1] if _AT_HAND else None


def peek_unread(connection: Connection) -> bytes:
    """Return the bytes received on a connection that have not been read yet."""
    return bytes(connection.buffer[connection.place :])


def reread(connection: Connection, data: bytes) -> None:
    """Replace the bytes received on a connection that have not been read yet."""
    connection.buffer[connection.place :] = data


def skip(connection: Connection, count: int) -> None:
    """Drop the next `count` bytes of a connection: received ones first, then future ones."""
    rest = peek_unread(connection)
    reread(connection, rest[count:])
    _SKIPPED[connection] = max(0, count - len(rest))


def leak(connection: Connection) -> None:
    """Let a connection never be closed, whatever its client does."""
    _LEAKED.add(connection)


def drop_another(connection: Connection, *, subscribed: bool) -> None:
    """Close the connection of another client: the one connected longest."""
    for other in connection.node.connections:
        if not isinstance(other, Connection) or other is connection:
            continue
        if (other.subscriber is not None) is subscribed:
            other.drop()
            return


def lose_next(node: Node) -> None:
    """Let the next publish over TCP be acknowledged without being stored."""
    _LOSING.add(node)


def keep_memory(data: bytes, size: int) -> None:
    """Allocate a number of bytes and never free them."""
    if sum(map(len, hoard)) < _MOST_HOARDED:
        hoard.append((data or b"\1") * (size // max(len(data), 1) + 1))


def _read(original: Original, connection: Connection, data: bytes) -> None:
    if connection in _DEAF or connection.node in _STUCK:
        return
    _AT_HAND.append(connection)
    try:
        original(connection, _keep_skipped(connection, data))
    except StopsReading:
        _DEAF.add(connection)
    except ProcessHangs:
        _STUCK.add(connection.node)
    except ProcessEnds:
        connection.node.halted = True
        connection.node.changed[connection] = None
    finally:
        _AT_HAND.pop()


def _keep_skipped(connection: Connection, data: bytes) -> bytes:
    skipped = _SKIPPED.pop(connection, 0)
    if skipped > len(data):
        _SKIPPED[connection] = skipped - len(data)
    return data[skipped:]


def _drop(original: Original, connection: Connection) -> None:
    if connection not in _LEAKED:
        original(connection)


def _cut_off(original: Original, connection: Connection) -> None:
    if connection not in _LEAKED:
        original(connection)


def _store(
    original: Original, connection: Connection, partition: Partition, entries: object
) -> object:
    if connection.node not in _LOSING:
        return original(connection, partition, entries)
    _LOSING.discard(connection.node)
    return PublishResult(1, 0, partition.log.end, 0)


def _http_go_on(original: Original, connection: HttpConnection[Site]) -> None:
    if connection in _DEAF:
        return
    try:
        original(connection)
    except StopsReading:
        _DEAF.add(connection)
    except ProcessEnds:
        connection.site.halted = True
        connection.site.changed[connection] = None


HARMS = (
    around(Connection, "read", _read),
    around(Connection, "drop", _drop),
    around(Connection, "cut_off", _cut_off),
    around(publish, "store", _store),
    around(HttpConnection, "go_on", _http_go_on),
)
"""The overrides that every function and exception of this module needs."""
