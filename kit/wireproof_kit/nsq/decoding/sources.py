"""Decodes NSQ bytes of any source: one side of a connection, or a queue on disk."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

from wireproof_kit.decoding.decoded import Entry
from wireproof_kit.errors import UsageFault
from wireproof_kit.nsq.decoding.annotation import FRAME_TYPES
from wireproof_kit.nsq.decoding.byte_source import LIMIT, ByteSource
from wireproof_kit.nsq.decoding.client_stream import WORDS, client_commands
from wireproof_kit.nsq.decoding.queue_directory import stored_file
from wireproof_kit.nsq.decoding.queue_records import (
    Origin,
    Records,
    directory_records,
    file_records,
    source_records,
)
from wireproof_kit.nsq.decoding.server_stream import Deliveries, TopicKind, server_frames
from wireproof_spec.nsq.disk import RecordKind, disk_record_schema
from wireproof_spec.nsq.names import MAGIC

Side: TypeAlias = Literal["client", "server", "disk"]

HEAD = 64
"""Bytes from which client and server traffic are distinguished; longer than any command."""
SMALLEST_MESSAGE = 26
CENTURY = range(10**18, 4 * 10**18)
"""Nanosecond timestamps by which a record on disk is recognised: the years 2001 to 2096."""
_COMMAND = re.compile(rb"([A-Z_]+)[ \r\n]")


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """Decoding options that the bytes do not reveal; None means: detect it.

    ``ordered``: messages contain offset and size. ``length_always``: extend version 0 has a length
    after it, as published; deployed brokers write no length.
    """

    side: Side | None = None
    topic_kind: TopicKind | None = None
    ordered: bool = False
    length_always: bool = False

    @property
    def records(self) -> Records:
        """Return the schema of records on disk.

        A topic with the extend feature may hold records from before it had the feature, so each
        record shows its own kind; only the records of a plain topic have no extend part at all.
        """
        kind: RecordKind = "plain" if self.topic_kind == "plain" else "from-record"
        return disk_record_schema(kind, length_always=self.length_always)


def decode_path(path: Path, wanted: DecodeOptions) -> Iterator[Entry]:
    """Decode a file, or a directory of queues.

    Raises:
        UsageFault: the path is empty, or its format cannot be recognized.
        OSError: the path cannot be read.
    """
    if path.is_dir():
        yield from directory_records(path, wanted.records)
        return
    file = stored_file(path)
    if file is not None and wanted.side in {None, "disk"}:
        yield from file_records(file, wanted.records)
        return
    with path.open("rb") as opened:
        size = path.stat().st_size if path.is_file() else None
        yield from _decode(ByteSource(opened, size=size), wanted, str(path))


def decode_bytes(data: bytes, wanted: DecodeOptions) -> Iterator[Entry]:
    """Decode bytes held in memory.

    Raises:
        UsageFault: there are no bytes, or their format cannot be recognized.
    """
    yield from _decode(ByteSource(io.BytesIO(data), size=len(data)), wanted, "the input")


def decode_pipe(pipe: BinaryIO, wanted: DecodeOptions) -> Iterator[Entry]:
    """Decode bytes from a pipe as they arrive, until it ends.

    Raises:
        UsageFault: there are no bytes, or their format cannot be recognized.
    """
    yield from _decode(ByteSource(pipe, size=None), wanted, "the input")


def _decode(source: ByteSource, wanted: DecodeOptions, name: str) -> Iterator[Entry]:
    head = source.peek(HEAD)
    if not head:
        raise UsageFault(f"{name} is empty: there is nothing to decode")
    side = wanted.side or recognise_side(head)
    if side == "client":
        return client_commands(source)
    if side == "disk":
        return source_records(source, wanted.records, Origin())
    if side == "server":
        deliveries = Deliveries(
            wanted.topic_kind, ordered=wanted.ordered, length_always=wanted.length_always
        )
        return server_frames(source, deliveries)
    raise UsageFault(
        f"cannot tell what {name} is by its first bytes ({head[:8].hex(' ')}); "
        "say it with --side client, server or disk, or with --protocol if it is not NSQ"
    )


def recognise_side(head: bytes) -> Side | None:
    """Return which side's traffic begins with these bytes; None when it cannot be detected."""
    command = _COMMAND.match(head)
    if head.startswith(MAGIC) or (command is not None and command[1] in WORDS):
        return "client"
    declared = int.from_bytes(head[:4], "big")
    if len(head) < 8:
        return "server" if head.startswith(b"\0") else None
    if 4 <= declared < LIMIT and int.from_bytes(head[4:8], "big") in FRAME_TYPES:
        return "server"
    timestamp_ns = int.from_bytes(head[4:12], "big")
    is_record = SMALLEST_MESSAGE <= declared < LIMIT and timestamp_ns in CENTURY
    return "disk" if is_record else None
