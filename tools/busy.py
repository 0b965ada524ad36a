"""Run all tests, or a tenth of their files, beside processes that keep the processors busy.

python tools/busy.py [--busy N] [--tenth] [--seed N] [PYTEST ARGUMENTS …]

No test may fail because the machine is slow, so each must pass here as on an idle machine.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("spec", "kit", "reference_impl", "reports")
AS_IN_MAKE_TEST = ("-q", "-rs", "-n", "9", "--dist", "loadfile", "--no-loadscope-reorder")
BUSY = """
import os, sys
while os.getppid() == int(sys.argv[1]):
    for _ in range(10_000_000): pass
"""


def main() -> int:
    """Run the tests; return the exit code of pytest."""
    parser = argparse.ArgumentParser(description="Run the tests on a busy machine.")
    parser.add_argument("--busy", type=int, default=8, help="how many processes keep it busy")
    parser.add_argument("--tenth", action="store_true", help="a drawn tenth of the files")
    parser.add_argument("--seed", type=int, default=1, help="what the tenth is drawn from")
    given, rest = parser.parse_known_args()
    files = draw_tenth(given.seed) if given.tenth else []
    command = [sys.executable, "-m", "pytest", *AS_IN_MAKE_TEST, *files, *rest]
    print(*command, flush=True)
    started = time.monotonic()
    with busy_processors(given.busy):
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
    print(f"beside {given.busy} busy processes: {time.monotonic() - started:.0f} s")
    return code


def draw_tenth(seed: int) -> list[str]:
    """Return a tenth of the files of tests."""
    found = sorted(
        str(path.relative_to(ROOT))
        for room in ROOMS
        for path in ROOT.glob(f"{room}/tests/**/test_*.py")
    )
    return sorted(random.Random(seed).sample(found, len(found) // 10))


@contextmanager
def busy_processors(count: int | None = None) -> Generator[None]:
    """Keep processors busy for the time of the context: as many as there are, by default."""
    command = [sys.executable, "-c", BUSY, str(os.getpid())]
    with ExitStack() as running:
        for _ in range(count or os.cpu_count() or 1):
            process = running.enter_context(subprocess.Popen(command))
            running.callback(process.kill)
        yield


if __name__ == "__main__":
    raise SystemExit(main())
