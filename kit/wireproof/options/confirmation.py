"""Questions before something acts that the user has not given: files may be somebody else's."""

import hashlib
import os
import shlex
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import click

from wireproof.options.config import Settings
from wireproof.options.found_file import list_acts
from wireproof.options.global_options import manner
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault

MOST_TOLD = 3
_AGREED: set[str] = set()


def confirm_command(command: str, source: str, instead: str) -> None:
    """Ask the user whether to run a command that a file contains.

    ``source`` names the place in the file; ``instead`` says how to run the command unasked.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    if not _may_ask():
        raise UsageFault(
            f"{source} has the command {command!r}; commands from files are not run unasked: "
            f"{instead} to run this one"
        )
    echo(f"{source} would run {command!r}", err=True)
    if not click.confirm("Run this command?", err=True):
        raise UsageFault(f"{source}: {command!r} was not run; {instead} to run it")


def confirm_found(settings: Settings, used: Collection[str]) -> None:
    """Ask the user once whether a configuration that was only found may do what it asks for.

    ``used`` are the keys on which the command acts now. The user agrees to all acts of the file,
    and is asked again when it changes.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    found = settings.found
    if found is None:
        return
    acts = list(list_acts(found))
    needed = [f"{act} ([{found.tables[key]}] {key})" for key, act in acts if key in used]
    if not needed or _has_agreed(found.digest):
        return
    instead = f"give --config {found.path.name} to allow it"
    if not _may_ask():
        more = f"; and {len(needed) - MOST_TOLD} more" if len(needed) > MOST_TOLD else ""
        raise UsageFault(
            f"{found.path.name} was only found in this folder, and would "
            f"{'; '.join(needed[:MOST_TOLD])}{more}: {instead}"
        )
    echo(f"{found.path} was only found in this folder. It would", err=True)
    for key, act in acts:
        echo(f"  {act} ([{found.tables[key]}] {key})", err=True)
    if not click.confirm("Allow this until the file changes?", err=True):
        raise UsageFault(f"{found.path.name} was not allowed to {needed[0]}; {instead}")
    _agree(found.digest)


def confirm_address(url: str, where: Sequence[str], bundle: Path) -> None:
    """Ask the user once whether to send what a bundle holds to the addresses that it names.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    text = repr((str(bundle.resolve()), url))
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    if _has_agreed(digest):
        return
    named, instead = ", ".join(map(repr, where)), f"give --to {shlex.quote(url)} to send it there"
    if not _may_ask():
        raise UsageFault(
            f"{bundle.name} names {named}, which is not on loopback; what a bundle holds is sent "
            f"elsewhere only if you say so: {instead}"
        )
    echo(f"{bundle.name} would be sent to {named}", err=True)
    if not click.confirm("Contact this address?", err=True):
        raise UsageFault(f"{bundle.name}: {named} was not contacted; {instead}")
    _agree(digest)


def _may_ask() -> bool:
    return not manner().no_input and sys.stdin.isatty()


def _place() -> Path:
    """Return the file that keeps the digests of what the user agreed to.

    Raises:
        RuntimeError: the user has no home directory.
    """
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "wireproof" / "agreed"


def _has_agreed(digest: str) -> bool:
    if digest in _AGREED:
        return True
    with suppress(OSError, RuntimeError, UnicodeDecodeError):
        return digest in _place().read_text("ascii").split()
    return False


def _agree(digest: str) -> None:
    """Keep the user's consent; where nothing can be kept, it holds for this command alone."""
    _AGREED.add(digest)
    with suppress(OSError, RuntimeError):
        place = _place()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
            file.write(f"{digest}\n")
