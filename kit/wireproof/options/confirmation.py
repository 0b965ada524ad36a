"""Questions before a command is run that the user has not given: files may be somebody else's."""

import sys
from pathlib import Path

import click

from wireproof.options.global_options import manner
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault
from wireproof_kit.targets.target import command_in


def confirm_command(command: str, source: str, instead: str) -> None:
    """Ask the user whether to run a command that a file contains.

    ``source`` names the place in the file; ``instead`` says how to run the command unasked.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    if manner().no_input or not sys.stdin.isatty():
        raise UsageFault(
            f"{source} has the command {command!r}; commands from files are not run unasked: "
            f"{instead} to run this one"
        )
    echo(f"{source} would run {command!r}")
    if not click.confirm("Run this command?", err=True):
        raise UsageFault(f"{source}: {command!r} was not run; {instead} to run it")


def confirm_found(command: str, found: Path, key: str) -> None:
    """Ask whether to run a command of a configuration in the current folder.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    confirm_command(command, f"{found.name}: [target] {key}", f"give --config {found.name}")


def confirm_url(url: str, found: Path) -> None:
    """Ask whether to run the command of a URL, if it has one, that a found configuration gives.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    if command := command_in(url):
        confirm_found(command, found, "url")
