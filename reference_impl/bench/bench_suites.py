"""What share of the time of a whole run the reference takes: its CPU time by the run's wall time.

    python reference_impl/bench/bench_suites.py [PROTOCOL]...

Runs `wireproof run --reference`, as anybody does, and looks at the processes it starts. Rounds of
the protocols alternate, figures judged are medians. Ends with 1 when a share is over its goal.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import processes

ROOMS = ("spec", "kit", "reference_impl", "suites", "reports")
PROTOCOLS = ("nsq", "iggy")
MOST_SHARE = 0.20
ROUNDS = 5
LOOK_EVERY_S = 0.1


def main(protocols: Sequence[str]) -> int:
    """Measure each protocol's run, print, and return the exit code."""
    rounds = [
        {protocol: _share(protocol) for protocol in protocols or PROTOCOLS} for _ in range(ROUNDS)
    ]
    medians = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    for name, share in medians.items():
        print(f"{name}: median {share:.1%} (goal: at most {MOST_SHARE:.0%})")
    return 1 if max(medians.values()) > MOST_SHARE else 0


def _share(protocol: str) -> float:
    command = [sys.executable, "-m", "wireproof", "run", "--reference", protocol]
    command += ["--bundle", os.devnull]
    begin, begin_cpu_s = time.perf_counter(), _spent_s()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env=processes.environment(*ROOMS)
    )
    reference_s = _watch_until_end(process)
    wall_s = time.perf_counter() - begin
    both_s = _spent_s() - begin_cpu_s
    share = reference_s / wall_s
    print(
        f"{protocol}: {wall_s:.1f} s, of which the reference was {reference_s:.1f} s on a "
        f"processor ({share:.1%}), "
        f"the kit {both_s - reference_s:.1f} s; the run ended with {process.returncode}"
    )
    return share


def _watch_until_end(process: subprocess.Popen[bytes]) -> float:
    """Wait for the end of a run; return the CPU time of its children as last read."""
    spent: dict[int, float] = {}
    while process.poll() is None:
        for child in processes.children(process.pid):
            with contextlib.suppress(OSError):  # gone since
                spent[child] = processes.cpu_s(child)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(LOOK_EVERY_S)
    return sum(spent.values())


def _spent_s() -> float:
    """Return the CPU time of every ended run and of its children."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
