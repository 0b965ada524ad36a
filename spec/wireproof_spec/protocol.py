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

    def __init__(self, text: str, package: str = "") -> None:
        super().__init__(text)
        self.package = package


_left_out: dict[str, str] = {}


def left_out() -> Mapping[str, str]:
    """Return the protocols that are registered and cannot be used, each with the reason."""
    return _left_out


_flaws: dict[str, None] = {}


def note_flaw(sentence: str) -> None:
    """Note a mistake in a package without which its protocol can be used; see `list_flaws`."""
    _flaws[sentence] = None


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


def have_loaded() -> bool:
    """Return True if this process has looked for protocols."""
    return bool(_load_protocols.cache_info().currsize)


def list_flaws() -> list[str]:
    """Return a sentence for each mistake in a package that this process did without.

    They are those of `note_flaw`, and all parts that no command finds.
    """
    return [*_flaws, *_list_strays()] if have_loaded() else [*_flaws]


def _list_strays() -> list[str]:
    """Return a sentence for each part of another package that no command finds.

    Its group is spelled almost as one of `Group`, or no protocol is registered by its name.
    """
    from difflib import get_close_matches
    from importlib.metadata import entry_points

    groups = [str(group) for group in Group]
    known = (*protocols(), *_left_out)
    strays: dict[tuple[str, str], str] = {}
    for group in sorted({*entry_points().groups} - {*groups}):
        for meant in get_close_matches(group, groups, n=1, cutoff=0.85):
            for entry in entry_points(group=group):
                what = f"the group {group}, which is unknown; did you mean {meant}?"
                _add_stray(strays, entry, what)
    for group in Group:
        for entry in find_registered(group).values():
            if entry.name not in known:
                near = get_close_matches(entry.name, known, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                what = f"{group}, but no protocol of that name in {Group.PROTOCOLS}{hint}"
                _add_stray(strays, entry, what)
    return list(strays.values())


def _add_stray(strays: dict[tuple[str, str], str], entry: "EntryPoint", what: str) -> None:
    """Add a sentence on an entry point, unless its package has one for that name already."""
    if entry.dist is not None and entry.dist.name != OWN:
        package = entry.dist.name
        told = f"the package {package} registers {entry.name!r} in {what}"
        strays.setdefault((package, entry.name), told)


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
            found.append(_load_protocol(name))
        except UnknownProtocol as error:
            package = package_of(Group.PROTOCOLS, name)
            if package is None:
                raise
            leave_out(name, package, str(error))
    return {each.name: each for each in sorted(found, key=lambda each: (each.rank, each.name))}


def _load_protocol(name: str) -> Protocol:
    found = part(Group.PROTOCOLS, name, Protocol)
    if found.name != name:
        raise UnknownProtocol(
            f"the entry point {name} of {Group.PROTOCOLS} is a Protocol with the name "
            f"{found.name!r}; both must be the same"
        )
    return found


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
    found = load_part(group, name)
    if not isinstance(found, kind):
        raise UnknownProtocol(f"{_describe(group, name)}, is no {kind.__name__}")
    return found


def load_part(group: Group, name: str) -> object:
    """Import and return what a protocol registers in a group, of any type.

    Raises:
        BrokenPackage: the part is of another package and raises an error when it is imported.
        UnknownProtocol: the protocol has no such part.
    """
    try:
        found: object = entry_point(group, name).load()
    except UnknownProtocol:
        raise
    except Exception as error:
        if package_of(group, name) is None:
            raise
        told = f"{_describe(group, name)}, cannot be imported: {describe_mistake(error)}"
        raise BrokenPackage(told, package_of(group, name) or "") from error
    return found


def call_part(group: Group, name: str, kind: type[T]) -> T:
    """Call the function that a protocol registers in a group, and return what it returns.

    Raises:
        BrokenPackage: the part of another package cannot be imported, is no function without
            arguments, or returns something else than it is to.
        UnknownProtocol: the protocol has no such part.
    """
    make = load_part(group, name)
    found: object = make() if callable(make) else make
    if not callable(make) or not isinstance(found, kind):
        wrong = f"returns {type(found).__name__}" if callable(make) else "is no function"
        told = f"{_describe(group, name)}, {wrong}; expected to return a {kind.__name__}"
        raise BrokenPackage(told, package_of(group, name) or "")
    return found


def _describe(group: Group, name: str) -> str:
    return f"{entry_point(group, name).value}, the entry point {name} of {group}"


def package_of(group: Group, name: str) -> str | None:
    """Return the name of the package that registers an entry point; None if it is wireproof."""
    entry = find_registered(group).get(name)
    package = entry.dist.name if entry is not None and entry.dist is not None else OWN
    return None if package == OWN else package


@dataclass(frozen=True, slots=True)
class Blame:
    """Another author's package that was running when an error was raised.

    ``where`` is ``FILE, line N`` of its last call. ``own``: no code of wireproof was called by it.
    """

    package: str
    where: str
    own: bool


def find_culprit(error: BaseException) -> Blame | None:
    """Return the package of another author that was running when an error was raised, if any.

    Code of libraries is passed over: a refused connection is raised in the module socket.
    """
    from traceback import extract_tb

    packages = {
        entry.value.partition(":")[0].partition(".")[0]: package_of(group, name)
        for group in Group
        for name, entry in find_registered(group).items()
    }
    own = True
    for frame in reversed(extract_tb(error.__traceback__)):
        root = next((root for root in packages if _holds(root, frame.filename)), None)
        package = packages[root] if root is not None else None
        if package is not None:
            return Blame(package, f"{frame.filename}, line {frame.lineno}", own)
        own = own and root is None
    return None


def _holds(root: str, filename: str) -> bool:
    """Return True if a file belongs to an imported top-level package or module."""
    import os
    import sys

    module = sys.modules.get(root)
    folders: list[str] = list(getattr(module, "__path__", ()))
    inside = any(filename.startswith(f"{folder}{os.sep}") for folder in folders)
    return inside or filename == getattr(module, "__file__", None)


def describe_mistake(error: BaseException, within: str = "") -> str:
    """Return ``FILE, line N: TYPE: TEXT`` for an error that code of a package raised.

    The place is that of a syntax error, or else the last line of code that was run in a file whose
    path contains ``within``, the import system aside.
    """
    from traceback import extract_tb

    text = describe_type(error)
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


def describe_type(error: BaseException) -> str:
    """Return ``TYPE: TEXT`` of an error, the first line of its text alone."""
    return f"{type(error).__name__}: {error}".partition("\n")[0]
