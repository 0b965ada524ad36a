"""What ``wireproof decode`` must know of NSQ: whose bytes, of which kind of topic."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from wireproof.commands.protocol_decode import Decoder, Source
from wireproof_kit.decoding.decoded import Entry

EXAMPLES = (
    ("wireproof decode 00000006000000004f4b", "a frame, as hex digits"),
    ("wireproof decode sent.bin", "what one side of a connection sent"),
    ("wireproof decode /var/nsq/data/orders", "the queue of a topic, all partitions"),
    ("wireproof decode --json /var/nsq/data | jq .ext", "one object per message"),
)

ABOUT = (
    "A file holds the raw bytes of one side of a connection, or a queue; a directory is a "
    "topic's or a data directory."
)

LAYOUTS = tuple(
    (f"--ext-layout {name}", {"ext_layout": name}) for name in ("deployed", "published")
)


def decoder() -> Decoder:
    """Return the decoder of NSQ's frames and files for ``wireproof decode``."""
    return Decoder(_decode, tuple(_options()), EXAMPLES, ABOUT, LAYOUTS)


def _options() -> Iterator[click.Option]:
    yield click.Option(
        ["--side"],
        type=click.Choice(("client", "server", "disk")),
        help="Which side sent or wrote the bytes; default: detected.",
    )
    yield click.Option(
        ["--topic-kind"],
        type=click.Choice(("plain", "ext")),
        help="Kind of the topic; default: detected from each record, or from the first "
        "JSON header of a delivery.",
    )
    yield click.Option(
        ["--ordered"], is_flag=True, help="The bytes are deliveries with queue offset and size."
    )
    yield click.Option(
        ["--ext-layout"],
        type=click.Choice(("deployed", "published")),
        default="deployed",
        help="Extend version 0 without a length (deployed) or with one (published).",
    )


def _decode(
    source: Source,
    *,
    side: Literal["client", "server", "disk"] | None,
    topic_kind: Literal["plain", "ext"] | None,
    ordered: bool,
    ext_layout: str,
) -> Iterator[Entry]:
    from wireproof_kit.nsq.decoding.sources import (
        DecodeOptions,
        decode_bytes,
        decode_path,
        decode_pipe,
    )

    length_always = ext_layout == "published"
    wanted = DecodeOptions(side, topic_kind, ordered=ordered, length_always=length_always)
    if isinstance(source, bytes):
        return decode_bytes(source, wanted)
    return decode_path(source, wanted) if isinstance(source, Path) else decode_pipe(source, wanted)
