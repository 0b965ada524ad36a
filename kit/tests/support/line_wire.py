"""A protocol that nobody speaks, lines, and the kit's end of a connection in it."""

import socket
from collections.abc import Generator
from contextlib import contextmanager

from scripted_peer import Script, ScriptedPeer

from wireproof_kit.wire.connection import Wire
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.stream import NEED_MORE, NeedMore
from wireproof_spec.wire_error import WireError

BYTES_LIMIT = 1_000_000
UNREAD = 2 * 65536
WRONG = b"wrong"


class Lines:
    """Reads lines; one of them is none."""

    values = "lines"
    bytes_limit = BYTES_LIMIT

    def __init__(self) -> None:
        self.pending = b""
        self.fed = 0

    def feed(self, data: bytes) -> None:
        self.fed += len(data)
        self.pending += data

    def next(self) -> bytes | NeedMore:
        line, newline, rest = self.pending.partition(b"\n")
        if not newline:
            return NEED_MORE
        if line == WRONG:
            raise wire_error("no line at all")
        self.pending = rest
        return line


def wire_error(found: str) -> WireError:
    """Return a fault that says what was found."""
    return WireError(clause="kit", field="line", offset=0, expected="a line", found=found)


def cut_off(pending: bytes) -> WireError:
    """Return the fault of a line without its end."""
    return wire_error(f"{len(pending)} bytes")


@contextmanager
def wired(script: Script) -> Generator[tuple[Wire[bytes, bytes], Lines, Transcript], None, None]:
    """Connect to a script; whoever takes the wire closes it, or it is closed at the end."""
    transcript, lines = Transcript(), Lines()
    with ScriptedPeer(script) as peer:
        wire = Wire(
            socket.create_connection(peer.address),
            lines,
            lambda line: line,
            transcript=transcript,
            address=peer.address,
            unread=UNREAD,
        )
        try:
            yield wire, lines, transcript
        finally:
            wire.close(lambda: None)
