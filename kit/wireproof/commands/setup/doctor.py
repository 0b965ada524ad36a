"""``wireproof doctor``: shows what is installed, what is missing, and how to install it."""

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata

import click

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.options.target_choice import key_options, settings_for, sole_target
from wireproof.view.output import echo
from wireproof.view.style import Style, Tone
from wireproof_kit.errors import KitError
from wireproof_kit.processes.limits import files_limit, needed_files
from wireproof_kit.protocols import known_protocols, read_target
from wireproof_kit.runner.request import RunOptions
from wireproof_kit.targets.opening import open_session
from wireproof_kit.targets.session import SessionOptions
from wireproof_kit.targets.target import Target
from wireproof_kit.version import KIT_VERSION
from wireproof_kit.wire.address import connect, format_address
from wireproof_spec.clauses.loading import load_catalogue
from wireproof_spec.extras import install_command

EXAMPLES = (
    ("wireproof doctor", "check this machine"),
    ("wireproof doctor nsq://127.0.0.1:4150", "also check whether a target can be reached"),
    ("wireproof doctor 'nsq+client:./consume {topic}'", "also start a client, as a run would"),
)
CONNECT_S = 3.0
JAVA_S = 20.0
OLDEST_JAVA = 17

NEEDED = ("pytest", "construct", "jsonschema", "h11", "msgspec", "click", "jinja2", "hypothesis")
OPTIONAL = {
    "scapy": ("pcap", "captures to open in Wireshark"),
    "allure-pytest": ("allure", "Allure results from plain pytest"),
    "pyspark": ("spark", "history over many runs"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of ``wireproof doctor``; ``needed`` means that no run is possible without it."""

    name: str
    ok: bool
    found: str
    advice: str = ""
    needed: bool = True


@click.command("doctor", cls=Command, examples=EXAMPLES, params=[*key_options()])
@click.argument("url", required=False)
def doctor(url: str | None) -> int:
    """Check versions, packages, Java, ports, limits, and whether a target can be reached.

    A client or an adapter is started as for a run.

    Exit code: 2 if something is missing that a run needs.
    """
    findings = list(_machine())
    settings = settings_for(manner())
    if url is not None or settings.url is not None:
        arguments = [] if url is None else [url]
        named = sole_target(arguments, settings)
        findings += _target(read_target(named.url, named.keys))
    _tell(findings)
    return 2 if any(f.needed and not f.ok for f in findings) else 0


def _tell(findings: Sequence[Finding]) -> None:
    said = manner()
    if said.json:
        echo(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
    style = Style(said.is_coloured(sys.stdout))
    for finding in findings:
        if finding.ok and said.quiet:
            continue
        word = style.paint("ok", "good") if finding.ok else style.paint("missing", _tone(finding))
        gap = " " * (9 - len("ok" if finding.ok else "missing"))
        advice = f"; {finding.advice}" if finding.advice and not finding.ok else ""
        echo(f"{word}{gap}{finding.name:<14}{finding.found}{advice}", color=True)


def _tone(finding: Finding) -> Tone:
    return "bad" if finding.needed else "doubt"


def _machine() -> Iterator[Finding]:
    yield _python()
    yield Finding("wireproof", ok=True, found=f"{KIT_VERSION} ({sys.prefix})")
    for protocol in known_protocols():
        catalogue = load_catalogue(protocol)
        revisions = ", ".join(f"{name} r{number}" for name, number in catalogue.revisions.items())
        clauses = len(list(catalogue.clauses()))
        yield Finding(f"spec {protocol}", ok=True, found=f"{revisions}, {clauses} clauses")
    for name in NEEDED:
        yield _package(name, "install wireproof again, from where it came")
    for name, (extra, use) in OPTIONAL.items():
        yield _package(name, f"for {use}: {install_command(extra)}", needed=False)
    yield _java()
    yield _allure()
    yield _loopback()
    yield _open_files()


def _python() -> Finding:
    version = platform.python_version()
    fits = (3, 11) <= sys.version_info[:2] <= (3, 14)
    return Finding("python", ok=fits, found=version, advice="expected 3.11 to 3.14")


def _package(name: str, advice: str, *, needed: bool = True) -> Finding:
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, ok=False, found="not installed", advice=advice, needed=needed)
    return Finding(name, ok=True, found=found, needed=needed)


def _java() -> Finding:
    advice = f"only for history over many runs; install Java {OLDEST_JAVA} or newer"
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=f"{home}/bin" if home else None)
    if command is None:
        return Finding("java", ok=False, found="not found", advice=advice, needed=False)
    try:
        said = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=JAVA_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("java", ok=False, found=str(error), advice=advice, needed=False)
    first = (said.stderr or said.stdout).partition("\n")[0].strip()
    return Finding("java", ok=said.returncode == 0, found=first, advice=advice, needed=False)


def _allure() -> Finding:
    from wireproof_reports.render.allure.generator import HOW_TO_GET_IT, NoAllure, find_generator

    try:
        generator = find_generator(os.environ)
    except NoAllure as error:
        said, _, _ = str(error).partition("; ")
        advice = f"only for --allure-html; {HOW_TO_GET_IT}"
        return Finding("allure", ok=False, found=said, advice=advice, needed=False)
    return Finding(
        "allure", ok=True, found=f"{generator.version} ({generator.command})", needed=False
    )


def _loopback() -> Finding:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
    except OSError as error:
        advice = "the embedded reference needs a free port on 127.0.0.1"
        return Finding("loopback", ok=False, found=str(error), advice=advice)
    return Finding("loopback", ok=True, found=f"a port can be opened ({port})")


def _open_files() -> Finding:
    limit, waiters = files_limit(), RunOptions().waiters
    enough, least = needed_files(waiters), needed_files(1)
    advice = f"{enough} let {waiters} cases wait at once, and a run needs {least} (ulimit -Hn)"
    found = f"{limit} allowed"
    return Finding("open files", limit >= enough, found, advice, needed=limit < least)


def _target(target: Target) -> Iterator[Finding]:
    place = format_address((target.host, target.port)) if target.host else target.url
    advice = "is the broker running, is the port right, does a firewall stand between?"
    if target.host:
        reached = _reach("target", target.host, target.port, shown=target.url, advice=advice)
        yield _let_in(target) if reached.ok else reached
    for key, address in target.addresses():
        host, _, port = address.rpartition(":")
        advice = f"--{key} of {place} must be HOST:PORT of its HTTP port"
        yield _reach(key, host.strip("[]"), int(port), shown=address, advice=advice)
    if target.path is not None:
        yield _open(target, "documents", str(target.path))
    if target.is_client():
        yield _open(target, "client", f"`{target.command}`")
    if target.adapter is not None:
        yield _open(target, "adapter", f"`{target.adapter}`")
    if target.data is not None:
        readable = os.access(target.data, os.R_OK | os.X_OK)
        advice = "give this user the right to read it"
        yield Finding("data", ok=readable, found=str(target.data), advice=advice)


def _let_in(target: Target) -> Finding:
    """Return whether a target that accepts connections answers in its protocol, and lets us in."""
    with_what = " and ".join(["TLS"] * target.tls + ["AUTH"] * (target.auth_env is not None))
    options = SessionOptions(seed=0, run_token="doctor")
    try:
        open_session(target, options).close()
    except KitError as error:
        return Finding("target", ok=False, found=str(error))
    found = f"{target.url} answers as {target.protocol}{with_what and ' with '}{with_what}"
    return Finding("target", ok=True, found=found)


def _open(target: Target, name: str, shown: str) -> Finding:
    """Return whether a run could begin with a target that has no address: it is started."""
    try:
        session = open_session(target, SessionOptions(seed=0, run_token="doctor"))
    except KitError as error:
        return Finding(name, ok=False, found=str(error))
    said = session.fingerprint()
    session.close()
    product = " ".join(filter(None, [said.get("name"), said.get("version")]))
    found = f"{shown}: {product}" if product else f"{shown} can be judged"
    return Finding(name, ok=True, found=found)


def _reach(name: str, host: str, port: int, *, shown: str, advice: str) -> Finding:
    try:
        connect((host, port), CONNECT_S).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        return Finding(name, ok=False, found=f"{shown}: {why.lower()}", advice=advice)
    return Finding(name, ok=True, found=f"{shown} accepts connections")
