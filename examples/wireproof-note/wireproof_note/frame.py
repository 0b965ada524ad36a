"""The three frames: STORE from the client, STORED or REFUSED from the server."""

from msgspec import Struct

from wireproof_spec.decoding import Schema, encode
from wireproof_spec.grammar.layout import Int8ub, Int16ub, Record, Rest, field
from wireproof_spec.grammar.lengths import Sized
from wireproof_spec.stream import SizedReader

STORE, STORED, REFUSED = 1, 2, 3
NAMES = {STORE: "STORE", STORED: "STORED", REFUSED: "REFUSED"}
LIMIT = 0xFFFF


class Frame(Struct, frozen=True):
    """A frame of the example protocol: a kind and a text."""

    kind: int
    text: bytes


FRAME = Schema(
    "frame",
    "note.store.frame",
    Frame,
    Sized(Int16ub, Record(Frame, field("kind", Int8ub), field("text", Rest))),
)
"""`size` (1 + text), `kind`, `text`."""


def frame(kind: int, text: bytes) -> bytes:
    """Return the bytes of a frame of this kind."""
    return encode(FRAME, Frame(kind, text))


class Frames(SizedReader[Frame]):
    """Decodes frames from a stream, with the limits that the kit's `Wire` needs."""

    values = "frames"
    bytes_limit = 1 << 20

    def __init__(self) -> None:
        super().__init__(FRAME, LIMIT)
