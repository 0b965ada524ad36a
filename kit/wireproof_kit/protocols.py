"""What the kit knows of each registered protocol: its session, its URLs, its reference."""

import ast
import importlib
import importlib.util
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from wireproof_kit.errors import UsageFault
from wireproof_kit.targets.interpreter import module_command
from wireproof_kit.targets.session import OpenSession
from wireproof_kit.targets.target import (
    ON_ADAPTERS,
    Keys,
    Target,
    TargetKey,
    is_url,
    parse_target,
    with_key,
)
from wireproof_kit.wire.address import Address, format_address, is_loopback
from wireproof_spec.clauses.loading import CatalogueFault, load_catalogue
from wireproof_spec.clauses.unlisted import list_unlisted
from wireproof_spec.protocol import (
    BrokenPackage,
    Group,
    UnknownProtocol,
    describe_mistake,
    entry_point,
    leave_out,
    list_having,
    load_part,
    package_of,
    part,
)

if TYPE_CHECKING:
    from wireproof_kit.clients.course import CourseLine
    from wireproof_kit.drivers.check import CheckDriver
    from wireproof_kit.fuzz.driver import (
        CheckChoice,
        OpenAdapterFuzzSession,
        OpenClientFuzzSession,
        OpenFuzzSession,
    )
    from wireproof_kit.proxy.part import ProxyPart
    from wireproof_spec.fuzz_record import FindingRecord
    from wireproof_spec.step_record import TranscriptRecord

Names: TypeAlias = Callable[[Target], Sequence[str]]
TellCourse: TypeAlias = "Callable[[TranscriptRecord], Iterable[CourseLine]]"
WriteProgramScript: TypeAlias = "Callable[[FindingRecord, str], str]"
RecordedArguments: TypeAlias = "Callable[[TranscriptRecord], Mapping[str, object]]"


@dataclass(frozen=True, slots=True)
class KitPart:
    """The part of the kit for one protocol; ``arguments`` are the arguments that cases may take.

    Functions import what they need when they are called, so that loading this costs nothing.
    ``example`` is the URL of a target at its usual port. ``schemes`` are its URL schemes, by
    default the protocol's name. ``target_keys`` are the keys that a user may add to a URL.
    ``reference`` are the options with which the example server offers everything that cases need;
    ``keys`` map target keys to the names of values that the server reports when it is ready.
    ``unfit`` maps a value of an option of the server to the options that do not go with it.
    ``several`` maps an argument to a function that lists its values on a target: a case that takes
    it runs once for each value. ``needs`` maps an argument to the capability it requires.
    ``open_fuzz_session`` opens a broker for the fuzzer, ``open_client_fuzz_session`` a client,
    with the patience in seconds that the user gave, or None, and a function that returns True once
    opening is to be given up: then it returns None. ``open_adapter_fuzz_session`` opens a system
    behind an adapter. ``check_fuzz_choice`` checks the names of frames and states before
    anything is opened.
    ``adapter_reference`` are the options with which the example server
    is an adapter on its standard input and output. ``write_program_script`` makes a script of a
    finding against what a command starts. ``check_client_driver`` checks
    the command of a client's driver, ``check_adapter`` that of a system's adapter.
    ``recorded_arguments`` makes the argument of a case for clients from a recorded exchange, so
    that the exchange can be observed again; ``tell_course`` describes that exchange in lines.
    ``find_nodes`` returns the addresses of the nodes that a target's servers name.
    ``count_creations`` returns how many things of each noun a run creates for its cases, from how
    often these take each argument.
    ``proxy`` returns what a proxy of the protocol needs. ``dissector`` is the Lua script with
    which Wireshark names the frames.
    """

    open_session: OpenSession
    arguments: tuple[str, ...]
    example: str
    schemes: tuple[str, ...] = ()
    target_keys: Keys = field(default_factory=dict[str, TargetKey])
    reference: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    unfit: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    several: Mapping[str, Names] = field(default_factory=dict[str, Names])
    needs: Mapping[str, str] = field(default_factory=dict[str, str])
    open_fuzz_session: "OpenFuzzSession | None" = None
    open_client_fuzz_session: "OpenClientFuzzSession | None" = None
    open_adapter_fuzz_session: "OpenAdapterFuzzSession | None" = None
    check_fuzz_choice: "CheckChoice | None" = None
    adapter_reference: tuple[str, ...] = ()
    write_program_script: "WriteProgramScript | None" = None
    check_client_driver: "CheckDriver | None" = None
    check_adapter: "CheckDriver | None" = None
    recorded_arguments: "RecordedArguments | None" = None
    tell_course: "TellCourse | None" = None
    find_nodes: Callable[[Target], Sequence[Address]] | None = None
    count_creations: Callable[[Counter[str]], Mapping[str, int]] | None = None
    proxy: "Callable[[], ProxyPart] | None" = None
    dissector: Path | None = None


