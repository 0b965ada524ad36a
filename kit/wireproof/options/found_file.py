"""What a configuration that only lay in the current folder would do beyond choosing cases."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import known_protocols, read_target, target_keys
from wireproof_kit.targets.target import Target, command_in
from wireproof_kit.wire.address import is_loopback

PRIVATE = ("cert", "key")
WRITTEN = ("bundle", "junit", "html", "allure", "pcap", "baseline")
_HEAD = 4096


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A configuration file that lay in the current folder and that the user did not name.

    ``digest`` stands for its place and content. ``values`` are the settings that come from it,
    ``tables`` the table of each key.
    """

    path: Path
    digest: str
    values: Mapping[str, object]
    tables: Mapping[str, str]


def list_acts(found: FoundFile) -> Iterator[tuple[str, str]]:
    """Yield each key whose value needs the user's consent, with what it would do."""
    url = found.values.get("url")
    of_url = list(_acts_of_url(url)) if isinstance(url, str) else []
    yield from (("url", act) for act in of_url)
    if of_url or not url:  # on loopback, nobody is between
        yield from _trust(found.values)
    for key, known in target_keys().items():
        for value in _texts(found.values.get(key)):
            yield from ((key, act) for act in _acts_of_key(key, known.form, value))
    if reset := found.values.get("reset"):
        yield "reset", f"run the command {reset!r}"
    for key in WRITTEN:
        for value in _texts(found.values.get(key)):
            yield from ((key, act) for act in _acts_of_path(key, Path(value), found.path))


def _trust(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    if authority := values.get("cacert"):
        yield "cacert", f"trust the authority in {authority!r}"
    if values.get("tls") == "false":
        yield "tls", "connect without TLS"


def _acts_of_url(url: str) -> Iterator[str]:
    if command := command_in(url):
        yield f"run the command {command!r}"
        return
    try:
        target = read_target(url)
    except UsageFault:
        return  # the command that reads it next says what is wrong
    if target.host and not is_loopback(target.host):
        yield f"contact {target.url!r}"
    for _, address in target.addresses():
        yield from _contact(address)
    yield from _secrets(target)


def _secrets(target: Target) -> Iterator[str]:
    if target.auth_env:
        yield f"send the environment variable {target.auth_env!r}"
    for key in PRIVATE:
        if path := getattr(target, key):
            yield f"identify you by the file {str(path)!r}"


def _acts_of_key(key: str, form: str, value: str) -> Iterator[str]:
    if form in ("address", "servers"):
        yield from _contact(value)
    elif form == "text":
        yield f"send the environment variable {value!r}"
    elif key in PRIVATE:
        yield f"identify you by the file {value!r}"


def _contact(text: str) -> Iterator[str]:
    """Yield that an address is contacted, unless it is on loopback; one that is unclear is not."""
    address = text.rpartition("@")[2]
    try:
        host = urlsplit(address if "://" in address else f"//{address}").hostname
    except ValueError:
        host = None
    if not host or not is_loopback(host):
        yield f"contact {address!r}"


def _acts_of_path(key: str, path: Path, file: Path) -> Iterator[str]:
    for place in _places(key, path):
        if act := act_of_place(key, place, file.parent, "its folder"):
            yield act
            return


def act_of_place(key: str, place: Path, folder: Path, called: str) -> str:
    """Return what to write a report at a place would do beyond that; empty if nothing.

    ``folder`` is where reports may be written, ``called`` names it.
    """
    if not place.resolve().is_relative_to(folder.resolve()):
        return f"write {str(place)!r}, which is outside of {called}"
    if place.exists() and not _OWN[key](place):
        return f"replace {str(place)!r}, which is no {key} that wireproof wrote"
    return ""


def _places(key: str, path: Path) -> Iterator[Path]:
    """Yield all names of a report: a run of several protocols adds theirs, a campaign a folder."""
    yield path
    for protocol in known_protocols():
        yield path.with_name(f"{path.stem}-{protocol}{path.suffix}")
    if key == "bundle":
        yield path.with_name(f"{path.stem}-findings") / "finding.py"


def _begins(path: Path, *signs: bytes) -> bool:
    if not path.is_file():
        return False
    try:
        with path.open("rb", buffering=0) as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return all(sign in head for sign in signs)


def _is_own_folder(path: Path, *overwritten: str) -> bool:
    """Return True if nothing in a folder leads out of it or is replaced by a report's files."""
    if not path.is_dir():
        return False
    if any(each.is_symlink() for each in path.iterdir()):
        return False
    return any(path.glob(_ALLURE)) or not any((path / name).exists() for name in overwritten)


_ALLURE = "wireproof-*-result.json"
_OWN: Mapping[str, Callable[[Path], bool]] = {
    "bundle": lambda path: _begins(path, b'{"kind":"header"'),
    "html": lambda path: _begins(path, b"<!doctype html>", b": conformance report</title>"),
    "cause": lambda path: _begins(path, b"<!doctype html>", b'"no-referrer">'),
    "junit": lambda path: _begins(path, b"<testsuites name="),
    "allure": lambda path: _is_own_folder(
        path, "categories.json", "environment.properties", "wireproof.html"
    ),
    "pcap": _is_own_folder,
    "baseline": Path.is_file,  # `wireproof baseline` changes no other kind of file
}


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return cast(tuple[str, ...], value)
    return (value,) if isinstance(value, str) and value else ()
