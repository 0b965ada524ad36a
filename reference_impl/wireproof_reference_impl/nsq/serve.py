"""`serve nsq`: runs one broker as a process until it is stopped."""

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from wireproof_reference_impl.addresses import BadOption, read_address, read_loopback
from wireproof_reference_impl.command import Parser, Presets, announce, attend, run, run_until_told
from wireproof_reference_impl.fault_lock import find_lock
from wireproof_reference_impl.nsq.behaviour import Behaviour, of_dialect
from wireproof_reference_impl.nsq.fleet import Fleet
from wireproof_reference_impl.nsq.options import (
    DEPLOYED,
    PUBLISHED,
    Fsync,
    ServeOptions,
)
from wireproof_reference_impl.nsq.storage.queue_position import QueueFault
from wireproof_reference_impl.nsq.wire.answers import one_piece
from wireproof_reference_impl.overrides import apply
from wireproof_reference_impl.shell import Clock, Shell, collect_seldom
from wireproof_spec.nsq.limits import MAX_BODY_SIZE, MAX_BYTES_PER_FILE, MAX_MSG_SIZE

_MOST_EACH = 64
_ANNOUNCED = ("nodes", "lookupd_http", "control")

_DESCRIPTION = (
    "Run the reference NSQ broker, or with --lookupds a cluster of brokers, until SIGTERM or "
    "Ctrl-C."
)
_DIALECT_HELP = (
    "what to follow where the published texts and deployed brokers differ; default %(default)s"
)
_MESSAGE_HELP = "largest message in bytes; default %(default)s"
_BODY_HELP = "largest body of a command such as MPUB in bytes; default %(default)s"
_FILE_HELP = "size in bytes after which a queue starts another file; default %(default)s"

_FSYNC_HELP = (
    "when messages are forced to the disk (fsync). A killed process loses no acknowledged message "
    "under any choice. A power failure loses none under `always` (one fsync for all messages that "
    "came together, before they are answered), at most those of the last second under `interval`, "
    "and whatever the operating system had not written under `never` (the default: answers of a "
    "judged broker must not wait for a slow disk)"
)

HALTED = 70
"""The exit code of a broker that died on purpose."""


def serve(options: ServeOptions) -> int:
    """Run an NSQ broker until SIGTERM or SIGINT and return the exit code.

    Raises:
        BadOption: an option is invalid.
    """
    behaviour = _behaviour(options)
    return run_until_told(
        lambda: _serve(options, behaviour),
        OSError,
        QueueFault,
        in_pieces=behaviour.pacing.pieces is not one_piece,
    )


def main(argv: Sequence[str]) -> int:
    """Read the options, then list faults or run the broker; return the exit code, 2 if bad."""
    return run(argv, _parser(), lambda arguments: serve(_options(arguments)), presets=_presets)


# Presets are many, and a start that needs none should not wait for them.


def _presets() -> Presets:
    from wireproof_reference_impl.nsq import faulty
    from wireproof_reference_impl.nsq.presets import FAULTS, VARIANTS

    return Presets(FAULTS, VARIANTS, find_lock(faulty.__file__))


def _behaviour(options: ServeOptions) -> Behaviour:
    if not (options.faults or options.variants):
        return of_dialect(options.dialect)
    from wireproof_reference_impl import corners
    from wireproof_reference_impl.nsq import presets

    corners.report_to(options.data)
    apply(presets.overrides(options.faults, options.variants))
    return presets.build(
        options.dialect, fault_names=options.faults, variant_names=options.variants
    )


async def _serve(options: ServeOptions, behaviour: Behaviour) -> int:
    collect_seldom()
    clock = Clock()
    fleet = Fleet(options, behaviour, clock.now_ns())
    shell = Shell(behaviour.pacing, clock, asyncio.get_running_loop(), committer=fleet)

    async def listen() -> None:
        fields = await fleet.listen(shell)
        announce("nsq broker", fields, further=_ANNOUNCED, as_json=options.json)

    await attend(shell, listen, until_input_ends=options.until_input_ends)
    if fleet.halted:
        return HALTED
    fleet.close()
    return 0


