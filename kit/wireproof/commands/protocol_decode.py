"""What ``wireproof decode`` must know of a protocol; found in the protocols' table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import click

from wireproof.options.lazy_group import Examples
from wireproof_kit.decoding.decoded import Entry
from wireproof_kit.protocols import PROTOCOLS, resolve

Source: TypeAlias = bytes | Path | BinaryIO


@dataclass(frozen=True, slots=True)
class Decoder:
    """How a protocol's bytes are taken apart.

    ``decode`` takes a source and the values of ``options`` by the names of their parameters;
    ``about`` says which files and directories it knows.
    """

    decode: Callable[..., Iterator[Entry]]
    options: Sequence[click.Option] = ()
    examples: Examples = ()
    about: str = ""


def decoded_protocols() -> list[str]:
    """Return the protocols whose bytes can be decoded; the first one is meant unless said."""
    return [name for name, entry in PROTOCOLS.items() if entry.decoder]


def decoder_of(protocol: str) -> Decoder:
    """Import a protocol's decoder."""
    return cast(Decoder, resolve(PROTOCOLS[protocol].decoder)())
