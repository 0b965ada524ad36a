"""Where ``wireproof decode`` takes bytes from: the command line, a file, stdin, a capture."""

import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from wireproof.commands.protocol_decode import Source
from wireproof_kit.decoding.byte_text import find_form, read_hex, read_text
from wireproof_kit.errors import UsageFault
from wireproof_kit.protocols import known_protocols

CHUNK = 1 << 16
MOST_BYTES = 128 << 20
KEPT = 1 << 20
"""Bytes of a pipe that are kept, to try another layout of the protocol on them."""
CAPTURES = (
    b"\x0a\x0d\x0d\x0a",
    b"\xa1\xb2\xc3\xd4",
    b"\xd4\xc3\xb2\xa1",
    b"\xa1\xb2\x3c\x4d",
    b"\x4d\x3c\xb2\xa1",
)
"""How capture files begin: pcapng, then pcap of both byte orders in micro- and nanoseconds."""
FORMS = {
    "hex": "hex digits",
    "dump": "a dump of xxd or hexdump",
    "escapes": r"text with escapes such as \x4f",
}
_HTTP = re.compile(rb"[A-Z]{3,10} /\S* HTTP/1\.|HTTP/1\.")


@dataclass(frozen=True, slots=True)
class Input:
    """One run of bytes to decode. ``note`` says what it was read as or why it is left out.

    ``side`` names the two addresses of what is from a capture; it is empty otherwise.
    """

    source: Source | None
    note: str = ""
    side: str = ""


class Tape(io.RawIOBase):
    """A pipe whose first bytes can be read again."""

    def __init__(self, head: bytes, pipe: BinaryIO) -> None:
        self._ahead = head
        self._pipe = pipe
        self._kept = bytearray()
        self._passed = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes; fewer only at the end of the pipe."""
        wanted = size if size >= 0 else sys.maxsize
        data, self._ahead = self._ahead[:wanted], self._ahead[wanted:]
        if size < 0 or len(data) < size:
            data += self._pipe.read(-1 if size < 0 else size - len(data))
        self._kept += data[: max(0, KEPT - len(self._kept))]
        self._passed += len(data)
        return data

    def first_bytes(self) -> bytes | None:
        """Return what was read so far; None if it was more than is kept."""
        return bytes(self._kept) if self._passed <= KEPT else None


def read_again(source: Source) -> Source | None:
    """Return a source to be read once more from its beginning, if that is possible."""
    return source.first_bytes() if isinstance(source, Tape) else source


def open_inputs(words: Sequence[str], *, raw: bool) -> Iterator[Input]:
    """Yield what the arguments name; with ``raw`` a file or stdin is taken as it is.

    Raises:
        UsageFault: there is no such file, or a text or a capture cannot be read.
        OSError: a file cannot be read.
    """
    first, *more = words
    if first == "-" and not more:
        yield from _open(sys.stdin.buffer, None, "the input", raw=raw)
    elif not os.path.exists(first):
        if first in known_protocols():
            raise UsageFault(f"{first} is a protocol: give --protocol {first}")
        yield Input(_read_words(" ".join(words)))
    elif more:
        raise UsageFault(f"one file or directory at a time: {first} or {more[0]}?")
    elif os.path.isdir(first):
        yield Input(Path(first))
    else:
        with open(first, "rb") as file:
            yield from _open(file, Path(first), first, raw=raw)


def _open(file: BinaryIO, path: Path | None, name: str, *, raw: bool) -> Iterator[Input]:
    """Yield what a file or a pipe holds, by how it begins; ``path`` is None for a pipe."""
    if raw and path is not None:
        yield Input(path)
        return
    # What has come already: who watches a pipe must not wait for 64 KiB of it.
    head = cast(io.BufferedReader, file).read1(CHUNK)
    form = None if raw else find_form(head)
    if form is not None:
        data = read_text(head + _read_rest(file, name), form, name)
        yield Input(data, f"{name} is read as {FORMS[form]}; --raw decodes the text itself")
    elif head.startswith(CAPTURES) and not raw:
        yield from _sides(head + _read_rest(file, name), name)
    else:
        yield Input(path if path is not None else cast(BinaryIO, Tape(head, file)))


def _read_rest(file: BinaryIO, name: str) -> bytes:
    """Return the rest of a text or a capture, which are read whole."""
    data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise UsageFault(
            f"{name}: expected at most {MOST_BYTES >> 20} MiB of text or of a capture; found more"
        )
    return data


def _sides(capture: bytes, name: str) -> Iterator[Input]:
    from wireproof_kit import pcap

    if not pcap.is_installed():
        raise UsageFault(
            f"{name} is a capture; {pcap.MISSING}. Without it, give the bytes of one side: "
            f"tshark -r FILE -q -z follow,tcp,raw,0"
        )
    from wireproof_kit.pcap.sides import read_sides

    sides = read_sides(io.BytesIO(capture), name)
    if not sides:
        raise UsageFault(f"{name}: no TCP connection in the capture sent anything")
    for side in sides:
        if _HTTP.match(side.data):
            yield Input(None, "HTTP, which is not decoded; Wireshark shows it", side.name)
            continue
        lost = f"bytes after byte {len(side.data)} are not in the capture" if side.lost else ""
        yield Input(bytes(side.data), lost, side.name)


def _read_words(text: str) -> bytes:
    form = find_form(text.encode())
    if form == "escapes":
        return read_text(text.encode(), form, "the argument")
    if form is None and text:
        raise UsageFault(f"{text!r} is no file, no directory and no hex digits")
    return read_hex(text, "the argument")
