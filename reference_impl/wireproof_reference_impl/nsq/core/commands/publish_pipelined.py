"""Pipelined PUBs: consecutive frames that repeat the same line are stored together.

A broker under load receives mostly these. They cost one write to the disk and one send. Anything
that might be refused is left to the normal, frame by frame reading. This requires rules that look
only at the bytes of each message: see `fits`.
"""

from collections.abc import Generator, Sequence

from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.core.topic import Partition
from wireproof_reference_impl.nsq.wire import packed
from wireproof_reference_impl.nsq.wire.message import NewMessage
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec.nsq.names import OK

_SIZE_BYTES = 4
_TAKEN = packed.frame(packed.RESPONSE, OK)
_MOST_BYTES = 1 << 16
"""How much is looked at at a time: as much as a few hundred messages."""


def fits(behaviour: Behaviour) -> bool:
    """Return True if pipelined PUBs may be stored together: under the plain output rules."""
    return behaviour.output.frame is packed.frame


def pub(connection: Connection, words: Sequence[bytes]) -> Generator[int, bytes, None]:
    """Run PUB, and let further frames with the same line be stored together from now on."""
    to = publish.address(connection, words)
    yield from publish.plain(connection, to)
    connection.pipelined = PipelinedPublishes(b" ".join(words) + b"\n", to)


class PipelinedPublishes:
    """Stores pipelined PUBs together that have the same line: it names one partition."""

    __slots__ = ("_head_bytes", "_to", "line")

    def __init__(self, line: bytes, to: publish.Address) -> None:
        self.line = line
        self._head_bytes = len(line) + _SIZE_BYTES
        self._to = to

    def take(self, connection: Connection, buffer: bytearray, place: int) -> int:
        """Store the consecutive messages in the buffer at `place`; return the position after them.

        The position does not change if the first frame is incomplete or any might be refused.
        """
        node = connection.node
        partition = self._partition(node)
        if partition is None:
            return place
        whole = not place and len(buffer) <= _MOST_BYTES
        data = bytes(buffer if whole else buffer[place : place + _MOST_BYTES])
        limit = node.limits.message
        bodies, end = self._alone(data, limit) or self._bodies(data, limit)
        if not bodies or not _publish(node, partition, bodies, connection.now_ns):
            return place
        connection.send(_TAKEN * len(bodies))
        return place + end

    def _partition(self, node: Node) -> Partition | None:
        """Return the partition that messages go to now; None if none may be stored."""
        partition = node.find(self._to.topic, self._to.partition)
        if partition is None or (partition.topic.ordered and self._to.partition is None):
            return None
        return partition if partition.leads and partition.writable else None

    def _alone(self, data: bytes, limit: int) -> tuple[list[bytes], int] | None:
        """Return the body and the end of a single complete frame; None for any other data."""
        start = self._head_bytes
        size = int.from_bytes(data[start - _SIZE_BYTES : start])
        end = start + size
        if end != len(data) or not 0 < size <= limit:
            return None
        return [data[start:]], end

    def _bodies(self, data: bytes, limit: int) -> tuple[list[bytes], int]:
        """Return the bodies of the complete frames, and the end of the last one."""
        bodies: list[bytes] = []
        place, known = 0, len(data)
        skipped = self._head_bytes
        while data.startswith(self.line, place):
            head = data[place : place + skipped]
            size = int.from_bytes(head[-_SIZE_BYTES:])
            step = skipped + size
            if len(head) < skipped or not 0 < size <= limit or place + step > known:
                break
            while place + step <= known and data.startswith(head, place):
                bodies.append(data[place + skipped : place + step])
                place += step
        return bodies, place


def _publish(node: Node, partition: Partition, bodies: Sequence[bytes], now_ns: int) -> bool:
    """Store messages, all or none; return True if they were stored."""
    entries = list(map(NewMessage, bodies))
    extend = partition.topic.extend
    try:
        node.behaviour.publish.check_record(entries, extend, node.limits.message)
        partition.publish(entries, now_ns)
    except (OSError, Refusal):
        return False
    if partition.attended:
        node.touch(partition)
    return True
