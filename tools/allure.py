"""Install both Allures from npm into `.cache/tools`, for the tests that make real sites.

    python3 tools/allure.py

A missing npm or an unreachable registry is no failure: this program reports it, and those tests
are skipped with the reason.
"""

import shutil
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent / ".cache" / "tools"
WANTED = {"allure3": "allure@3.18.0", "allure2": "allure-commandline@2.46.1"}
INSTALL_S = 120


def main() -> int:
    npm = shutil.which("npm")
    for name, package in WANTED.items():
        place = TOOLS / name
        if (place / "node_modules" / ".bin" / "allure").exists():
            continue
        if npm is None:
            print(f"{package}: MISSING (there is no npm here)", file=sys.stderr)
            continue
        print(f"bringing {package} …", file=sys.stderr)
        place.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place)]
        try:
            done = subprocess.run(
                [*command, package], capture_output=True, timeout=INSTALL_S, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"{package}: MISSING (npm did not end in {INSTALL_S} s)", file=sys.stderr)
            continue
        if done.returncode:
            print(f"{package}: MISSING (npm ended with {done.returncode})", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
