"""What ``wireproof decode`` must know of Iggy: whose bytes, of which generation."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import click

from wireproof.commands.protocol_decode import Decoder, Source
from wireproof_kit.decoding.decoded import Entry
from wireproof_kit.iggy.decoding.apache_parts import Side
from wireproof_spec.iggy.generation import SERVED_GENERATIONS, ServedGeneration

EXAMPLES = (
    ("wireproof decode --protocol iggy 0400000001000000", "a ping, as hex digits"),
    ("wireproof decode --protocol iggy received.bin", "what a server sent on one connection"),
    ("wireproof decode --protocol iggy local_data/streams/1", "the logs of a stream"),
)

ABOUT = (
    "A file holds the raw bytes of one side of a connection, or the log of a segment; of a "
    "directory all logs are shown."
)

LAYOUTS: tuple[tuple[str, Mapping[str, object]], ...] = (
    *((f"--generation {name}", {"generation": name}) for name in SERVED_GENERATIONS),
    ("--old-layout", {"old_layout": True}),
)


def decoder() -> Decoder:
    """Return the decoder of Iggy's frames and files for ``wireproof decode``."""
    return Decoder(_decode, tuple(_options()), EXAMPLES, ABOUT, LAYOUTS)


def _options() -> Iterator[click.Option]:
    yield click.Option(
        ["--side"],
        type=click.Choice(("client", "server", "log")),
        help="Which side sent or wrote the bytes; default: detected.",
    )
    yield click.Option(
        ["--generation"],
        type=click.Choice(SERVED_GENERATIONS),
        help="Generation of the server: as in the published text, with tagged commands and polls, "
        "or with frames of 256 bytes; default: apache if the first bytes show it, else published.",
    )
    yield click.Option(
        ["--old-layout"], is_flag=True, help="The messages of a log have no state and no checksum."
    )


def _decode(
    source: Source, *, side: Side | None, generation: ServedGeneration | None, old_layout: bool
) -> Iterator[Entry]:
    from wireproof_kit.iggy.decoding.sources import (
        DecodeOptions,
        decode_bytes,
        decode_path,
        decode_pipe,
    )

    wanted = DecodeOptions(side, generation, old_layout=old_layout)
    if isinstance(source, bytes):
        return decode_bytes(source, wanted)
    return decode_path(source, wanted) if isinstance(source, Path) else decode_pipe(source, wanted)
