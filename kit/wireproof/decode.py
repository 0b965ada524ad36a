"""``wireproof decode``: bytes with their meaning, as an annotated dump or as JSON lines."""

import io
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from wireproof.lazy import Command
from wireproof.manner import manner
from wireproof_kit.errors import UsageFault

if TYPE_CHECKING:
    from wireproof_kit.nsq.decoded import Broken, Decoded, Entry

EXAMPLES = (
    ("wireproof decode 00000006000000004f4b", "a frame, as hex digits"),
    ("wireproof decode sent.bin", "what one side of a connection sent"),
    ("wireproof decode /var/nsq/data/orders", "the queue of a topic, all partitions"),
    ("wireproof decode --json /var/nsq/data | jq .ext", "one object per message"),
)

HELP = (
    "Show bytes with their meaning.\n"
    "Give hex digits, a file (the raw bytes of one side of a connection, or a queue file), a "
    "topic's directory or a data directory, or - for standard input. Broken bytes end with exit "
    "code 2, after all before them has been shown. With -v no byte is left out."
)

ALL = sys.maxsize
ROWS = 4
"""Rows of a dump for one field, unless all bytes are asked for."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What was asked for; ``source`` are the words of the command line."""

    source: tuple[str, ...]
    side: Literal["client", "server", "disk"] | None = None
    topic_kind: Literal["plain", "ext"] | None = None
    ordered: bool = False
    published_layout: bool = False
    json: bool = False
    quiet: bool = False
    all_bytes: bool = False


@click.command("decode", cls=Command, examples=EXAMPLES, help=HELP)
@click.argument("source", nargs=-1, required=True, metavar="HEX|FILE|DIR|-")
@click.option(
    "--side",
    type=click.Choice(("client", "server", "disk")),
    help="Whose bytes these are; else told by the first ones.",
)
@click.option(
    "--topic-kind",
    type=click.Choice(("plain", "ext")),
    help="Kind of the topic; else told by each record. On deliveries: by the first JSON header.",
)
@click.option("--ordered", is_flag=True, help="Deliveries carry queue offset and size.")
@click.option(
    "--ext-layout",
    type=click.Choice(("deployed", "published")),
    default="deployed",
    help="Whether extend version 0 stands alone (deployed) or with a length (published).",
)
def decode(
    source: tuple[str, ...],
    side: Literal["client", "server", "disk"] | None,
    topic_kind: Literal["plain", "ext"] | None,
    ordered: bool,
    ext_layout: str,
) -> int:
    """Show bytes with their meaning."""
    how = manner()
    return run(
        Arguments(
            source,
            side,
            topic_kind,
            ordered,
            ext_layout == "published",
            json=how.json,
            quiet=how.quiet,
            all_bytes=how.verbose > 0,
        )
    )


def run(arguments: Arguments) -> int:
    """Show what was asked for; return the exit code.

    Raises:
        KitError: the source cannot be read, or breaks its shape; all before that is shown.
    """
    # What the terminal's encoding cannot hold is written as an escape.
    if hasattr(sys.stdout, "reconfigure"):
        cast(io.TextIOWrapper, sys.stdout).reconfigure(errors="backslashreplace")
    entries = _entries(arguments)
    show = _show_json if arguments.json else partial(_show_text, arguments)
    while (entry := _next(entries)) is not None:
        show(entry)
    return 0


def _entries(arguments: Arguments) -> Iterator["Entry"]:
    from wireproof_kit.nsq.decoding import Wanted, decode_bytes, decode_path, decode_pipe

    wanted = Wanted(
        arguments.side,
        arguments.topic_kind,
        ordered=arguments.ordered,
        length_always=arguments.published_layout,
    )
    first, *more = arguments.source
    if first == "-" and not more:
        return decode_pipe(sys.stdin.buffer, wanted)
    if not os.path.exists(first):
        return decode_bytes(_from_hex(" ".join(arguments.source)), wanted)
    if more:
        raise UsageFault(f"one file or directory at a time: {first} or {more[0]}?")
    return decode_path(Path(first), wanted)


def _from_hex(text: str) -> bytes:
    digits = re.sub(r"0[xX]|[\s:,]", "", text)
    if re.fullmatch(r"[0-9a-fA-F]*", digits) is None:
        raise UsageFault(f"{text!r} is no file, no directory and no hex digits")
    if len(digits) % 2:
        raise UsageFault(f"an odd number of hex digits ({len(digits)}): half a byte is missing")
    return bytes.fromhex(digits)


def _next(entries: Iterator["Entry"]) -> "Entry | None":
    try:
        return next(entries, None)
    except OSError as error:
        name = error.filename or "the input"
        raise UsageFault(f"cannot read {name}: {error.strerror}") from error


def _show_json(entry: "Entry") -> None:
    from wireproof_kit.json_text import json_line
    from wireproof_kit.nsq.decoded import Decoded

    if isinstance(entry, Decoded):
        for fields in entry.objects():
            sys.stdout.write(json_line(fields) + "\n")
    else:
        _tell(entry)


def _show_text(arguments: Arguments, entry: "Entry") -> None:
    from wireproof_kit.nsq.decoded import Broken, Decoded, Heading

    if isinstance(entry, Heading):
        _write(entry.text, "")
    if isinstance(entry, Decoded):
        _write(f"{entry.kind}   {entry.title}")
    if isinstance(entry, Decoded | Broken) and not arguments.quiet:
        _write(*_dump(entry, arguments), "")
    _tell(entry)


def _dump(entry: "Decoded | Broken", arguments: Arguments) -> list[str]:
    from wireproof_kit.dump import Measure, dump_numbered

    measure = Measure(ALL if arguments.all_bytes else ROWS, parts=ALL)
    return dump_numbered(entry.data, entry.parts(), base=entry.offset, measure=measure)


def _tell(entry: "Entry") -> None:
    """Say on stderr what no dump can: a note, or at last why nothing follows."""
    from wireproof_kit.nsq.decoded import Broken, Note

    if isinstance(entry, Note):
        click.echo(f"note: {entry.text}", err=True)
    if isinstance(entry, Broken):
        sys.stdout.flush()
        raise UsageFault(entry.sentence)


def _write(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
