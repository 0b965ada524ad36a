"""The user's own command that brings a target into a known state before a run."""

import shlex
import subprocess
import sys
from pathlib import Path

import click

from wireproof.options.global_options import manner
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault

WITHIN_S = 120.0


def confirm_reset(command: str, found: Path) -> None:
    """Ask the user whether to run the reset command of a configuration in the current folder.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    named = f"give --config {found.name} to run it"
    if manner().no_input or not sys.stdin.isatty():
        would = f"{found.name}: [target] reset would run {command!r}"
        raise UsageFault(f"{would}, which nobody has asked for; {named}")
    echo(f"{found.name} lies in the current folder and would run before the cases: {command!r}")
    if not click.confirm("Run this command?", err=True):
        raise UsageFault(f"{found.name}: [target] reset {command!r} was not run; {named}")


def run_reset(command: str) -> None:
    """Run the user's reset command, which prepares the target, and wait for its end.

    Raises:
        UsageFault: the command cannot be started, fails, or takes too long.
    """
    try:
        done = subprocess.run(
            shlex.split(command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UsageFault(f"[target] reset {command!r} took longer than {WITHIN_S:g} s") from error
    except (OSError, ValueError) as error:
        raise UsageFault(f"[target] reset {command!r} cannot be started: {error}") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        said = f": {last[0]}" if last else ""
        raise UsageFault(f"[target] reset {command!r} failed with {done.returncode}{said}")
