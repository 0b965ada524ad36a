"""``wireproof decode``: bytes with their meaning, as an annotated dump or as JSON lines."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TypeVar

import click

from wireproof.commands.decode_source import Input, open_inputs, read_again
from wireproof.commands.protocol_decode import Decoder, Source, decoded_protocols, decoder_of
from wireproof.options.global_options import manner
from wireproof.options.lazy_group import Command
from wireproof.view.output import echo
from wireproof.view.terminal import columns
from wireproof_kit.decoding.decoded import Broken, Decoded, Entry, Heading, Note
from wireproof_kit.errors import UsageFault

HELP = (
    "Decode frames and queue files, field by field.\n"
    "Give hex digits, a file, a directory, or - for standard input. {about} A file may also hold "
    "hex digits, a dump of xxd or hexdump, text with escapes such as \\x4f, or a capture (pcap or "
    "pcapng). Bytes that cannot be decoded end with exit code 2, after everything before them. "
    "-v prints every byte."
)

T = TypeVar("T")

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
            params=[*self.params, _protocol_option(), _raw_option(), *decoder.options],
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


def _raw_option() -> click.Option:
    return click.Option(
        ["--raw"],
        is_flag=True,
        help="Decode a file or stdin as it is, though it looks like a capture or like hex digits.",
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
    return named or decoded_protocols()[0]


def _decode(source: tuple[str, ...], protocol: str, *, raw: bool, **options: object) -> int:
    decoder = decoder_of(protocol)
    faults: list[str] = []
    for each in _read(open_inputs(source, raw=raw)):
        _announce(each)
        try:
            _show(decoder, each, options)
        except UsageFault as fault:
            if not each.side:
                raise
            # What the other sides of a capture sent can be decoded nevertheless.
            sys.stdout.flush()
            echo(f"note: {each.side}: {fault}", err=True)
            faults.append(f"{each.side}: {fault}")
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise UsageFault(f"{faults[0]}{more}")
    return 0


decode = _DecodeCommand(
    "decode",
    callback=_decode,
    params=[click.Argument(["source"], nargs=-1, required=True, metavar="HEX|FILE|DIR|-")],
)


def _announce(given: Input) -> None:
    """Say from which side of which connection bytes are, and what they were read as."""
    if given.side and not manner().json:
        _write(given.side, "")
    if given.note and not manner().quiet:
        sys.stdout.flush()
        echo(f"note: {given.side}{': ' if given.side else ''}{given.note}", err=True)


def _show(decoder: Decoder, given: Input, options: Mapping[str, object]) -> None:
    """Show all that can be decoded.

    Raises:
        UsageFault: there are bytes that cannot be decoded.
    """
    if given.source is None:
        return
    count = 0
    for entry in _read(decoder.decode(given.source, **options)):
        if manner().json:
            _show_json(entry, {"stream": given.side} if given.side else {})
        else:
            _show_text(entry)
        if isinstance(entry, Note):
            echo(f"note: {entry.text}", err=True)
        if isinstance(entry, Broken):
            sys.stdout.flush()
            layout = _find_layout(decoder, given.source, options, count)
            advice = f"; {layout} decodes this" if layout else ""
            raise UsageFault(f"{entry.sentence}{advice}")
        count += isinstance(entry, Decoded)


def _find_layout(
    decoder: Decoder, source: Source, options: Mapping[str, object], count: int
) -> str:
    """Return the option that decodes more than ``count`` values of a source, empty if none does.

    The bytes may be of another generation of the protocol than the one that was asked for.
    """
    for words, change in decoder.layouts:
        again = read_again(source)
        if again is not None and {**options, **change} != options:
            with suppress(UsageFault):
                entries = decoder.decode(again, **{**options, **change})
                decoded = (entry for entry in entries if isinstance(entry, Decoded))
                if sum(1 for _ in islice(decoded, count + 1)) > count:
                    return words
    return ""


def _read(items: Iterator[T]) -> Iterator[T]:
    """Yield items that are read from a file or a pipe.

    Raises:
        UsageFault: it cannot be read.
    """
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except OSError as error:
            name = error.filename or "the input"
            raise UsageFault(f"cannot read {name}: {error.strerror}") from error
        yield item


def _show_json(entry: Entry, more: Mapping[str, str]) -> None:
    from wireproof_kit.decoding.json_text import json_line

    if isinstance(entry, Decoded | Broken):
        for fields in entry.objects():
            sys.stdout.write(json_line({**more, **fields}) + "\n")


def _show_text(entry: Entry) -> None:
    if isinstance(entry, Heading):
        _write(entry.text, "")
    if isinstance(entry, Decoded):
        _write(f"{entry.kind}   {entry.title}")
    if isinstance(entry, Decoded | Broken) and not manner().quiet:
        _write(*_dump(entry), "")


def _dump(entry: Decoded | Broken) -> list[str]:
    from wireproof_kit.decoding.dump import Measure, dump_numbered

    measure = Measure(ALL if manner().verbose else ROWS, parts=ALL, columns=columns())
    return dump_numbered(entry.data, entry.parts(), base=entry.offset, measure=measure)


def _write(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
