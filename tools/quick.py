"""Run the lints and the tests that start no process; print the seconds it took.

python tools/quick.py [PYTEST ARGUMENTS]

Without arguments it also writes down which files `make test AFTER_QUICK=1` is left to run.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

BIN = Path(sys.executable).parent
WORKERS = 3
"""One more than CI has processors: some tests wait for a deadline of another side."""
CHOSEN = "not process and not slow and not spark"
AFTER_QUICK = Path("out", "after-quick.txt")


def main() -> int:
    """Run each step of the quick check until one fails; return its exit code."""
    tests = ("-m", CHOSEN, "--hypothesis-profile=quick", "-n", str(WORKERS), *sys.argv[1:])
    steps = (
        (str(BIN / "ruff"), "check", "."),
        (str(BIN / "ruff"), "format", "--check", "."),
        (sys.executable, "tools/time_limits.py"),
        (sys.executable, "-m", "pytest", "-q", "--dist", "worksteal", *tests),
    )
    environ = dict(os.environ)
    if not sys.argv[1:]:
        AFTER_QUICK.parent.mkdir(exist_ok=True)
        environ["WIREPROOF_AFTER_QUICK"] = str(AFTER_QUICK)
    started = time.monotonic()
    code = 0
    for step in steps:
        code = code or subprocess.run(step, env=environ, check=False).returncode
    print(f"make quick took {time.monotonic() - started:.0f} s")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
