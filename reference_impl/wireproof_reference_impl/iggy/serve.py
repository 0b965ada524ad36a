"""`serve iggy`: one server as a process, until it is told to end."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn
from uuid import uuid4

from wireproof_reference_impl.addresses import (
    BadOption,
    address_text,
    read_address,
    read_loopback,
)
from wireproof_reference_impl.iggy import control
from wireproof_reference_impl.iggy.core.connection import Connection
from wireproof_reference_impl.iggy.core.server import Server, Surroundings
from wireproof_reference_impl.iggy.core.storage import MemoryStorage, Storage
from wireproof_reference_impl.iggy.http import routes
from wireproof_reference_impl.iggy.link import AtOnce, Carried, connector
from wireproof_reference_impl.iggy.machine import this_host
from wireproof_reference_impl.iggy.options import (
    DIALECTS,
    GENERATIONS,
    PUBLISHED,
    SEGMENT_SIZE,
    TAGGED,
    ServeOptions,
)
from wireproof_reference_impl.iggy.presets import FAULTS, VARIANTS, build
from wireproof_reference_impl.preset import Preset, listed
from wireproof_reference_impl.shell import Clock, Shell, collect_seldom

_MICROSECOND_NS = 1_000

_CONTROL_HELP = "loopback address where states are set and payloads damaged (off without it)"
_SEGMENT_HELP = "bytes after which a new segment is begun, at the end of a request"
_GENERATION_HELP = (
    "`published`: the commit of the published note (crate 0.0.40); `tagged`: server 0.4.209, "
    "which crate 0.6.202 speaks"
)


def serve(options: ServeOptions) -> int:
    """Run a server until SIGTERM or SIGINT and return the exit code.

    Raises:
        BadOption: an option that cannot be followed.
    """
    try:
        return asyncio.run(_serve(options))
    except (OSError, UnicodeDecodeError) as error:
        raise BadOption(f"cannot serve: {error}") from error
    except KeyboardInterrupt:
        return 0


def main(argv: Sequence[str]) -> int:
    """Read the options, then list or serve; a bad option is one sentence and exit code 2."""
    try:
        arguments = _parser().parse_args(argv)
        if arguments.list_faults:
            return _print_list(FAULTS)
        if arguments.list_variants:
            return _print_list(VARIANTS)
        return serve(_options(arguments))
    except BadOption as error:
        print(f"wireproof serve iggy: {error}", file=sys.stderr)
        return 2


def new_id() -> int:
    """Return a random UUID as the number that its bytes are, little endian."""
    return int.from_bytes(uuid4().bytes, "little")


async def _serve(options: ServeOptions) -> int:
    behaviour = build(
        options.generation,
        options.dialect,
        fault_names=options.faults,
        variant_names=options.variants,
    )
    collect_seldom()
    clock = Clock()
    around = Surroundings(
        storage=_storage(options),
        new_id=new_id,
        started_us=clock.now_ns() // _MICROSECOND_NS,
        host=this_host(),
        segment_size=options.segment_size,
    )
    server = Server(behaviour, around)
    loop = asyncio.get_running_loop()
    shell = Shell(behaviour.pacing, clock, loop, keeper=AtOnce())
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, shell.stop)
    try:
        _announce(options, await _listen(shell, server, options))
        await shell.stopped
    finally:
        shell.close()
    return 0


async def _listen(shell: Shell, server: Server, options: ServeOptions) -> Mapping[str, str | None]:
    """Open every address and return where they are."""
    carried = Carried()
    tcp = await shell.listen(
        carried,
        options.tcp,
        connector(
            carried, lambda address, now_us: Connection(server, address=address, now_us=now_us)
        ),
    )
    http = await shell.listen(
        carried,
        options.http,
        connector(carried, lambda address, now_us: routes.connection(server)),
    )
    controlled: tuple[str, int] | None = None
    if options.control is not None:
        controlled = await shell.listen(
            carried,
            options.control,
            connector(carried, lambda address, now_us: control.connection(server)),
        )
    return {
        "protocol": "iggy",
        "tcp": address_text(*tcp),
        "http": address_text(*http),
        "control": None if controlled is None else address_text(*controlled),
        "data": None if options.data is None else str(options.data),
    }


def _announce(options: ServeOptions, fields: Mapping[str, str | None]) -> None:
    if options.json:
        print(json.dumps(fields, separators=(",", ":")), flush=True)
        return
    print(f"iggy server on {fields['tcp']}, HTTP on {fields['http']}", flush=True)
    if fields["control"] is not None:
        print(f"control: {fields['control']}", flush=True)


def _print_list(presets: Mapping[str, Preset]) -> int:
    for preset in presets.values():
        print(listed(preset, VARIANTS))
    return 0


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with an option in one sentence, and leaves the end to its caller."""

    def error(self, message: str) -> NoReturn:
        raise BadOption(message)


def _parser() -> _Parser:
    parser = _Parser(prog="wireproof serve iggy", allow_abbrev=False)
    add = parser.add_argument
    add("--tcp", metavar="HOST:PORT", default="127.0.0.1:8090", help="port 0: any free one")
    add("--http", metavar="HOST:PORT", default="127.0.0.1:3000", help="port 0: any free one")
    add("--data", metavar="DIR", help="keep messages there (else in memory; not when tagged)")
    add("--segment-size", type=int, metavar="N", default=SEGMENT_SIZE, help=_SEGMENT_HELP)
    add("--control", metavar="HOST:PORT", help=_CONTROL_HELP)
    add("--generation", choices=GENERATIONS, default=PUBLISHED, help=_GENERATION_HELP)
    add("--dialect", choices=DIALECTS, default=PUBLISHED)
    add("--fault", action="append", metavar="NAME", default=[], help="be wrong on purpose")
    add("--variant", action="append", metavar="NAME", default=[], help="differ legally")
    add("--list-faults", action="store_true")
    add("--list-variants", action="store_true")
    add("--json", action="store_true", help="say where it listens as one line of JSON")
    return parser


def _options(arguments: argparse.Namespace) -> ServeOptions:
    if not 1 <= arguments.segment_size <= SEGMENT_SIZE:
        raise BadOption(
            f"--segment-size {arguments.segment_size} is out of range 1-{SEGMENT_SIZE}"
        )
    if arguments.data is not None and arguments.generation == TAGGED:
        raise BadOption("--data needs --generation published: tagged servers keep other files")
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
        control=None if arguments.control is None else read_loopback(arguments.control),
    )


def _storage(options: ServeOptions) -> Storage:
    if options.data is None:
        return MemoryStorage()
    from wireproof_reference_impl.iggy.disk import DiskStorage

    return DiskStorage(options.data)