def _parser() -> Parser:
    parser = Parser("nsq", _DESCRIPTION, tcp="127.0.0.1:4150", http="127.0.0.1:4151")
    add = parser.add_argument
    add("--data", metavar="DIR", help="store messages in this folder (default: memory)")
    add("--fsync", choices=[each.value for each in Fsync], default="never", help=_FSYNC_HELP)
    add("--nodes", type=int, metavar="N", default=1, help="number of nodes (needs --lookupds)")
    add("--lookupds", type=int, metavar="N", default=0, help="number of lookup servers")
    add(
        "--control",
        metavar="HOST:PORT",
        help="loopback address of an HTTP API that stops nodes and breaks links",
    )
    add("--tls-cert", metavar="FILE", help="offer TLS with this certificate (PEM)")
    add("--tls-key", metavar="FILE", help="private key of the certificate (PEM)")
    add("--tls-required", action="store_true", help="refuse commands outside TLS")
    add(
        "--auth-secret-env",
        metavar="VAR",
        help="require AUTH with the secret in this environment variable",
    )
    add("--dialect", choices=[PUBLISHED, DEPLOYED], default=PUBLISHED, help=_DIALECT_HELP)
    add("--max-msg-size", type=int, metavar="N", default=MAX_MSG_SIZE, help=_MESSAGE_HELP)
    add("--max-body-size", type=int, metavar="N", default=MAX_BODY_SIZE, help=_BODY_HELP)
    add("--max-bytes-per-file", type=int, metavar="N", default=MAX_BYTES_PER_FILE, help=_FILE_HELP)
    return parser


def _options(arguments: argparse.Namespace) -> ServeOptions:
    sizes = (arguments.max_msg_size, arguments.max_body_size, arguments.max_bytes_per_file)
    if min(sizes) < 1:
        raise BadOption(f"a size of {min(sizes)} is too small: at least 1 is needed")
    _check_tls(arguments.tls_cert, arguments.tls_key, required=arguments.tls_required)
    _check_cluster(arguments.nodes, arguments.lookupds, arguments.control)
    return ServeOptions(
        tcp=read_address(arguments.tcp),
        http=read_address(arguments.http),
        data=None if arguments.data is None else Path(arguments.data),
        fsync=Fsync(arguments.fsync),
        dialect=arguments.dialect,
        max_msg_size=arguments.max_msg_size,
        max_body_size=arguments.max_body_size,
        max_bytes_per_file=arguments.max_bytes_per_file,
        faults=tuple(arguments.fault),
        variants=tuple(arguments.variant),
        json=arguments.json,
        until_input_ends=arguments.until_input_ends,
        tls_certificate=None if arguments.tls_cert is None else Path(arguments.tls_cert),
        tls_key=None if arguments.tls_key is None else Path(arguments.tls_key),
        tls_required=arguments.tls_required,
        secret=_secret(arguments.auth_secret_env),
        nodes=arguments.nodes,
        lookupds=arguments.lookupds,
        control=None if arguments.control is None else read_loopback(arguments.control),
    )


def _check_tls(certificate: str | None, key: str | None, *, required: bool) -> None:
    if (certificate is None) != (key is None):
        there, missing = (
            ("--tls-cert", "--tls-key") if key is None else ("--tls-key", "--tls-cert")
        )
        raise BadOption(f"{there} is there without {missing}: give both")
    if required and certificate is None:
        raise BadOption("--tls-required needs --tls-cert and --tls-key")


def _secret(variable: str | None) -> bytes | None:
    if variable is None:
        return None
    secret = os.environ.get(variable)
    if not secret:
        raise BadOption(f"--auth-secret-env {variable}: the variable is not set, or empty")
    return secret.encode()


def _check_cluster(nodes: int, lookupds: int, control: str | None) -> None:
    for name, count, least in (("--nodes", nodes, 1), ("--lookupds", lookupds, 0)):
        if not least <= count <= _MOST_EACH:
            raise BadOption(f"{name} {count} is out of range {least}-{_MOST_EACH}")
    if not lookupds and nodes > 1:
        raise BadOption(f"--nodes {nodes} needs --lookupds: nodes find each other only by them")
    if not lookupds and control is not None:
        raise BadOption("--control needs --lookupds: a node alone has no cluster to break")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
