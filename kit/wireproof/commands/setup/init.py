"""``wireproof init``: the files by which a repository judges its target, here and in CI."""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, cast, get_args

import click

from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import example_url, read_target
from wireproof_kit.targets.target import Target
from wireproof_kit.version import KIT_VERSION
from wireproof_kit.wire.address import format_address, is_loopback
from wireproof_spec.clauses.catalogue import LEVELS, Level
from wireproof_spec.clauses.loading import load_catalogue

Ci = Literal["github", "gitlab", "plain", "none"]
CI: tuple[Ci, ...] = get_args(Ci)
PLACES: Mapping[Ci, tuple[str, str]] = {
    "github": ("github-actions.yml", ".github/workflows/conformance.yml"),
    "gitlab": ("gitlab-ci.yml", ".gitlab-ci.yml"),
    "plain": ("conformance.sh", "conformance.sh"),
}
"""The file of this package for a CI, and where that CI looks for it."""

SETTINGS = """\
# What every run in this repository shares. CI names this file with --config: a configuration that
# is only found in the current folder may choose cases, but asks before it does anything else.
[target]
url = "{url}"
{more}[run]
profile = "{profile}"
baseline = "deviations.toml"
kit = "{kit}"
spec_rev = {revision}
"""
ROLE_LINE = (
    '# role = "consumer"  # judge this role alone; without it, each role that the client plays\n'
)
DEVIATIONS = """\
# Known deviations: failures with a reason and a date on which they end. Fill it with
#
#   wireproof baseline update deviations.toml --bundle out/run.jsonl --reason "…"
#
# An entry whose cases pass, or that is past its date, ends a run with exit code 1.
"""
_PLAIN = re.compile(r"[\w:/?=&.,\[\]%+-]+")
"""URLs that mean the same in YAML with quotes and without."""
_STARTS = re.compile(
    # The step or lines that start the broker, wait for it and stop it, of each of the three files.
    r"      - name: Start the broker\n(?:        .*\n)+\n"
    r"|\n      - name: Stop the broker\n(?:        .*\n)+"
    r"|    - (?:wireproof serve|echo \$!).*\n"
    r"|  after_script:\n(?:    .*\n)+"
    r"|# Start the broker\nwireproof serve.*\nbroker=.*\ntrap.*\n"
    r"|.*\bBROKER(?:_HTTP)?[:=].*\n"
    r"|# Put yours where the reference is started: .*\n"
)
_READY = re.compile(r".*\buntil wireproof doctor .*\n\n?")
"""The line that waits for a target at an address."""
_FOR_CLIENTS = (
    ("Conformance of a broker", "Conformance of a client"),
    (
        "# Put yours where the reference is started: .*",
        '# Build your client before the command "wireproof client".',
    ),
    (r".*\bBROKER_URL[:=].*\n", ""),
    (r'wireproof run "\$BROKER_URL"', "wireproof client"),
    (
        r"everything; or e\.g\. .*",
        "everything; or ids, as `wireproof client --dry-run` lists them",
    ),
)
"""What a CI file says of a client: pattern and replacement. The configuration names the client."""

