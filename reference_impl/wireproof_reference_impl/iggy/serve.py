"""`serve iggy`: run one Iggy server as a process."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias
from uuid import uuid4

from wireproof_reference_impl.addresses import (
    BadOption,
    address_text,
    read_address,
    read_loopback,
)
from wireproof_reference_impl.command import Parser, Presets, announce, attend, run, run_until_told
from wireproof_reference_impl.control_access import IDLE_SECONDS, ControlAccess
from wireproof_reference_impl.fault_lock import find_lock
from wireproof_reference_impl.iggy import control
from wireproof_reference_impl.iggy.behaviour import Behaviour
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server, ServerEnvironment
from wireproof_reference_impl.iggy.defaults import one_piece
from wireproof_reference_impl.iggy.generations import of_dialect
from wireproof_reference_impl.iggy.http import routes
from wireproof_reference_impl.iggy.http.connection import HttpConnection
from wireproof_reference_impl.iggy.link import Connect, NoCommit, ServerSource, connector
from wireproof_reference_impl.iggy.machine import this_host
from wireproof_reference_impl.iggy.options import (
    APACHE,
    DIALECTS,
    GENERATIONS,
    PUBLISHED,
    SEGMENT_SIZE,
    TAGGED,
    ServeOptions,
)
from wireproof_reference_impl.iggy.streams.storage import MemoryStorage, Storage
from wireproof_reference_impl.overrides import apply
from wireproof_reference_impl.shell import Clock, Shell, collect_seldom

_MICROSECOND_NS = 1_000

Place: TypeAlias = tuple[str, int]
"""A host and a port."""

_DESCRIPTION = "Run the reference Iggy server until SIGTERM or Ctrl-C."
_CONTROL_HELP = (
    "loopback address of an HTTP API that sets states and damages payloads (default: none)"
)
_SEGMENT_HELP = "size in bytes after which a segment is full; default %(default)s"
_GENERATION_HELP = (
    "protocol version: `published` is the commit of the published text (crate 0.0.40), `tagged` "
    "is server 0.4.209 (crate 0.6.202), `apache` is Apache Iggy 0.9.0 (protocol 0.11.0); "
    "default %(default)s"
)
_NUMBER_HELP = (
    "protocol number of generation `apache`, such as 0.12; default: that of the published pages"
)
_DIALECT_HELP = (
    "what to follow where the published text and deployed servers differ; default %(default)s"
)


def serve(options: ServeOptions) -> int:
    """Run an Iggy server until SIGTERM or SIGINT and return the exit code.

    Raises:
        BadOption: an option that cannot be followed.
    """
    behaviour = _behaviour(options)
    return run_until_told(
        lambda: _serve(options, behaviour),
        OSError,
        UnicodeDecodeError,
        in_pieces=behaviour.pacing.pieces is not one_piece,
    )


def main(argv: Sequence[str]) -> int:
    """Read the options, list the faults or serve; return the exit code, 2 for a bad option."""
    return run(argv, _parser(), lambda arguments: serve(_options(arguments)), presets=_presets)


# Imported when needed: importing all faults and variants would delay every other start.


def _presets() -> Presets:
    from wireproof_reference_impl.iggy import faulty
    from wireproof_reference_impl.iggy.presets import FAULTS, VARIANTS

    return Presets(FAULTS, VARIANTS, find_lock(faulty.__file__))


def _behaviour(options: ServeOptions) -> Behaviour:
    if not (options.faults or options.variants):
        return of_dialect(options.generation, options.dialect)
    from wireproof_reference_impl import corners
    from wireproof_reference_impl.iggy.presets import build, overrides

    corners.report_to(options.data)
    apply(overrides(options.faults, options.variants))
    return build(
        options.generation,
        options.dialect,
        fault_names=options.faults,
        variant_names=options.variants,
    )


def new_id() -> int:
    """Return a random UUID as a number: its 16 bytes in little-endian order."""
    return int.from_bytes(uuid4().bytes, "little")


async def _serve(options: ServeOptions, behaviour: Behaviour) -> int:
    collect_seldom()
    clock = Clock()
    around = ServerEnvironment(
        storage=_storage(options),
        new_id=new_id,
        started_us=clock.now_ns() // _MICROSECOND_NS,
        host=this_host(),
        segment_size=options.segment_size,
    )
    listeners = _listeners(behaviour, around, options.number)
    shell = Shell(behaviour.pacing, clock, asyncio.get_running_loop(), committer=NoCommit())

    async def listen() -> None:
        fields = await _listen(shell, listeners, options)
        announce("iggy server", fields, further=("control",), as_json=options.json)

    await attend(shell, listen, until_input_ends=options.until_input_ends)
    return 0


class Listeners(NamedTuple):
    """What serves the connections of a server: over TCP, over HTTP, of the control API.

    `settle` is told where the server listens for TCP and for HTTP.
    """

    tcp: Connect
    http: Connect
    control: Callable[[ControlAccess], Connect] | None
    settle: Callable[[Place, Place], None]


def _listeners(behaviour: Behaviour, around: ServerEnvironment, number: str | None) -> Listeners:
    """Return what serves the generation of a behaviour; `apache` has a server of its own."""
    if behaviour.framing.generation == APACHE:
        return _listeners_of_apache(behaviour, around, number)
    server = Server(behaviour, around)

    def connect(tell: Callable[[], str], now_us: int) -> Connection:
        return Connection(server, address=tell(), now_us=now_us)

    def over_http(tell: Callable[[], str], now_us: int) -> HttpConnection[Server]:
        return routes.connection(server)

    def controlled(access: ControlAccess) -> Connect:
        return lambda tell, now_us: control.connection(server, access)

    def settle(tcp: Place, http: Place) -> None:
        """Do nothing: earlier servers tell nobody where they are."""

    return Listeners(connect, over_http, controlled, settle)


def _listeners_of_apache(
    behaviour: Behaviour, around: ServerEnvironment, number: str | None
) -> Listeners:
    from wireproof_reference_impl.iggy.apache.connection import Connection as OfApache
    from wireproof_reference_impl.iggy.apache.http import routes as routes_of_apache
    from wireproof_reference_impl.iggy.apache.node import Node
    from wireproof_spec.iggy.apache.envelopes import ENVELOPES, OWN

    node = Node(behaviour, around, OWN if number is None else ENVELOPES[number])

    def connect(tell: Callable[[], str], now_us: int) -> OfApache:
        return OfApache(node, now_us=now_us)

    def over_http(tell: Callable[[], str], now_us: int) -> HttpConnection[Node]:
        return routes_of_apache.connection(node)

    def settle(tcp: Place, http: Place) -> None:
        node.addresses = tcp, http

    return Listeners(connect, over_http, None, settle)


async def _listen(
    shell: Shell, listeners: Listeners, options: ServeOptions
) -> Mapping[str, str | None]:
    """Listen at every address and return the addresses."""
    source = ServerSource()
    tcp = await shell.listen(source, options.tcp, connector(source, listeners.tcp))
    http = await shell.listen(source, options.http, connector(source, listeners.http))
    listeners.settle(tcp, http)
    access = ControlAccess()
    controlled: tuple[str, int] | None = None
    if options.control is not None and listeners.control is not None:
        controlled = await shell.listen(
            source,
            options.control,
            connector(source, listeners.control(access)),
            idle_s=IDLE_SECONDS,
        )
    return {
        "protocol": "iggy",
        "tcp": address_text(*tcp),
        "http": address_text(*http),
        "control": None if controlled is None else access.announce(address_text(*controlled)),
        "data": None if options.data is None else str(options.data),
    }


def _parser() -> Parser:
    parser = Parser("iggy", _DESCRIPTION, tcp="127.0.0.1:8090", http="127.0.0.1:3000")
    add = parser.add_argument
    add(
        "--data",
        metavar="DIR",
        help="store messages in this folder (default: memory; not for generation tagged)",
    )
    add("--segment-size", type=int, metavar="N", default=SEGMENT_SIZE, help=_SEGMENT_HELP)
    add("--control", metavar="HOST:PORT", help=_CONTROL_HELP)
    add("--generation", choices=GENERATIONS, default=PUBLISHED, help=_GENERATION_HELP)
    add("--protocol-number", metavar="NUMBER", help=_NUMBER_HELP)
    add("--dialect", choices=DIALECTS, default=PUBLISHED, help=_DIALECT_HELP)
    return parser


def _options(arguments: argparse.Namespace) -> ServeOptions:
    if not 1 <= arguments.segment_size <= SEGMENT_SIZE:
        raise BadOption(
            f"--segment-size {arguments.segment_size} is out of range 1-{SEGMENT_SIZE}"
        )
    if arguments.data is not None and arguments.generation == TAGGED:
        raise BadOption("--data is not for --generation tagged: such servers keep other files")
    if arguments.control is not None and arguments.generation == APACHE:
        raise BadOption("--control is not for --generation apache: its messages have no state")
    if arguments.protocol_number is not None:
        _check_number(arguments.protocol_number, arguments.generation)
    return ServeOptions(
        tcp=read_address(arguments.tcp),
        http=read_address(arguments.http),
        data=None if arguments.data is None else Path(arguments.data),
        segment_size=arguments.segment_size,
        generation=arguments.generation,
        dialect=arguments.dialect,
        faults=tuple(arguments.fault),
        variants=tuple(arguments.variant),
        json=arguments.json,
        until_input_ends=arguments.until_input_ends,
        control=None if arguments.control is None else read_loopback(arguments.control),
        number=arguments.protocol_number,
    )


def _check_number(number: str, generation: str) -> None:
    from wireproof_spec.iggy.apache.envelopes import ENVELOPES

    if generation != APACHE:
        raise BadOption("--protocol-number is for --generation apache alone")
    if number not in ENVELOPES:
        known = ", ".join(ENVELOPES)
        raise BadOption(f"--protocol-number: expected one of {known}; found {number!r}")


def _storage(options: ServeOptions) -> Storage:
    if options.data is None:
        return MemoryStorage()
    from wireproof_reference_impl.iggy.disk import DiskStorage

    return DiskStorage(options.data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
