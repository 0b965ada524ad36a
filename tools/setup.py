"""Prepare `.venv` from the lock. Standard library only: it runs before anything is installed.

    python3 tools/setup.py core|dev|oms|pynsq|clients|all

core     what `make run` needs
dev      core, every extra, and what the tests, checks and the site of docs/ need; Java as in
         all, and tshark likewise
         Delta's jars for Spark, 13 MB, and Java's archive of Spark's classes, 200 MB, once,
         into the user's cache
oms      dev, and Maven for the adapters in Java likewise
pynsq    dev, and the clients that are Python packages
clients  pynsq, and Go, Rust and Node.js for the other clients likewise
all      pynsq, and Java for Spark found, installed where the system allows, or named

A second call with nothing changed only compares a stamp.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / ".wireproof-setup"
TOOLS = ROOT / ".cache" / "tools"
KINDS = ("core", "dev", "oms", "pynsq", "clients", "all")
DEV = ("--group", "dev", "--group", "browser", "--group", "docs", "--all-extras")
SYNC = {
    "core": ["--no-dev"],
    "dev": [*DEV],
    "oms": [*DEV],
    "pynsq": [*DEV, "--group", "clients"],
    "clients": [*DEV, "--group", "clients"],
    "all": ["--all-groups", "--all-extras"],
}
# Certificates that the system trusts count here too: registries behind a proxy have such ones.
TRUST = {"UV_SYSTEM_CERTS": "1", "UV_NATIVE_TLS": "1", "UV_PYTHON_DOWNLOADS": "never"}
OLDEST, NEWEST = (3, 11), (3, 14)
OLDEST_JAVA = 17


def main(arguments: list[str]) -> int:
    kind = arguments[0] if len(arguments) == 1 else ""
    if kind not in KINDS:
        return fail(f"setup expects one of {', '.join(KINDS)}; found {arguments}")
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST:
        return fail(
            f"Python {version[0]}.{version[1]} at {sys.executable} is not supported; expected "
            "3.11 to 3.14. Name another with `make PYTHON=python3.11 …`"
        )
    if not is_prepared(kind):
        code = prepare(kind)
        if code:
            return code
        if kind != "core":
            report_java()  # a few of the tests ask Spark
            fetch_jars()
        if kind != "core" and shutil.which("tshark") is None:
            report_tshark()  # a few show it captures and the dissectors of docs/
    return REPORTS.get(kind, lambda: 0)()


def fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


def fingerprint() -> str:
    digest = hashlib.sha256(f"{sys.executable} {sys.version}".encode())
    for name in ("uv.lock", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def is_prepared(kind: str) -> bool:
    try:
        done, mark = STAMP.read_text().split()
    except (OSError, ValueError):
        return False
    enough = done in KINDS and KINDS.index(done) >= KINDS.index(kind)
    return enough and mark == fingerprint() and (VENV / "bin" / "python").exists()


def prepare(kind: str) -> int:
    uv = find_uv()
    if uv is None:
        return fail(
            f"{sys.executable} has no working venv and pip, and no uv is on the PATH. Install "
            "them (on Debian: apt-get install python3-venv), or install uv, and run this again"
        )
    print(f"preparing .venv ({kind}) from uv.lock …", file=sys.stderr)
    environment = {**TRUST, **{k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"}}
    command = [uv, "sync", "--quiet", "--locked", "--inexact", "--python", sys.executable]
    done = subprocess.run([*command, *SYNC[kind]], cwd=ROOT, env=environment, check=False)
    if done.returncode:
        return fail("uv could not install what uv.lock names; its own words stand above")
    STAMP.write_text(f"{kind} {fingerprint()}\n")
    return 0


def find_uv() -> str | None:
    """Return the path of uv, from the PATH or from the project's own tool environment."""
    found = shutil.which("uv")
    own = TOOLS / "bin" / "uv"
    if found or own.exists():
        return found or str(own)
    steps = (
        [sys.executable, "-m", "venv", str(TOOLS)],
        [str(TOOLS / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv>=0.9"],
    )
    for step in steps:
        quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        try:
            done = subprocess.run(step, env=quiet, capture_output=True, check=False)
        except OSError:
            return None
        if done.returncode:
            shutil.rmtree(TOOLS, ignore_errors=True)
            return None
    return str(own)


def report_java() -> int:
    """Print where Java for Spark is; install it if the system allows; missing is no failure."""
    if java_version() < OLDEST_JAVA and may_install():
        install("openjdk-17-jre-headless")
    version = java_version()
    if version >= OLDEST_JAVA:
        print(f"Java for Spark: {shutil.which('java')} ({version})")
    else:
        found = f"found {version}" if version else "none found"
        print(f"Java for Spark: MISSING ({found}, expected {OLDEST_JAVA} or newer); install it")
    return 0


def fetch_jars() -> int:
    """Download Delta's jars, and make each start of Spark shorter; missing is no failure."""
    if java_version() < OLDEST_JAVA:
        return 0
    told = "13 MB of jars are fetched, and an archive of 200 MB written, unless they are there"
    print(f"Delta for Spark: {told} …", file=sys.stderr)
    subprocess.run([VENV / "bin" / "python", "-m", "wireproof_reports.pipeline.jars"], check=False)
    return 0


def report_tshark() -> int:
    """Print where tshark is; install it if the system allows; missing is no failure."""
    if shutil.which("tshark") is None and may_install():
        install("tshark")
    found = shutil.which("tshark")
    reason = f"MISSING (tshark was not found and could not be installed: {why_not_installed()})"
    print(f"tshark for captures: {found or reason}")
    return 0


@dataclass(frozen=True)
class Compiler:
    """A compiler or interpreter that a real client needs: name, oldest version, packages."""

    name: str
    purpose: str
    programs: tuple[str, ...]
    asked: tuple[str, ...]
    pattern: str
    oldest: tuple[int, int]
    packages: tuple[str, ...]

    def version(self) -> tuple[int, int]:
        """Return the installed version; (0, 0) if the compiler or a program of it is missing."""
        if any(shutil.which(program) is None for program in self.programs):
            return (0, 0)
        return said_version(self.asked, self.pattern)

    def find_missing(self) -> str:
        """Return why the compiler cannot be used, as a sentence for a report; empty if it can."""
        found = self.version()
        if found >= self.oldest:
            return ""
        said = f"{self.name} was not found"
        if found[0]:
            needed = f"{as_text(self.oldest)} or newer is needed"
            said = f"{self.name} {as_text(found)} was found where {needed}"
        return f"{said} and could not be installed: {why_not_installed()}"


GO = Compiler(
    name="Go",
    purpose="both go-nsq",
    programs=("go",),
    asked=("go", "version"),
    pattern=r"go(\d+)\.(\d+)",
    oldest=(1, 19),
    packages=("golang-go",),
)
RUST = Compiler(
    name="Rust",
    purpose="crates iggy and tokio-nsq",
    programs=("cargo", "rustc"),
    asked=("rustc", "--version"),
    pattern=r"rustc (\d+)\.(\d+)",
    oldest=(1, 88),
    # Debian keeps one that is new enough for web browsers beside the one of its release.
    packages=("rustc-web", "cargo-web", "libssl-dev", "pkg-config"),
)
NODE = Compiler(
    name="Node.js",
    purpose="nsqjs",
    programs=("node", "npm"),
    asked=("node", "--version"),
    pattern=r"v(\d+)\.(\d+)",
    oldest=(12, 13),
    packages=("nodejs", "npm"),
)
MAVEN = Compiler(
    name="Maven",
    purpose="the adapters in Java",
    programs=("mvn", "javac"),
    asked=("mvn", "--version"),
    pattern=r"Apache Maven (\d+)\.(\d+)",
    oldest=(3, 6),
    packages=("maven", "openjdk-17-jdk-headless"),
)
COMPILERS = (GO, RUST, NODE, MAVEN)


def report_compilers(*compilers: Compiler) -> int:
    """Print where compilers are; install them if the system allows; missing is no failure."""
    for compiler in compilers:
        if compiler.find_missing() and may_install():
            install(*compiler.packages)
        reason = compiler.find_missing()
        said = f"{shutil.which(compiler.programs[0])} ({as_text(compiler.version())})"
        if reason:
            said = f"MISSING ({reason})"
        print(f"{compiler.name} for {compiler.purpose}: {said}")
    return 0


def why_not_installed() -> str:
    if may_install():
        return "apt-get did not bring it"
    return "apt-get needs root" if shutil.which("apt-get") else "there is no apt-get here"


def said_version(command: tuple[str, ...], pattern: str) -> tuple[int, int]:
    """Return the major and minor version that a program prints; (0, 0) without the program."""
    program = shutil.which(command[0])
    if program is None:
        return (0, 0)
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False)
    match = re.search(pattern, done.stdout)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def as_text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def install(*packages: str) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "-y", *packages]):
        subprocess.run(["apt-get", "-qq", *step], env=quiet, capture_output=True, check=False)


def may_install() -> bool:
    return bool(shutil.which("apt-get")) and os.geteuid() == 0


def java_version() -> int:
    java = shutil.which("java")
    if java is None:
        return 0
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', said)
    return int(match.group(1)) if match else 0


REPORTS = {
    "clients": lambda: report_compilers(GO, RUST, NODE),
    "oms": lambda: report_compilers(MAVEN),
    "all": report_java,
}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
