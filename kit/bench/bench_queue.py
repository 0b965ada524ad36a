"""How fast queue directories are read: megabytes of records a second, one processor.

    python kit/bench/bench_queue.py

Writes queue files of ext records (60 bytes of JSON header, bodies of 100 bytes and 1 KiB) into a
temporary directory and reads them the way `wireproof decode DIR` does, entry by entry, without
printing. Beside it: the records alone out of one string, generated and through construct. Times
are of the thread's processor, medians over the rounds. Ends with 1 when the directory is read
slower than the goal.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from wireproof_kit.decoding.decoded import Decoded
from wireproof_kit.nsq.decoding.queue_records import directory_records
from wireproof_spec.decoding import decode_many, encode
from wireproof_spec.grammar import interpreted
from wireproof_spec.nsq.disk import DISK_RECORD, DiskRecord
from wireproof_spec.nsq.message import Extend, Message
from wireproof_spec.nsq.names import EXT_INDICATOR
from wireproof_spec.nsq.queue_names import queue_file_name

HEADER = b'{"##client_dispatch_tag":"blue","##trace_id":"0123456789ab"}'
BODIES = (100, 1024)
FILE_BYTES = 1_000_000
ROUNDS = 401
"""Short ones and many: on a shared host a processor may run at half its speed for seconds."""
BATCH = 250
"""Records decoded in one go; a chunk of the reader holds about as many."""
LEAST_MB_PER_S = 100


def main() -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(description="Time the reading of queue directories.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds (%(default)s)")
    rounds: int = parser.parse_args().rounds
    slow = 0
    for size in BODIES:
        records = [encode(DISK_RECORD, _record(number, size)) for number in range(BATCH)]
        with tempfile.TemporaryDirectory() as folder:
            count = _write_queue(Path(folder), records)
            rates = _rates(Path(folder), records, count, rounds)
        print(f"queue of ext records, body of {size} bytes, {len(records[0])} bytes each")
        for name, rate in rates.items():
            print(f"  {name:34}{rate:7,.0f} MB/s{rate * 1e6 / len(records[0]):13,.0f} records/s")
        kept = rates["directory, entry by entry"] >= LEAST_MB_PER_S
        print(f"  goal {LEAST_MB_PER_S} MB/s: {'kept' if kept else 'MISSED'}\n")
        slow += not kept
    return 1 if slow else 0


def _record(number: int, size: int) -> DiskRecord:
    extend = Extend(4, HEADER)
    ids = (number + 1, number % 7)
    message = Message(1_700_000_000 * 10**9 + number, 1, *ids, extend, None, None, bytes(size))
    return DiskRecord(message, EXT_INDICATOR)


def _write_queue(folder: Path, records: list[bytes]) -> int:
    """Write a queue file; return how many records it has."""
    one = b"".join(records)
    times = FILE_BYTES // len(one) + 1
    (folder / queue_file_name("orders", 0, 0)).write_bytes(one * times)
    return times * len(records)


def _rates(folder: Path, records: list[bytes], count: int, rounds: int) -> dict[str, float]:
    """Return megabytes a second of each way of reading, taken in turn."""
    one, size = b"".join(records), len(records[0])

    def directory() -> int:
        kinds = Counter(map(type, directory_records(folder, DISK_RECORD)))
        if (found := kinds[Decoded]) != count:
            raise SystemExit(f"{found} records of {count}")
        return found * size

    def generate() -> int:
        values, _ = decode_many(DISK_RECORD, one)
        return len(values) * size

    def construct() -> int:
        for record in records:
            interpreted.parse(DISK_RECORD.shape, DISK_RECORD.clause, record)
        return len(one)

    ways: dict[str, Callable[[], int]] = {
        "directory, entry by entry": directory,
        "records alone, generated": generate,
        "records alone, construct": construct,
    }
    return {name: statistics.median(rates) for name, rates in _in_turn(ways, rounds)}


def _in_turn(ways: dict[str, Callable[[], int]], rounds: int) -> Iterator[tuple[str, list[float]]]:
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.thread_time()
            read = way()
            rates[name].append(read / 1e6 / (time.thread_time() - start))
    yield from rates.items()


if __name__ == "__main__":
    sys.exit(main())