def known_protocols() -> tuple[str, ...]:
    """Return the names of the protocols that the kit supports, the default one first.

    A protocol of another package whose parts do not load is left out, see `left_out`.
    """
    _check_packages()
    return list_having(Group.KIT)


@cache
def _check_packages() -> None:
    """Leave out each protocol of another package whose kit part, law or cases do not load."""
    for name in list_having(Group.KIT):
        package = package_of(Group.KIT, name)
        if package is None:
            continue
        try:
            _refuse_text(part(Group.KIT, name, KitPart))
            load_catalogue(name)
            for fault in list_unlisted(name):
                raise CatalogueFault(fault)
            _parse_suites(name)
        except (UnknownProtocol, CatalogueFault) as error:
            leave_out(name, package, str(error))


def _refuse_text(part: KitPart) -> None:
    """Refuse a text in place of a tuple of texts: ``("a")`` is one, and its letters are no names.

    Raises:
        UnknownProtocol: see above.
    """
    for name in ("arguments", "schemes", "reference", "adapter_reference"):
        value: object = getattr(part, name)
        if isinstance(value, str):
            raise UnknownProtocol(f"KitPart.{name} is the text {value!r}; write ({value!r},)")


def _parse_suites(protocol: str) -> None:
    """Parse the files of a protocol's cases without running them.

    Raises:
        UnknownProtocol: the package of the cases is not there, or a file is no Python.
    """
    if protocol not in list_having(Group.SUITES):
        return
    name = entry_point(Group.SUITES, protocol).value
    try:
        spec = importlib.util.find_spec(name)
    except Exception as error:
        raise UnknownProtocol(f"{name}: {describe_mistake(error)}") from error
    if spec is None:
        raise UnknownProtocol(f"{name}, which is to hold the cases, is not there")
    for folder in spec.submodule_search_locations or ():
        for path in sorted(Path(folder).rglob("*.py")):
            try:
                ast.parse(path.read_bytes(), str(path))
            except (SyntaxError, ValueError) as error:
                raise UnknownProtocol(describe_mistake(error)) from error


def kit_part(protocol: str) -> KitPart:
    """Return the kit's part for a protocol.

    Raises:
        UsageFault: the protocol is unknown.
    """
    try:
        return part(Group.KIT, protocol, KitPart)
    except BrokenPackage as error:
        raise UsageFault(str(error)) from error
    except UnknownProtocol:
        known = ", ".join(known_protocols())
        raise UsageFault(f"protocol {protocol!r} is unknown; known: {known}") from None


def _parts() -> Mapping[str, KitPart]:
    return {name: kit_part(name) for name in known_protocols()}


def schemes() -> Mapping[str, Keys]:
    """Return the URL schemes of targets, with the keys that a URL of each scheme may have."""
    return {
        scheme: known.target_keys
        for name, known in _parts().items()
        for scheme in known.schemes or (name,)
    }


def case_arguments() -> frozenset[str]:
    """Return the names of all arguments that cases of any protocol may take."""
    return frozenset(name for known in _parts().values() for name in known.arguments)


def example_url() -> str:
    """Return an example of a target's URL, for messages."""
    return kit_part(known_protocols()[0]).example


