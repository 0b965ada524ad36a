"""`serve PROTOCOL` as a command: read options, then print a list or run a server."""

import argparse
import asyncio
import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from wireproof_reference_impl.addresses import BadOption, read_address
from wireproof_reference_impl.fault_lock import read_lock
from wireproof_reference_impl.preset import Preset, describe_preset, format_preset
from wireproof_reference_impl.shell import Shell


class Presets(NamedTuple):
    """Faults and variants by name, and the file of what the faults turn red besides."""

    faults: Mapping[str, Preset]
    variants: Mapping[str, Preset]
    lock: Path


WIDEST = 99
IN_USE = os.strerror(errno.EADDRINUSE)
_ANY_PORT = "default %(default)s; port 0 picks a free port"


class PresetParser(argparse.ArgumentParser):
    """A command-line parser with the options for faults and variants; raises `BadOption`."""

    def __init__(self, program: str, description: str) -> None:
        super().__init__(prog=program, description=description, allow_abbrev=False)
        add = self.add_argument
        add(
            "--fault",
            action="append",
            metavar="NAME",
            default=[],
            help="break the specification in this one way (see --list-faults); repeatable",
        )
        add(
            "--variant",
            action="append",
            metavar="NAME",
            default=[],
            help="differ in this one legal way (see --list-variants); repeatable",
        )
        add("--list-faults", action="store_true", help="print all faults and exit")
        add("--list-variants", action="store_true", help="print all legal variants and exit")
        add(
            "--lock-file",
            action="store_true",
            help="print the path of the file that says what faults turn red besides, and exit",
        )

    def error(self, message: str) -> NoReturn:
        """Raise `BadOption` with this message, so that the caller decides how the process ends."""
        raise BadOption(message)


class Parser(PresetParser):
    """A command-line parser with the options that every reference server has.

    Beside faults and variants, these are the addresses (HTTP only, if no `tcp` is given), and how
    the server announces that it is ready.
    """

    def __init__(
        self, protocol: str, description: str, *, http: str, tcp: str | None = None
    ) -> None:
        super().__init__(f"wireproof serve {protocol}", description)
        add = self.add_argument
        if tcp is not None:
            add("--tcp", metavar="HOST:PORT", default=tcp, help=_ANY_PORT)
        self._http, self._tcp = http, tcp
        follows = ", or a free port if --tcp names another port" if tcp is not None else ""
        add(
            "--http",
            metavar="HOST:PORT",
            help=f"default {http}{follows}; port 0 picks a free port",
        )
        add("--json", action="store_true", help="print the addresses as one line of JSON")
        add("--until-input-ends", action="store_true", help="also stop when standard input ends")

    def complete(self, arguments: argparse.Namespace) -> None:
        """Fill in the HTTP address: beside another port than usual it may be taken already."""
        if arguments.http is None:
            tcp = self._tcp
            is_free = tcp and read_address(arguments.tcp)[1] != read_address(tcp)[1]
            host, _, _ = self._http.rpartition(":")
            arguments.http = f"{host}:0" if is_free else self._http


def run(
    argv: Sequence[str],
    parser: PresetParser,
    serve: Callable[[argparse.Namespace], int],
    *,
    presets: Callable[[], Presets],
) -> int:
    """Read the options, then list the faults or serve; return the exit code, 2 for a bad option.

    `presets` returns the faults and variants. It is called only to list them, because importing
    them all would delay every other start.
    """
    try:
        arguments = parser.parse_args(argv)
        if arguments.list_faults:
            return _print_list(presets().faults, presets())
        if arguments.list_variants:
            return _print_list(presets().variants, presets())
        if arguments.lock_file:
            print(presets().lock)
            return 0
        if isinstance(parser, Parser):
            parser.complete(arguments)
        return _serve_or_advise(serve, arguments)
    except BadOption as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2


def _serve_or_advise(
    serve: Callable[[argparse.Namespace], int], arguments: argparse.Namespace
) -> int:
    """Serve and return the exit code.

    Raises:
        BadOption: it cannot be done; of an address that is in use, with the option that gave it.
    """
    try:
        return serve(arguments)
    except BadOption as error:
        given = vars(arguments).items()
        for name in (name for name, value in given if f" {value}: {IN_USE}" in str(error)):
            raise BadOption(f"{error}; --{name} HOST:0 picks a free port") from error
        raise


def libuv_loop() -> asyncio.AbstractEventLoop:
    """Return a uvloop event loop, which needs less than half of asyncio's time per event.

    Where uvloop is not available (Windows, other interpreters) the result is an asyncio loop.
    uvloop merges consecutive writes, so it cannot be used to send data in pieces.
    """
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def run_until_told(
    served: Callable[[], Awaitable[int]], *faults: type[Exception], in_pieces: bool
) -> int:
    """Run a server in an event loop and return its exit code; 0 for Ctrl-C before it listens.

    `in_pieces`: each write must be sent on its own. libuv merges writes, so that asyncio's own
    loop is used then.

    Raises:
        BadOption: the server failed with one of the exceptions in `faults`.
    """

    async def read_whole_number() -> int:
        return await served()

    new_loop = asyncio.new_event_loop if in_pieces else libuv_loop
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(read_whole_number())
    except faults as error:
        raise BadOption(f"cannot serve: {_words(error)}") from error
    except KeyboardInterrupt:
        return 0


async def attend(
    shell: Shell, listen: Callable[[], Awaitable[None]], *, until_input_ends: bool
) -> None:
    """Listen and serve until SIGTERM or SIGINT, then close every socket.

    With `until_input_ends`, the end of standard input stops the server as well: a parent process
    that is killed leaves no server behind.

    Raises:
        BadOption: standard input cannot be watched, for instance because it is a file.
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
    """Print where a server listens: all fields as one line of JSON, or as text.

    The text has the addresses, and the fields that `further` names.
    """
    if as_json:
        print(json.dumps(fields, separators=(",", ":")), flush=True)
        return
    tcp = f"{fields['tcp']}, " if "tcp" in fields else ""
    print(f"{what} on {tcp}HTTP on {fields['http']}", flush=True)
    for name in further:
        if fields.get(name):
            print(f"{name}: {fields[name]}", flush=True)


def _words(error: Exception) -> str:
    """Return the text of an error, without the error number of the operating system."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _print_list(listed: Mapping[str, Preset], presets: Presets) -> int:
    """Print paragraphs at a terminal; elsewhere lines of columns, for a program to read."""
    width = shutil.get_terminal_size().columns - 1
    lock = read_lock(presets.lock)
    for preset in listed.values():
        besides = lock.get(preset.name, ())
        if sys.stdout.isatty():
            text = describe_preset(preset, presets.variants, min(width, WIDEST), besides)
            print(text, end="\n\n")
        else:
            print(format_preset(preset, presets.variants, besides))
    return 0
