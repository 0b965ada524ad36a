"""`serve nsq`: one broker as a process, until it is told to end."""

import argparse
import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from wireproof_reference_impl.nsq import http_api
from wireproof_reference_impl.nsq.behaviour import Behaviour
from wireproof_reference_impl.nsq.core import broker
from wireproof_reference_impl.nsq.core.limits import Limits
from wireproof_reference_impl.nsq.core.log import MemoryStorage, Storage
from wireproof_reference_impl.nsq.core.node import Node
from wireproof_reference_impl.nsq.options import (
    DEPLOYED,
    PUBLISHED,
    BadOption,
    ServeOptions,
    read_address,
)
from wireproof_reference_impl.nsq.preset import Preset
from wireproof_reference_impl.nsq.presets import FAULTS, VARIANTS, build
from wireproof_reference_impl.nsq.queue_place import QueueFault
from wireproof_reference_impl.nsq.shell import Clock, Shell
from wireproof_spec.nsq.limits import MAX_BODY_SIZE, MAX_BYTES_PER_FILE, MAX_MSG_SIZE

HALTED = 70
"""The exit code of a broker that died on purpose."""


def serve(options: ServeOptions) -> int:
    """Run a broker until SIGTERM or SIGINT and return the exit code.

    Raises:
        BadOption: an option that cannot be followed.
    """
    behaviour = build(options.dialect, fault_names=options.faults, variant_names=options.variants)
    try:
        return asyncio.run(_serve(options, behaviour))
    except (OSError, QueueFault) as error:
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
        print(f"wireproof serve nsq: {error}", file=sys.stderr)
        return 2


async def _serve(options: ServeOptions, behaviour: Behaviour) -> int:
    clock = Clock()
    limits = Limits(options.max_msg_size, options.max_body_size, options.max_bytes_per_file)
    node = Node(_storage(options), behaviour=behaviour, limits=limits, now_ns=clock.now_ns())
    loop = asyncio.get_running_loop()
    shell = Shell(node, clock, loop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, shell.stop)
    async with contextlib.AsyncExitStack() as stack:
        tcp = await shell.listen(*options.tcp, broker.connector(node))
        stack.callback(tcp.close)
        http = None
        if options.http is not None:
            http = await shell.listen(*options.http, http_api.connector(node))
            stack.callback(http.close)
        _announce(options, tcp, http)
        await shell.stopped
    shell.close()
    if node.halted:
        return HALTED
    node.close()
    return 0


def _announce(options: ServeOptions, tcp: asyncio.Server, http: asyncio.Server | None) -> None:
    fields = {
        "protocol": "nsq",
        "tcp": _address(tcp),
        "http": None if http is None else _address(http),
        "data": None if options.data is None else str(options.data),
    }
    if options.json:
        print(json.dumps(fields, separators=(",", ":")), flush=True)
        return
    print(f"nsq broker on {fields['tcp']}, HTTP on {fields['http']}", flush=True)


def _address(server: asyncio.Server) -> str:
    host, port = server.sockets[0].getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _storage(options: ServeOptions) -> Storage:
    if options.data is None:
        return MemoryStorage()
    from wireproof_reference_impl.nsq.storage import DiskStorage

    return DiskStorage(options.data, max_bytes_per_file=options.max_bytes_per_file)


def _print_list(presets: Mapping[str, Preset]) -> int:
    """Print name, kind, clauses and text of each; `?` marks a clause that may break."""
    for preset in presets.values():
        clauses = ",".join([*preset.breaks, *(f"{each}?" for each in preset.may_break)])
        print(preset.name, preset.kind, clauses, preset.text, sep="\t")
    return 0


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with an option in one sentence, and leaves the end to its caller."""

    def error(self, message: str) -> NoReturn:
        raise BadOption(message)


def _parser() -> _Parser:
    parser = _Parser(prog="wireproof serve nsq", allow_abbrev=False)
    add = parser.add_argument
    add("--tcp", metavar="HOST:PORT", default="127.0.0.1:4150", help="port 0: any free one")
    add("--http", metavar="HOST:PORT", default="127.0.0.1:4151", help="port 0: any free one")
    add("--data", metavar="DIR", help="keep messages there (else in memory)")
    add("--dialect", choices=[PUBLISHED, DEPLOYED], default=PUBLISHED)
    add("--max-msg-size", type=int, metavar="N", default=MAX_MSG_SIZE)
    add("--max-body-size", type=int, metavar="N", default=MAX_BODY_SIZE)
    add("--max-bytes-per-file", type=int, metavar="N", default=MAX_BYTES_PER_FILE)
    add("--fault", action="append", metavar="NAME", default=[], help="be wrong on purpose")
    add("--variant", action="append", metavar="NAME", default=[], help="differ legally")
    add("--list-faults", action="store_true")
    add("--list-variants", action="store_true")
    add("--json", action="store_true", help="say where it listens as one line of JSON")
    return parser


def _options(arguments: argparse.Namespace) -> ServeOptions:
    sizes = (arguments.max_msg_size, arguments.max_body_size, arguments.max_bytes_per_file)
    if min(sizes) < 1:
        raise BadOption(f"a size of {min(sizes)} is too small: at least 1 is needed")
    return ServeOptions(
        tcp=read_address(arguments.tcp),
        http=read_address(arguments.http),
        data=None if arguments.data is None else Path(arguments.data),
        dialect=arguments.dialect,
        max_msg_size=arguments.max_msg_size,
        max_body_size=arguments.max_body_size,
        max_bytes_per_file=arguments.max_bytes_per_file,
        faults=tuple(arguments.fault),
        variants=tuple(arguments.variant),
        json=arguments.json,
    )