EXAMPLES = (
    ("wireproof init", "ask three questions, and write the files"),
    (
        "wireproof init --url 'nsq+client:./consume {topic}' --profile must --ci none",
        "write them for a client",
    ),
    (
        "wireproof init --url nsq://127.0.0.1:4150 --profile must --ci github",
        "write them without a question",
    ),
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What the files depend on: the URL of the target, the level that counts, and the CI."""

    url: str
    profile: Level
    ci: Ci


@click.command("init", cls=Command, examples=EXAMPLES)
@click.option("--url", metavar="URL", help="URL of the target.")
@click.option("--profile", type=click.Choice(LEVELS), help="Failures up to this level count.")
@click.option("--ci", type=click.Choice(CI), help="For which CI a file is written.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
def init(url: str | None, profile: Level | None, ci: Ci | None, *, force: bool) -> None:
    """Write wireproof.toml, an empty deviations file, and a file for CI into this folder.

    What no option says is asked on a terminal. The configuration pins this version of the kit and
    of the law. The CI file starts the reference where your broker is to be started. The URL of a
    client is PROTOCOL+client:COMMAND, such as nsq+client:./consume.
    """
    url = url or _ask("URL of the target", example_url())
    read_target(url)  # before more is asked
    answers = Answers(
        url=url,
        profile=profile or cast(Level, _ask("Failures count up to level", "must", LEVELS)),
        ci=ci or cast(Ci, _ask("CI", "none", CI)),
    )
    files = make_files(answers)
    _write(files, force=force)
    for name in files:
        echo(f"wrote {name}")
    echo(f"next: {_next_step(read_target(answers.url))}")
    if answers.ci in PLACES and _is_started(read_target(answers.url)):
        echo(f"      then put the command that starts your broker into {PLACES[answers.ci][1]}")
    if answers.ci in ("github", "gitlab"):
        echo("      WIREPROOF in that file names the wheel or address that pip installs")


def _next_step(target: Target) -> str:
    """Return what the user does after the files are written."""
    if target.is_client():
        words = "build your client, then run `wireproof client"
    elif target.port:
        words = "start your broker, then run `wireproof run"
    else:
        words = "run `wireproof run"
    # The configuration is named: one that is only found asks before it runs a command.
    named = "" if target.port else " --config wireproof.toml"
    return f"{words}{named} --bundle out/run.jsonl`"


def make_files(answers: Answers) -> dict[str, str]:
    """Return the texts of the files to write, by path.

    Raises:
        UsageFault: the URL is no target's.
    """
    target = read_target(answers.url)
    revision = max(load_catalogue(target.protocol).revisions.values())
    kit = ".".join(KIT_VERSION.split(".")[:2])
    settings = SETTINGS.format(
        url=answers.url.replace("\\", "\\\\").replace('"', '\\"'),
        more=ROLE_LINE if target.is_client() else "",
        profile=answers.profile,
        kit=kit,
        revision=revision,
    )
    files = {"wireproof.toml": settings, "deviations.toml": DEVIATIONS}
    if answers.ci in PLACES:
        source, place = PLACES[answers.ci]
        text = (resources.files(__package__ or "") / "ci" / source).read_text("utf-8")
        files[place] = _fit(text, answers)
    return files


def _fit(text: str, answers: Answers) -> str:
    """Return the text of a CI file with the user's target and level."""
    target = read_target(answers.url)
    url = _quote(answers.url, is_shell=text.startswith("#!"))
    text = re.sub(r"(PROFILE[:=] ?)must", rf"\g<1>{answers.profile}", text)
    text = re.sub(r"wireproof-[\d.]+-py3", f"wireproof-{KIT_VERSION}-py3", text)
    text = re.sub(r"(BROKER_URL[:=] ?).*", lambda found: found[1] + url, text)
    if target.is_client():
        for pattern, instead in _FOR_CLIENTS:
            text = re.sub(pattern, instead, text)
    if not _is_started(target):
        text = _STARTS.sub("", text)
        return text if target.port else _READY.sub("", text)
    broker = format_address((target.host, target.port))
    http = target.http or format_address((target.host, target.port + 1))
    text = re.sub(r"(\bBROKER[:=] ?)\S+", rf"\g<1>{broker}", text)
    text = re.sub(r"(\bBROKER_HTTP[:=] ?)\S+", rf"\g<1>{http}", text)
    return re.sub(r"serve \w+(?= --tcp)", f"serve {target.protocol}", text)


def _quote(url: str, *, is_shell: bool) -> str:
    if is_shell:
        return shlex.quote(url)
    return url if _PLAIN.fullmatch(url) else json.dumps(url)


def _is_started(target: Target) -> bool:
    """Return True if the CI file starts the target: a broker at a loopback address."""
    return bool(target.port) and is_loopback(target.host)


def _write(files: Mapping[str, str], *, force: bool) -> None:
    """Write all files, or none if one is there, leads elsewhere or cannot be written.

    Raises:
        UsageFault: see above.
    """
    there = [name for name in files if os.path.lexists(name)]
    if there and not force:
        raise UsageFault(f"{', '.join(there)}: already there; --force replaces, or move it away")
    for name in files:
        if not Path(name).resolve().is_relative_to(Path.cwd()):
            raise UsageFault(f"{name}: a symbolic link leads out of this folder; move it away")
    path = Path()
    try:
        for path in map(Path, files):
            path.parent.mkdir(parents=True, exist_ok=True)
        for path, text in zip(map(Path, files), files.values(), strict=True):
            path.write_text(text, "utf-8")
            if path.suffix == ".sh":
                path.chmod(0o755)
    except OSError as error:
        raise UsageFault(f"{path}: cannot be written ({error.strerror})") from error


def _ask(what: str, usual: str, choices: Sequence[str] = ()) -> str:
    if manner().no_input or not sys.stdin.isatty():
        raise UsageFault(
            "init asks for what --url, --profile and --ci do not say, and nobody can be asked "
            "here; give all three"
        )
    kind = click.Choice(choices) if choices else None
    answer: str = click.prompt(what, default=usual, type=kind, err=True)
    return answer
