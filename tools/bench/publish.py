"""How many messages a second the reference takes, side by side: fsync policies, other sources.

    python tools/bench/publish.py                      never, interval and always
    python tools/bench/publish.py --against DIR        also the reference of another checkout

Rounds of all contestants alternate, so that a busy machine is unfair to none; printed are the
median of each and its ratio to the first. Nothing is judged.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOMS = ("spec", "reference_impl")
SERVE = (
    "from wireproof_reference_impl.nsq.serve import main; import sys; sys.exit(main(sys.argv[1:]))"
)
ADDRESSES = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json")
MAGIC = b"  V2"
OK = b"\0\0\0\6\0\0\0\0OK"
HOME = Path(__file__).parents[2]
SECONDS = 60


def main() -> None:
    options = _options()
    contestants: dict[str, tuple[Path, str | None]] = {
        "never": (HOME, "never"),
        "interval": (HOME, "interval"),
        "always": (HOME, "always"),
    }
    if options.against is not None:
        contestants = {"before": (options.against, None), **contestants}
    for name, load in _loads(options.messages).items():
        print(f"{name}: {options.clients} publishers, {options.messages} messages each")
        _print(_race(contestants, load, options.clients, options.rounds), options.messages)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--against", type=Path, metavar="DIR")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--messages", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def _loads(messages: int) -> Mapping[str, tuple[list[bytes], int]]:
    """Return by name what one publisher writes, piece by piece, and how many answers are due."""
    body = bytes(200)
    one = b"PUB t 0\n" + _prefix_size(body)
    batch = b"MPUB t 0\n" + _prefix_size((100).to_bytes(4) + _prefix_size(body) * 100)
    return {
        "PUB, one at a time": ([one] * messages, 1),
        "PUB, 50 at a time": ([one * 50] * (messages // 50), 50),
        "MPUB of 100": ([batch] * (messages // 100), 1),
    }


def _race(
    contestants: Mapping[str, tuple[Path, str | None]],
    load: tuple[list[bytes], int],
    clients: int,
    rounds: int,
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, (source, fsync) in contestants.items():
            with _broker(source, fsync) as address:
                times[name].append(_publish(address, *load, clients=clients))
    return times


def _print(times: Mapping[str, list[float]], messages: int) -> None:
    first = statistics.median(next(iter(times.values())))
    for name, each in times.items():
        median = statistics.median(each)
        print(f"  {name:<10}{messages / median:>10.0f} messages/s each   {first / median:>6.2f} x")


@contextmanager
def _broker(source: Path, fsync: str | None) -> Iterator[tuple[str, int]]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(source / room) for room in ROOMS),
    }
    with tempfile.TemporaryDirectory() as data:
        policy = () if fsync is None else ("--fsync", fsync)
        command = [sys.executable, "-c", SERVE, *ADDRESSES, "--data", data, *policy]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
            try:
                assert process.stdout is not None
                host, _, port = json.loads(process.stdout.readline())["tcp"].rpartition(":")
                _exchange((host, int(port)), [b"INTERNAL_CREATE_TOPIC t 0\n"], 1)
                yield host, int(port)
            finally:
                process.kill()


def _publish(
    address: tuple[str, int], pieces: list[bytes], answers: int, *, clients: int
) -> float:
    """Return how many seconds all publishers together took."""
    work = (address, pieces, answers)
    threads = [threading.Thread(target=_exchange, args=work) for _ in range(clients)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - started


def _exchange(address: tuple[str, int], pieces: list[bytes], answers: int) -> None:
    with socket.create_connection(address, timeout=SECONDS) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.sendall(MAGIC)
        for piece in pieces:
            sock.sendall(piece)
            due = len(OK) * answers
            while due:
                data = sock.recv(due)
                assert data, "the broker has gone"
                due -= len(data)


def _prefix_size(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


if __name__ == "__main__":
    main()
