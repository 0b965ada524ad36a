"""Try the wheel as users install it: outside the checkout, with each Python, with each extra.

    python tools/wheels.py [--wheel FILE] [--python PATH]... [--extra NAME]...

Without `--wheel` the wheel is built. Without `--python` each supported Python is used that the
PATH, pyenv or uv has; one that is not found is named. Then the newest installs the wheel by
uvx, by pipx, and from a folder of wheels by a process that has no network. For macOS and Windows
it is only shown that every package which the wheel needs has a wheel there.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = ("", "pcap", "allure", "spark", "all")
CASES = "nsq/publish/trace"
ANSWERS = ("--reference", CASES, "--bundle", "run.jsonl")
IMPORTS = {
    "allure": "import allure_pytest, wireproof_reports.render.allure.pytest_glue",
    "spark": "import pyspark.sql, pandas, pyarrow, plotly, wireproof_reports.pipeline.ingest",
}
AS_ROOT = () if os.geteuid() == 0 else ("--user", "--map-root-user")
OWN_NETWORK = ("unshare", "--net", *AS_ROOT)
LOOPBACK = 'ip link set lo up && exec "$@"'
"""A new network has loopback alone, and that is down."""
ELSEWHERE = {"macOS": "aarch64-apple-darwin", "Windows": "x86_64-pc-windows-msvc"}


class Failed(Exception):
    """A command that ended otherwise than expected; the text is its output."""


@dataclass(frozen=True)
class Row:
    """What was tried, and how it ended: `ok`, `FAILED` or `not run`, with the reason."""

    name: str
    end: str
    seconds: float = 0.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--extra", action="append", choices=EXTRAS[1:], default=[])
    wish = parser.parse_args(arguments)
    ends = list[str]()
    with tempfile.TemporaryDirectory(prefix="wireproof-wheels-") as folder:
        wheel = wish.wheel.resolve() if wish.wheel else build(Path(folder))
        for row in try_all(wheel, Path(folder), wish.python, wish.extra or EXTRAS):
            print(f"{row.name:24} {row.seconds:6.1f} s  {row.end}", flush=True)
            ends.append(row.end)
    return 1 if any(end.startswith("FAILED") for end in ends) else 0


def try_all(
    wheel: Path, folder: Path, pythons: Sequence[str], extras: Sequence[str]
) -> Iterator[Row]:
    newest = ""
    for name, python in [(ask_version(each), each) for each in pythons] or find_pythons():
        if not python:
            yield Row(f"Python {name}", "not run: it was not found on the PATH, by pyenv or by uv")
            continue
        newest = python
        for extra in extras:
            what, place = extra or "no extra", folder / f"{name}-{extra or 'none'}"
            yield attempt(f"Python {name}, {what}", install, wheel, place, python, extra)
            shutil.rmtree(place, ignore_errors=True)
    if newest:
        for system, platform in ELSEWHERE.items():
            place = folder / system
            yield attempt(f"wheels for {system}", resolve, wheel, place, platform)
        yield attempt("uvx", by_uvx, wheel, folder / "uvx", newest)
        yield attempt("pipx", by_pipx, wheel, folder / "pipx", newest)
        yield attempt("offline wheelhouse", offline, wheel, folder / "offline", newest)


def attempt(name: str, what: Callable[..., str], wheel: Path, place: Path, *more: str) -> Row:
    place.mkdir()
    began = time.monotonic()
    try:
        end = what(wheel, place, *more)
    except Failed as error:
        end = f"FAILED: {error}"
    return Row(name, end, time.monotonic() - began)


def install(wheel: Path, place: Path, python: str, extra: str) -> str:
    run([find_uv(), "venv", "--quiet", "--python", python, "env"], place)
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    own = str(place / "env" / "bin" / "python")
    run([find_uv(), "pip", "install", "--quiet", "--python", own, wanted], place)
    wireproof = str(place / "env" / "bin" / "wireproof")
    judge(wireproof, place)
    capture(wireproof, place, code=0 if extra in ("pcap", "all") else 2)
    for name, code in IMPORTS.items():
        if extra in (name, "all"):
            run([own, "-c", code], place)
    if not (place / "env" / "share" / "man" / "man1" / "wireproof.1").exists():
        raise Failed("there is no man page")
    return f"ok, {count_packages(own, place)} packages"


def judge(wireproof: str, place: Path) -> None:
    run([wireproof, "--version"], place)
    run([wireproof, "run", *ANSWERS], place)


def capture(wireproof: str, place: Path, *, code: int) -> None:
    """Write captures; without the extra that is refused in a sentence that names the package."""
    said = run([wireproof, "report", "run.jsonl", "--pcap-all", "captures"], place, code=code)
    if code == 0 and not list((place / "captures").glob("*.pcapng")):
        raise Failed("no capture was written")
    if code and "pip install 'scapy" not in said:
        raise Failed(said)


def resolve(wheel: Path, place: Path, platform: str) -> str:
    """Find a wheel of each package for another system, for the oldest and the newest Python."""
    command = [find_uv(), "pip", "install", "--dry-run", "--only-binary", ":all:"]
    for version in (SUPPORTED[0], SUPPORTED[-1]):
        wanted = ["--python-platform", platform, "--python-version", version, "--target", "there"]
        run([*command, *wanted, str(wheel)], place)
    return f"ok, {SUPPORTED[0]} and {SUPPORTED[-1]}; nothing was started there"


def by_uvx(wheel: Path, place: Path, python: str) -> str:
    command = [find_uv(), "tool", "run", "--quiet", "--python", python, "--from", str(wheel)]
    run([*command, "wireproof", "--version"], place)
    run([*command, "wireproof", "run", *ANSWERS], place)
    return "ok"


def by_pipx(wheel: Path, place: Path, python: str) -> str:
    names = {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
    places = {name: str(place / folder) for name, folder in names.items()}
    command = [find_uv(), "tool", "run", "--quiet", "pipx", "install", "--python", python]
    run([*command, str(wheel)], place, places)
    judge(str(place / "bin" / "wireproof"), place)
    if not (place / "man" / "man1" / "wireproof.1").exists():
        raise Failed("pipx found no man page")
    return "ok, with the man page"


def offline(wheel: Path, place: Path, python: str) -> str:
    """Collect the wheel and all that it needs in a folder; install from it without a network."""
    run([python, "-m", "venv", "env"], place)
    pip = [str(place / "env" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "download", "--quiet", "--dest", "wheelhouse", str(wheel)], place)
    alone = [*OWN_NETWORK, "sh", "-c", LOOPBACK, "sh"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        return "not run: this user may not make a network of its own (unshare --net)"
    run(
        [
            *alone,
            *pip,
            "install",
            "--quiet",
            "--no-index",
            "--find-links",
            "wheelhouse",
            "wireproof",
        ],
        place,
    )
    run([*alone, str(place / "env" / "bin" / "wireproof"), "run", *ANSWERS], place)
    return f"ok, {len(list((place / 'wheelhouse').iterdir()))} wheels"


def count_packages(python: str, place: Path) -> int:
    return len(run([find_uv(), "pip", "freeze", "--python", python], place).splitlines())


def find_pythons() -> list[tuple[str, str]]:
    """Return each supported version with a Python of it that starts; empty where there is none."""
    return [(version, find_python(version)) for version in SUPPORTED]


def find_python(version: str) -> str:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    command = [find_uv(), "python", "find", "--quiet", version]
    uv = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    places = [shutil.which(f"python{version}"), *root.glob(f"versions/{version}.*/bin/python"), uv]
    # A shim of pyenv is on the PATH for versions, too, that are not chosen and do not start.
    return next(
        (str(place) for place in places if place and ask_version(str(place)) == version), ""
    )


def ask_version(python: str) -> str:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def build(folder: Path) -> Path:
    run([find_uv(), "build", "--quiet", "--wheel", "--out-dir", str(folder / "dist")], ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def find_uv() -> str:
    own = ROOT / ".cache" / "tools" / "bin" / "uv"
    found = shutil.which("uv") or (str(own) if own.exists() else None)
    if found is None:
        raise SystemExit("uv was not found; `make setup` brings it")
    return found


def run(
    command: Sequence[str], folder: Path, more: dict[str, str] | None = None, *, code: int = 0
) -> str:
    """Run a command in a folder; return what it printed.

    Raises:
        Failed: it ended with another exit code.
    """
    left_out = ("VIRTUAL_ENV", "PYTHONPATH", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT")
    environment = {k: v for k, v in os.environ.items() if k not in left_out} | (more or {})
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != code:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
