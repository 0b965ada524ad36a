"""`serve PROTOCOL` as a command: options read, a list printed, or a server until told to end."""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NoReturn

from wireproof_reference_impl.addresses import BadOption
from wireproof_reference_impl.loops import libuv_loop
from wireproof_reference_impl.preset import Preset, listed
from wireproof_reference_impl.shell import Shell

Presets = tuple[Mapping[str, Preset], Mapping[str, Preset]]
"""Faults and variants by name."""

_ANY_PORT = "default %(default)s; port 0: any free one"


class Parser(argparse.ArgumentParser):
    """Says what is wrong with an option in one sentence, and leaves the end to its caller.

    Of every server the same: where it listens, what it does wrong or otherwise on purpose, what
    it lists, how it says that it is ready.
    """

    def __init__(self, protocol: str, description: str, *, tcp: str, http: str) -> None:
        super().__init__(
            prog=f"wireproof serve {protocol}", description=description, allow_abbrev=False
        )
        add = self.add_argument
        add("--tcp", metavar="HOST:PORT", default=tcp, help=_ANY_PORT)
        add("--http", metavar="HOST:PORT", default=http, help=_ANY_PORT)
        add(
            "--fault",
            action="append",
            metavar="NAME",
            default=[],
            help="be wrong on purpose; repeatable",
        )
        add(
            "--variant",
            action="append",
            metavar="NAME",
            default=[],
            help="differ legally; repeatable",
        )
        add("--list-faults", action="store_true", help="say what it can do wrong, and end")
        add("--list-variants", action="store_true", help="say how it can differ, and end")
        add("--json", action="store_true", help="say where it listens as one line of JSON")
        add("--until-input-ends", action="store_true", help="end with standard input, too")

    def error(self, message: str) -> NoReturn:
        """Refuse an option."""
        raise BadOption(message)


def run(
    argv: Sequence[str],
    parser: Parser,
    serve: Callable[[argparse.Namespace], int],
    *,
    presets: Callable[[], Presets],
) -> int:
    """Read the options, then list or serve; a bad option is one sentence and exit code 2.

    `presets`: returns what may be listed; asked only for that.
    """
    try:
        arguments = parser.parse_args(argv)
        if arguments.list_faults or arguments.list_variants:
            faults, variants = presets()
            return _print_list(faults if arguments.list_faults else variants, variants)
        return serve(arguments)
    except BadOption as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2


def run_until_told(
    served: Callable[[], Awaitable[int]], *faults: type[Exception], in_pieces: bool
) -> int:
    """Run a server and return its exit code; Ctrl-C before it listens is an end as well.

    `in_pieces`: what it says is written in pieces that may not be put together again.

    Raises:
        BadOption: one of these faults came of it.
    """

    async def whole() -> int:
        return await served()

    new_loop = asyncio.new_event_loop if in_pieces else libuv_loop
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(whole())
    except faults as error:
        raise BadOption(f"cannot serve: {_words(error)}") from error
    except KeyboardInterrupt:
        return 0


async def attend(
    shell: Shell, listen: Callable[[], Awaitable[None]], *, until_input_ends: bool
) -> None:
    """Listen, and serve until SIGTERM or SIGINT; then every socket is closed.

    Until standard input ends, where that is asked for: whoever holds its other end may be killed
    and leave nothing behind.

    Raises:
        BadOption: standard input is nothing that can be waited for.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        shell.loop.add_signal_handler(number, shell.stop)
    if until_input_ends:
        try:
            shell.loop.add_reader(sys.stdin.fileno(), _stop_at_end, shell)
        except PermissionError as error:
            raise BadOption("--until-input-ends needs a pipe as standard input") from error
    try:
        await listen()
        await shell.stopped
    finally:
        shell.close()


def _stop_at_end(shell: Shell) -> None:
    if not os.read(sys.stdin.fileno(), 1 << 16):
        shell.loop.remove_reader(sys.stdin.fileno())
        shell.stop()


def announce(
    what: str, fields: Mapping[str, object], *, further: Sequence[str], as_json: bool
) -> None:
    """Say where a server listens: one line of JSON, or sentences, with some further fields."""
    if as_json:
        print(json.dumps(fields, separators=(",", ":")), flush=True)
        return
    print(f"{what} on {fields['tcp']}, HTTP on {fields['http']}", flush=True)
    for name in further:
        if fields.get(name):
            print(f"{name}: {fields[name]}", flush=True)


def _words(error: Exception) -> str:
    """Return what an error says, without the number of the operating system."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _print_list(presets: Mapping[str, Preset], variants: Mapping[str, Preset]) -> int:
    for preset in presets.values():
        print(listed(preset, variants))
    return 0
