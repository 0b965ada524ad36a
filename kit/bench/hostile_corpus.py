"""Print what each hostile bundle of the tests' corpus costs: time and memory of every command.

``python kit/bench/hostile_corpus.py`` runs all commands that read a bundle, each in a process of
its own, and prints a line a file: its size, and the command that took the most processor time and
the one that took the most memory. Names choose files of the corpus. With ``WIREPROOF_HOSTILE`` set
what is many in a file is as many as the limits let pass, as in ``make edges``.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SUPPORT = tuple(
    str(Path(__file__).resolve().parents[2] / room / "tests" / "support")
    for room in ("kit", "spec", "reference_impl")
)
sys.path += SUPPORT

import hostile_bundles  # noqa: E402  # the tests are no package
import hostile_runs  # noqa: E402


def main(names: Sequence[str]) -> int:
    """Print the table; 1 if a command ended by a signal or with an internal error."""
    corpus = hostile_bundles.corpus()
    print(f"{'file':<26}{'MB':>8}{'most seconds':>30}{'most memory, MB':>30}   exits")
    are_well = True
    with subprocess.Popen(
        [sys.executable, hostile_runs.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(SUPPORT)},
    ) as runner:
        assert runner.stdin is not None, "it is a pipe"
        assert runner.stdout is not None, "it is a pipe"
        for name in names or corpus:
            runner.stdin.write(" ".join((name, *hostile_runs.RUNS)) + "\n")
            runner.stdin.flush()
            told = json.loads(runner.stdout.readline())
            came = {command: hostile_runs.Came(*each) for command, each in told.items()}
            print(_line(name, len(corpus[name]()), came), flush=True)
            are_well = are_well and all(each.code in (0, 1, 2, 3) for each in came.values())
        runner.stdin.close()
    return 0 if are_well else 1


def _line(name: str, size: int, came: dict[str, hostile_runs.Came]) -> str:
    slow = max(came, key=lambda command: came[command].cpu_s)
    large = max(came, key=lambda command: came[command].mb)
    codes = " ".join(str(code) for code in sorted({each.code for each in came.values()}))
    seconds, memory = f"{came[slow].cpu_s:.1f} {slow}", f"{came[large].mb} {large}"
    return f"{name:<26}{size / 1e6:>8.1f}{seconds:>30}{memory:>30}   {codes}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
