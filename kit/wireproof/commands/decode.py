"""``wireproof decode``: bytes with their meaning, as an annotated dump or as JSON lines."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import click

from wireproof.commands.protocol_decode import Source, decoded_protocols, decoder_of
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.output import echo
from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, Heading, Note
from wireproof_kit.errors import UsageFault

HELP = (
    "Decode frames and queue files, field by field.\n"
    "Give hex digits, a file, a directory, or - for standard input. {about} Bytes that cannot be "
    "decoded end with exit code 2, after everything before them. -v prints every byte."
)

ALL = sys.maxsize
ROWS = 4
"""Rows of a dump for one field, unless all bytes are asked for."""


class _DecodeCommand(Command):
    """Stands for the command with the options of the protocol that the command line names."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        decoder = decoder_of(_find_protocol(args))
        meant = Command(
            self.name,
            callback=self.callback,
            params=[*self.params, _protocol_option(), *decoder.options],
            help=HELP.format(about=decoder.about),
            examples=decoder.examples,
        )
        return meant.make_context(info_name, args, parent, **extra)


def _protocol_option() -> click.Option:
    names = decoded_protocols()
    return click.Option(
        ["--protocol"],
        type=click.Choice(names),
        default=names[0],
        show_default=True,
        help="Protocol of the bytes; the options below depend on it.",
    )


def _find_protocol(args: Sequence[str]) -> str:
    """Return the protocol that a command line names; other arguments are ignored."""
    lenient: dict[str, object] = {
        "ignore_unknown_options": True,
        "allow_extra_args": True,
        "help_option_names": [],
    }
    first = click.Command("decode", params=[_protocol_option()], context_settings=lenient)
    named = first.make_context("decode", list(args), resilient_parsing=True).params["protocol"]
    return cast(str | None, named) or decoded_protocols()[0]


def _decode(source: tuple[str, ...], protocol: str, **options: object) -> int:
    entries = _entries(source, protocol, options)
    show = _show_json if manner().json else _show_text
    while (entry := _next(entries)) is not None:
        show(entry)
    return 0


decode = _DecodeCommand(
    "decode",
    callback=_decode,
    params=[click.Argument(["source"], nargs=-1, required=True, metavar="HEX|FILE|DIR|-")],
)


def _entries(
    source: Sequence[str], protocol: str, options: Mapping[str, object]
) -> Iterator[Entry]:
    return decoder_of(protocol).decode(_source(source), **options)


def _source(words: Sequence[str]) -> Source:
    first, *more = words
    if first == "-" and not more:
        return sys.stdin.buffer
    if not os.path.exists(first):
        return _from_hex(" ".join(words))
    if more:
        raise UsageFault(f"one file or directory at a time: {first} or {more[0]}?")
    return Path(first)


def _from_hex(text: str) -> bytes:
    digits = re.sub(r"0[xX]|[\s:,]", "", text)
    if re.fullmatch(r"[0-9a-fA-F]*", digits) is None:
        raise UsageFault(f"{text!r} is no file, no directory and no hex digits")
    if len(digits) % 2:
        raise UsageFault(f"an odd number of hex digits ({len(digits)}): half a byte is missing")
    return bytes.fromhex(digits)


def _next(entries: Iterator[Entry]) -> Entry | None:
    try:
        return next(entries, None)
    except OSError as error:
        name = error.filename or "the input"
        raise UsageFault(f"cannot read {name}: {error.strerror}") from error


def _show_json(entry: Entry) -> None:
    from wireproof_kit.decoding.json_text import json_line

    if isinstance(entry, Decoded):
        for fields in entry.objects():
            sys.stdout.write(json_line(fields) + "\n")
    else:
        _tell(entry)


def _show_text(entry: Entry) -> None:
    if isinstance(entry, Heading):
        _write(entry.text, "")
    if isinstance(entry, Decoded):
        _write(f"{entry.kind}   {entry.title}")
    if isinstance(entry, Decoded | Broken) and not manner().quiet:
        _write(*_dump(entry), "")
    _tell(entry)


def _dump(entry: Decoded | Broken) -> list[str]:
    from wireproof_kit.decoding.dump import Measure, dump_numbered

    measure = Measure(ALL if manner().verbose else ROWS, parts=ALL)
    return dump_numbered(entry.data, entry.parts(), base=entry.offset, measure=measure)


def _tell(entry: Entry) -> None:
    """Say on stderr what no dump can: a note, or at last why nothing follows."""
    if isinstance(entry, Note):
        echo(f"note: {entry.text}", err=True)
    if isinstance(entry, Broken):
        sys.stdout.flush()
        raise UsageFault(entry.sentence)


def _write(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
