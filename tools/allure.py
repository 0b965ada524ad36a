"""Install both Allures from npm into `.cache/tools`, for the tests that make real sites.

    python3 tools/allure.py

A missing npm or an unreachable registry is no failure: this program reports it, and those tests
are skipped with the reason.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent / ".cache" / "tools"
MADE = Path("node_modules", ".bin", "allure")
WANTED = {"allure3": "allure@3.18.0", "allure2": "allure-commandline@2.46.1"}
INSTALL_S = 240


def main() -> int:
    npm = shutil.which("npm")
    missing = [name for name in WANTED if not (TOOLS / name / MADE).exists()]
    if npm is None:
        for name in missing:
            report_missing(name, "there is no npm here")
        return 0
    for name, install in [(name, start(npm, name)) for name in missing]:
        try:
            why = f"npm ended with {install.returncode}" if install.wait(INSTALL_S) else ""
        except subprocess.TimeoutExpired:
            os.killpg(install.pid, signal.SIGKILL)
            install.wait()
            why = f"npm did not end in {INSTALL_S} s"
        if why:
            # Half of an Allure would make sites that a test waits for in vain.
            shutil.rmtree(TOOLS / name, ignore_errors=True)
            report_missing(name, why)
    return 0


def start(npm: str, name: str) -> subprocess.Popen[bytes]:
    """Begin to install one: both download at the same time."""
    print(f"bringing {WANTED[name]} …", file=sys.stderr)
    place = TOOLS / name
    place.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(place)]
    return subprocess.Popen(
        [*command, WANTED[name]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def report_missing(name: str, reason: str) -> None:
    print(f"{WANTED[name]}: MISSING ({reason})", file=sys.stderr)


if __name__ == "__main__":
    raise SystemExit(main())
