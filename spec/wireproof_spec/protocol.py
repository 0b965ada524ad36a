"""A protocol as packages register it: the `Protocol`, and what each room knows of it.

Everything is found through entry points with the protocol's name. Only the group
``wireproof.protocols`` is required; a command that needs another one reports it if it is missing.
Entry points are read once, when first needed, and import nothing: a command loads only what it
uses, and no room imports another one because of a protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from importlib.resources.abc import Traversable

T = TypeVar("T")
OWN = "wireproof"
"""The package of the protocols that the project itself brings."""


class Group(StrEnum):
    """The groups of entry points by which a package registers parts of a protocol."""

    PROTOCOLS = "wireproof.protocols"
    """A `Protocol`."""
    KIT = "wireproof.kit"
    """A `wireproof_kit.protocols.KitPart`: session, URL, arguments of cases, fuzzing."""
    SUITES = "wireproof.suites"
    """The package that holds the cases; named, not imported."""
    SERVERS = "wireproof.servers"
    """``main(arguments)`` of an example server; its module also runs with ``python -m``."""
    CLIENTS = "wireproof.clients"
    """``main(arguments)`` of an example client, a driver; its module also runs so."""
    DECODERS = "wireproof.decoders"
    """A function that returns a `wireproof.commands.protocol_decode.Decoder`."""
    REPLAYERS = "wireproof.replayers"
    """A function that returns a `wireproof.replaying.protocol_replay.Replayer`."""
    REPORTS = "wireproof.reports"
    """A `wireproof_reports.exchange.protocol.ReportPart`."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A registered protocol: its name, and the package that contains its law as data.

    The ids of its cases begin with the name. The package must have the folder ``catalogue``; it
    may have ``observations.toml``, ``json_schemas`` and ``accounting``. Protocols are sorted by
    rank, then by name; the first one is the default. ``wire`` is False if every system of the
    protocol is judged through an adapter.
    """

    name: str
    package: str
    rank: int = 100
    wire: bool = True

    def folder(self) -> "Traversable":
        """Return the folder of the package that contains the protocol's law."""
        from importlib import resources

        return resources.files(self.package)


class UnknownProtocol(LookupError):
    """Raised if no installed package registers a protocol, or a part of it."""


class BrokenPackage(UnknownProtocol):
    """Raised if a part of a protocol of another package does not load: a mistake of that package.

    The error's text names what does not load, with file and line.
    """


_left_out: dict[str, str] = {}


def left_out() -> Mapping[str, str]:
    """Return the protocols that are registered and cannot be used, each with the reason."""
    return _left_out


def leave_out(protocol: str, package: str, why: str) -> None:
    """Leave a protocol out of all that the kit knows for the rest of this process."""
    _left_out.setdefault(protocol, f"its package {package} is broken: {why}")


@cache
def find_registered(group: Group) -> dict[str, "EntryPoint"]:
    """Return the entry points of a group by protocol name; of several, the first one found."""
    # Imported when used: importlib.metadata takes 20 ms to load, and every server of ours is
    # started from packages that hold a Protocol.
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def protocols() -> Mapping[str, Protocol]:
    """Return all registered protocols by name, sorted by rank, without those in `left_out`.

    Raises:
        UnknownProtocol: no protocol is registered, or an entry point of ours names something else.
    """
    found = _load_protocols()
    return {name: each for name, each in found.items() if name not in _left_out}


@cache
def _load_protocols() -> Mapping[str, Protocol]:
    names = find_registered(Group.PROTOCOLS)
    if not names:
        raise UnknownProtocol(
            "no protocol is registered; install wireproof again "
            "(in a clone of the repository: python3 tools/setup.py dev)"
        )
    found: list[Protocol] = []
    for name in names:
        try:
            found.append(part(Group.PROTOCOLS, name, Protocol))
        except UnknownProtocol as error:
            package = package_of(Group.PROTOCOLS, name)
            if package is None:
                raise
            leave_out(name, package, str(error))
    return {each.name: each for each in sorted(found, key=lambda each: (each.rank, each.name))}


def find_protocol(name: str) -> Protocol:
    """Return the registered protocol with this name.

    Raises:
        UnknownProtocol: no package registers the protocol.
    """
    if name in _left_out:
        raise BrokenPackage(f"protocol {name!r} cannot be used: {_left_out[name]}")
    known = protocols()
    if name not in known:
        raise UnknownProtocol(f"protocol {name!r} is unknown; known: {', '.join(known)}")
    return known[name]


def list_having(group: Group) -> tuple[str, ...]:
    """Return the names of the protocols that register an entry point in a group, by rank."""
    return tuple(name for name in protocols() if name in find_registered(group))


def entry_point(group: Group, name: str) -> "EntryPoint":
    """Return the entry point that a protocol registers in a group, without importing it.

    Raises:
        UnknownProtocol: the protocol has no such part.
    """
    entry = find_registered(group).get(name)
    if entry is None:
        raise UnknownProtocol(f"protocol {name!r} has no entry point in the group {group}")
    return entry


def part(group: Group, name: str, kind: type[T]) -> T:
    """Import and return the object that a protocol registers in a group.

    Raises:
        BrokenPackage: the part is of another package and raises an error when it is imported.
        UnknownProtocol: the protocol has no such part, or the part has another type.
    """
    entry = entry_point(group, name)
    try:
        found: object = entry.load()
    except Exception as error:
        if package_of(group, name) is None:
            raise
        raise BrokenPackage(
            f"{entry.value}, the entry point {name} of {group}, cannot be imported: "
            f"{describe_mistake(error)}"
        ) from error
    if not isinstance(found, kind):
        raise UnknownProtocol(
            f"{entry.value}, the entry point {name} of {group}, is no {kind.__name__}"
        )
    return found


def package_of(group: Group, name: str) -> str | None:
    """Return the name of the package that registers an entry point; None if it is wireproof."""
    entry = find_registered(group).get(name)
    package = entry.dist.name if entry is not None and entry.dist is not None else OWN
    return None if package == OWN else package


def find_culprit(error: BaseException) -> str | None:
    """Return the name of the package of another author in which an error was raised, if any."""
    from traceback import extract_tb

    frames = extract_tb(error.__traceback__)
    for group in Group:
        for name, entry in find_registered(group).items():
            package = package_of(group, name)
            root = f"/{entry.value.partition(':')[0].partition('.')[0]}/"
            if package is not None and frames and root in frames[-1].filename.replace("\\", "/"):
                return package
    return None


def describe_mistake(error: BaseException, within: str = "") -> str:
    """Return ``FILE, line N: TYPE: TEXT`` for an error that code of a package raised.

    The place is that of a syntax error, or else the last line of code that was run in a file whose
    path contains ``within``, the import system aside.
    """
    from traceback import extract_tb

    text = f"{type(error).__name__}: {error}".partition("\n")[0]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    run = [
        frame
        for frame in extract_tb(error.__traceback__)
        if within in frame.filename
        and frame.filename != __file__
        and "importlib" not in frame.filename
    ]
    return f"{run[-1].filename}, line {run[-1].lineno}: {text}" if run else text