def url_of(address: str) -> str:
    """Return the URL that a user who gave only HOST:PORT may have meant.

    Its protocol is the one whose usual port is given, or else the default one.
    """
    port = address.rpartition(":")[2]
    usual = (known.example for known in _parts().values() if known.example.endswith(f":{port}"))
    return f"{next(usual, example_url()).partition('://')[0]}://{address}"


def suggest_url(text: str) -> str:
    """Return the URL that a user may have meant with a text that is none; else empty text."""
    scheme, colon, rest = text.partition(":")
    address = rest.lstrip("/")
    if text.partition("//")[0] in known_protocols():  # such as nsq//127.0.0.1:4150
        scheme, _, address = text.partition("//")
    if scheme in known_protocols():
        return f"{scheme}://{address}" if address else kit_part(scheme).example
    return url_of(text.lstrip("/")) if colon else ""


def target_keys() -> Keys:
    """Return the URL keys of all protocols; if two have the same key, the first protocol's."""
    keys: dict[str, TargetKey] = {}
    for known in _parts().values():
        keys |= {key: each for key, each in known.target_keys.items() if key not in keys}
    return keys


def read_target(url: str, keys: Iterable[tuple[str, str]] = ()) -> Target:
    """Return the target of a URL and of keys that were given as options.

    Raises:
        UsageFault: the URL or a key is invalid.
    """
    if url.strip() and not is_url(url):
        near = suggest_url(url) or example_url()
        raise UsageFault(f"{url!r} is no URL of a target; did you mean {near}?")
    target = parse_target(url, schemes())
    for key, value in keys:
        target = with_key(target, key, value, kit_part(target.protocol).target_keys)
    return target


def find_off_loopback(target: Target) -> str:
    """Return the target's URL, or a node that its servers name, if not on loopback; else nothing.

    Raises:
        KitError: no server can be asked for nodes.
    """
    if not target.is_loopback():
        return target.url
    find = kit_part(target.protocol).find_nodes
    nodes = find(target) if find is not None and target.servers else ()
    return next((format_address(node) for node in nodes if not is_loopback(node[0])), "")


def list_with_reference() -> tuple[str, ...]:
    """Return the protocols that have a reference."""
    return list_having(Group.SERVERS)


def refuse_without_reference(protocol: str) -> None:
    """Refuse a known protocol that has no reference.

    Raises:
        UsageFault: see above.
    """
    if protocol in known_protocols() and protocol not in list_with_reference():
        raise UsageFault(
            f"protocol {protocol} has no example server (entry point group {Group.SERVERS})"
        )


def list_with_fuzzing() -> tuple[str, ...]:
    """Return the protocols whose targets can be fuzzed."""
    return tuple(
        name
        for name, known in _parts().items()
        if known.open_fuzz_session or known.open_adapter_fuzz_session
    )


def adapter_reference(protocol: str, options: Sequence[str] = ()) -> Target | None:
    """Return the reference as an adapter that the kit starts; None if it is no adapter."""
    usual = kit_part(protocol).adapter_reference
    if not usual:
        return None
    command = shlex.join(module_command("wireproof", "serve", protocol, *usual, *options))
    return read_target(f"{protocol}{ON_ADAPTERS}:{command}")


def suites(protocol: str) -> str:
    """Return the name of the Python package with the cases of a protocol."""
    return entry_point(Group.SUITES, protocol).value


def server(protocol: str) -> Callable[[list[str]], int]:
    """Import the function that runs a protocol's reference server until it is stopped."""
    return cast(Callable[[list[str]], int], load_part(Group.SERVERS, protocol))


def protocol_of(case_id: str) -> str:
    """Return the protocol that a case id begins with."""
    return case_id.partition("/")[0]


def resolve(dotted: str) -> Callable[..., object]:
    """Import ``package.module:name`` and return the named callable."""
    module, _, name = dotted.partition(":")
    return cast(Callable[..., object], getattr(importlib.import_module(module), name))
