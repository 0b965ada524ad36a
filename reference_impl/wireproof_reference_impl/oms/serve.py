"""`serve oms`: run an OpenMessaging broker behind the adapter protocol, as a process."""

import argparse
import asyncio
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from uuid import uuid4

from wireproof_reference_impl.addresses import address_text, read_address
from wireproof_reference_impl.command import Parser, Presets, announce, attend, run, run_until_told
from wireproof_reference_impl.fault_lock import find_lock
from wireproof_reference_impl.oms.adapter.adapter import Adapter
from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core.broker import Broker, BrokerEnvironment
from wireproof_reference_impl.oms.link import AdapterSource, NoCommit, Whole
from wireproof_reference_impl.oms.stdio import serve_lines
from wireproof_reference_impl.overrides import apply
from wireproof_reference_impl.shell import Clock, Shell, collect_seldom

_DESCRIPTION = """Run the reference OpenMessaging broker behind the adapter protocol, over HTTP
until SIGTERM or Ctrl-C, or on standard input and output until the input ends."""
_STDIO_HELP = "speak on standard input and output, as an adapter that the kit starts; no HTTP"
_SCHEME = "oms+http"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of the OpenMessaging server: its address or standard input, and behaviour."""

    http: tuple[str, int]
    stdio: bool
    faults: tuple[str, ...]
    variants: tuple[str, ...]
    json: bool
    until_input_ends: bool


def serve(options: ServeOptions) -> int:
    """Run an OpenMessaging server until it is told to end, and return the exit code.

    Raises:
        BadOption: an option that cannot be followed.
    """
    adapter = _adapter(_behaviour(options))
    if options.stdio:
        return _serve_stdio(adapter)
    return run_until_told(lambda: _serve_http(options, adapter), OSError, in_pieces=False)


def main(argv: Sequence[str]) -> int:
    """Read the options, list the faults or serve; return the exit code, 2 for a bad option."""
    return run(argv, _parser(), lambda arguments: serve(_options(arguments)), presets=_presets)


# Imported when needed: importing all faults and variants would delay every other start.


def _presets() -> Presets:
    from wireproof_reference_impl.oms import faulty
    from wireproof_reference_impl.oms.presets import FAULTS, VARIANTS

    return Presets(FAULTS, VARIANTS, find_lock(faulty.__file__))


def _behaviour(options: ServeOptions) -> Behaviour:
    if not (options.faults or options.variants):
        return Behaviour()
    from wireproof_reference_impl.oms.presets import build, overrides

    apply(overrides(options.faults, options.variants))
    return build(fault_names=options.faults, variant_names=options.variants)


def new_id() -> str:
    """Return a random id of 32 hexadecimal digits."""
    return uuid4().hex.upper()


def _adapter(behaviour: Behaviour) -> Adapter:
    around = BrokerEnvironment(host=socket.gethostname(), new_id=new_id)
    return Adapter(Broker(behaviour, around), version=version("wireproof"))


def _serve_stdio(adapter: Adapter) -> int:
    trouble = serve_lines(adapter, Clock())
    if trouble:
        print(f"wireproof serve oms: {trouble}", file=sys.stderr)
    return 1 if trouble else 0


async def _serve_http(options: ServeOptions, adapter: Adapter) -> int:
    collect_seldom()
    shell = Shell(Whole(), Clock(), asyncio.get_running_loop(), committer=NoCommit())
    source = AdapterSource(adapter)

    async def listen() -> None:
        address = address_text(*await shell.listen(source, options.http, source.connect))
        fields = {"protocol": "oms", "http": address, "url": f"{_SCHEME}://{address}"}
        announce("oms broker", fields, further=("url",), as_json=options.json)

    await attend(shell, listen, until_input_ends=options.until_input_ends)
    return 0


def _parser() -> Parser:
    parser = Parser("oms", _DESCRIPTION, http="127.0.0.1:8600")
    parser.add_argument("--stdio", action="store_true", help=_STDIO_HELP)
    return parser


def _options(arguments: argparse.Namespace) -> ServeOptions:
    return ServeOptions(
        http=read_address(arguments.http),
        stdio=arguments.stdio,
        faults=tuple(arguments.fault),
        variants=tuple(arguments.variant),
        json=arguments.json,
        until_input_ends=arguments.until_input_ends,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
