"""How fast the reference takes messages, side by side with servers that do next to nothing.

    python reference_impl/bench/bench_reference.py

200-byte PUBs to the reference (validation on, messages on disk) and to a bare asyncio server, on
the same event loop, that only splits frames and answers OK; a sink that only counts bytes shows
what the publishers can offer. Rounds alternate in one run, so that a busy machine is unfair
to none; figures are medians. Ends with 1 when a ratio misses its goal.
"""

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import processes
from publishers import FRAME, Publishers, Round

BARE_SERVER = Path(__file__).with_name("bare_server.py")
ROOMS = ("spec", "reference_impl")
SERVE = (
    "from wireproof_reference_impl.nsq.serve import main; import sys; sys.exit(main(sys.argv[1:]))"
)
ADDRESSES = ("--tcp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--json")
CREATE_TOPIC = b"  V2INTERNAL_CREATE_TOPIC t 0\n"
SINK, BARE, REFERENCE = "sink", "bare", "reference"
LEAST_RATE_RATIO = 0.15
MOST_WAIT_RATIO = 2.0
LOADS = ((1, 1), (1, 100), (50, 20))
"""Connections, and unanswered messages on each; first what a disk full of work would disturb."""
WARM_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Server:
    """A server process and where it listens."""

    port: int
    pid: int

    def cpu_s(self) -> float:
        """Return how long it has been on a processor, to the nanosecond."""
        return processes.cpu_s(self.pid)


@dataclass(frozen=True, slots=True)
class Measured:
    """One round of one server."""

    round: Round
    cpu_s: float

    @property
    def cost_s(self) -> float:
        """Return the time on a processor that one message took."""
        return self.cpu_s / self.round.messages


def main() -> int:
    """Measure, print, and return the exit code."""
    options = _options()
    with ExitStack() as stack:
        servers = {
            SINK: stack.enter_context(_bare("sink", str(len(FRAME)))),
            BARE: stack.enter_context(_bare("split")),
            REFERENCE: stack.enter_context(_reference()),
        }
        missed = [
            sentence
            for connections, depth in LOADS
            for sentence in _load(servers, connections, depth, options=options)
        ]
    for sentence in missed:
        print(f"missed: {sentence}")
    return 1 if missed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one round")
    return parser.parse_args()


def _load(
    servers: Mapping[str, Server], connections: int, depth: int, *, options: argparse.Namespace
) -> list[str]:
    """Measure one load on all servers, print it, and return what missed its goal."""
    rounds = _rounds(servers, connections, depth, options=options)
    print(f"connections {connections}, depth {depth}: {options.rounds} rounds of each")
    for name, each in rounds.items():
        _print_server(name, each)
    if depth == 1:
        return _judge_waits(rounds[BARE], rounds[REFERENCE])
    return _judge_rates(rounds[BARE], rounds[REFERENCE], f"{connections} x {depth}")


def _rounds(
    servers: Mapping[str, Server], connections: int, depth: int, *, options: argparse.Namespace
) -> dict[str, list[Measured]]:
    publishers = {
        name: Publishers(server.port, connections, depth) for name, server in servers.items()
    }
    measured: dict[str, list[Measured]] = {name: [] for name in servers}
    for publisher in publishers.values():
        publisher.round(WARM_SECONDS)
    for _ in range(options.rounds):
        for name, each in publishers.items():
            before = servers[name].cpu_s()
            reached = each.round(options.seconds)
            measured[name].append(Measured(reached, servers[name].cpu_s() - before))
    for publisher in publishers.values():
        publisher.close()
    return measured


def _print_server(name: str, rounds: Sequence[Measured]) -> None:
    rate = statistics.median(each.round.rate for each in rounds)
    cost_us = statistics.median(each.cost_s * 1e6 for each in rounds)
    share = statistics.median(each.cpu_s / each.round.seconds for each in rounds)
    own = statistics.median(each.round.own_cpu_s / each.round.seconds for each in rounds)
    print(
        f"  {name:<10}{rate:>10.0f} messages/s   {cost_us:>6.2f} us CPU each   "
        f"CPU share: server {share:>4.0%}, publishers {own:>4.0%}"
    )


def _judge_rates(bare: Sequence[Measured], reference: Sequence[Measured], load: str) -> list[str]:
    """Print the ratio of each reference round to its bare round; return the missed goals.

    The CPU time is compared, too: with fast publishers the rate is limited by the server, with
    slow ones only the CPU time tells what the server costs.
    """
    pairs = list(zip(bare, reference, strict=True))
    by_rate = statistics.median(other.round.rate / one.round.rate for one, other in pairs)
    by_cpu = statistics.median(one.cost_s / other.cost_s for one, other in pairs)
    print(
        f"  reference : bare = {by_rate:.2f}, by CPU time {by_cpu:.2f} "
        f"(goal: at least {LEAST_RATE_RATIO})"
    )
    ratio = min(by_rate, by_cpu)
    if ratio >= LEAST_RATE_RATIO:
        return []
    return [f"{load}: {ratio:.2f} x the rate of the bare server, not {LEAST_RATE_RATIO}"]


def _judge_waits(bare: Sequence[Measured], reference: Sequence[Measured]) -> list[str]:
    """Print round trips, and return which of them take too many times as long."""
    missed: list[str] = []
    for percent in (50, 99):
        one, other = _percentile(bare, percent), _percentile(reference, percent)
        ratio = other / one
        print(
            f"  p{percent}: bare {one * 1e6:.0f} us, reference {other * 1e6:.0f} us, "
            f"reference : bare = {ratio:.2f} (goal: at most {MOST_WAIT_RATIO:g})"
        )
        if ratio > MOST_WAIT_RATIO:
            missed.append(f"p{percent} at depth 1: {ratio:.2f} x, not {MOST_WAIT_RATIO:g}")
    return missed


def _percentile(rounds: Sequence[Measured], percent: int) -> float:
    """Return the median over all rounds of a percentile of the round trips, in seconds."""
    return statistics.median(
        statistics.quantiles(each.round.waits_s, n=100)[percent - 1] for each in rounds
    )


@contextmanager
def _bare(*arguments: str) -> Iterator[Server]:
    with _process([sys.executable, str(BARE_SERVER), *arguments]) as (pid, line):
        yield Server(int(line), pid)


@contextmanager
def _reference() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-c", SERVE, *ADDRESSES, "--data", data]
        with _process(command) as (pid, line):
            port = int(json.loads(line)["tcp"].rpartition(":")[2])
            _create_topic(port)
            yield Server(port, pid)


@contextmanager
def _process(command: Sequence[str]) -> Iterator[tuple[int, bytes]]:
    """Start a server, yield its process id and the line it says it is ready with, and end it."""
    environment = processes.environment(*ROOMS)
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.pid, process.stdout.readline()
        finally:
            process.terminate()


def _create_topic(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
        sock.sendall(CREATE_TOPIC)
        if not sock.recv(100).endswith(b"OK"):
            raise SystemExit("the reference does not make the topic")


if __name__ == "__main__":
    sys.exit(main())
