"""Questions before something acts that the user has not given: files may be somebody else's."""

import hashlib
import os
import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import click

from wireproof.options.config import Settings
from wireproof.options.found_file import act_of_place, list_acts
from wireproof.options.global_options import manner
from wireproof.view.output import echo
from wireproof_kit.errors import UsageFault

MOST_TOLD = 3
MOST_KEPT = 1000
_AGREED: set[str] = set()


def confirm_command(command: str, source: str, instead: str) -> None:
    """Ask the user whether to run a command that a file contains.

    ``source`` names the place in the file; ``instead`` says how to run the command unasked.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    _ask(
        [f"{source} would run {command!r}"],
        "Run this command?",
        f"{source} has the command {command!r}; commands from files are not run unasked: "
        f"{instead} to run this one",
        f"{source}: {command!r} was not run; {instead} to run it",
    )


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
    more = f"; and {len(needed) - MOST_TOLD} more" if len(needed) > MOST_TOLD else ""
    told = [f"  {act} ([{found.tables[key]}] {key})" for key, act in acts]
    _ask(
        [f"{found.path} was only found in this folder. It would", *told],
        "Allow this until the file changes?",
        f"{found.path.name} was only found in this folder, and would "
        f"{'; '.join(needed[:MOST_TOLD])}{more}: {instead}",
        f"{found.path.name} was not allowed to {needed[0]}; {instead}",
    )
    _agree(found.digest)


def confirm_place(kind: str, place: Path, folder: Path, option: str) -> None:
    """Ask the user once whether to write a report where the kit chose, if that leads elsewhere.

    What is there already, such as a symbolic link, may be somebody else's. ``folder`` is where
    the report belongs, and ``option`` names another place for it.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    called = "this folder" if folder == Path() else f"{str(folder)!r}"
    act = act_of_place(kind, place, folder, called)
    digest = hashlib.sha256(repr((str(folder.resolve()), act)).encode()).hexdigest()
    if not act or _has_agreed(digest):
        return
    _ask(
        [f"This would {act}"],
        "Allow it?",
        f"this would {act}: give {option} to name a place",
        f"nothing was written; give {option} to name another place",
    )
    _agree(digest)


def confirm_addresses(url: str, where: Sequence[str], bundle: Path) -> None:
    """Ask the user once whether to send what a bundle holds to the addresses that it names.

    Addresses that the user has named before (`remember_addresses`) need no question.

    Raises:
        UsageFault: nobody may be asked, or the answer is no.
    """
    unknown = [address for address in where if not _has_agreed(_digest_of(address))]
    if not unknown:
        return
    named, instead = (
        ", ".join(map(repr, unknown)),
        f"give --to {shlex.quote(url)} to send it there",
    )
    _ask(
        [f"{bundle.name} would be sent to {named}"],
        "Contact this address?",
        f"{bundle.name} names {named}, which you have not named here; what a bundle holds is sent "
        f"to an address only if you say so: {instead}",
        f"{bundle.name}: {named} was not contacted; {instead}",
    )
    remember_addresses(unknown)


def remember_addresses(where: Iterable[str]) -> None:
    """Keep addresses that the user has named: a bundle that is replayed may name them."""
    for address in where:
        if not _has_agreed(digest := _digest_of(address)):
            _agree(digest)


def _digest_of(address: str) -> str:
    return hashlib.sha256(address.encode("utf-8", "surrogateescape")).hexdigest()


def _ask(told: Sequence[str], question: str, unasked: str, denied: str) -> None:
    """Show what would be done and ask the user.

    Raises:
        UsageFault: nobody may be asked (``unasked``), or the answer is no (``denied``).
    """
    if manner().no_input or not sys.stdin.isatty():
        raise UsageFault(unasked)
    for line in told:
        echo(line, err=True)
    if not click.confirm(question, err=True):
        raise UsageFault(denied)


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
    with suppress(OSError, RuntimeError, UnicodeDecodeError):
        place = _place()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(place, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "r+") as file:
            # Ports of test brokers are new in each run; the oldest are asked for again.
            kept = file.read().split()[-MOST_KEPT:]
            if len(kept) == MOST_KEPT:
                file.truncate(0)
                file.write("".join(f"{each}\n" for each in kept[MOST_KEPT // 2 :]))
            file.write(f"{digest}\n")
