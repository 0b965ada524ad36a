"""What ``wireproof decode`` must know of a protocol."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

import click

from wireproof.options.lazy_group import Examples
from wireproof_kit.decoding.decoded import Entry
from wireproof_spec.protocol import Group, call_part, list_having

Source: TypeAlias = bytes | Path | BinaryIO


def read_whole(source: Source) -> bytes:
    """Return all bytes of a file or of stdin."""
    if isinstance(source, bytes):
        return source
    return source.read_bytes() if isinstance(source, Path) else source.read()


@dataclass(frozen=True, slots=True)
class Decoder:
    """The ``wireproof decode`` of one protocol: a function, its options and its help.

    ``decode`` takes a source and the values of ``options`` by the names of their parameters;
    ``about`` says which files and directories it knows. ``layouts`` are options by which other
    generations of the protocol are decoded, as on the command line and as arguments.
    """

    decode: Callable[..., Iterator[Entry]]
    options: Sequence[click.Option] = ()
    examples: Examples = ()
    about: str = ""
    layouts: Sequence[tuple[str, Mapping[str, object]]] = ()


def decoded_protocols() -> tuple[str, ...]:
    """Return the names of the protocols that have a decoder; the first one is the default."""
    return list_having(Group.DECODERS)


def decoder_of(protocol: str) -> Decoder:
    """Import and return the decoder of a protocol.

    Raises:
        BrokenPackage: the package of the protocol registers no function that returns one.
    """
    return call_part(Group.DECODERS, protocol, Decoder)
