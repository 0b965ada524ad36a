"""Disk queues for tests: small files, recorded and made-up records."""

from collections.abc import Iterable
from pathlib import Path

from wireproof_reference_impl.nsq.storage.disk_queue import DiskQueue
from wireproof_spec.decoding import encode
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.message import Message

TOPIC = "rolled"
FIRST = "rolled-0.diskqueue.000000.dat"
LAST = "rolled-0.diskqueue.000003.dat"


def record(body: bytes, number: int = 1) -> bytes:
    message = Message(1_700_000_000_000_000_000 + number, 0, number, 0, None, None, None, body)
    return encode(DISK_RECORD, DiskRecord(message, 0))


def opened(directory: Path, *, size: int = 200) -> DiskQueue:
    return DiskQueue.open(directory, TOPIC, 0, max_bytes_per_file=size)


def recorded() -> list[bytes]:
    """Return records of the sizes that were published to a real broker with files of 200."""
    bodies = [b"m%d" % number + b"x" * (20 * (number % 5)) for number in range(13)]
    return [record(body, number + 1) for number, body in enumerate(bodies)]


def filled(directory: Path, records: Iterable[bytes]) -> list[int]:
    queue = opened(directory)
    offsets = [queue.append(each) for each in records]
    queue.close()
    return offsets


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}
