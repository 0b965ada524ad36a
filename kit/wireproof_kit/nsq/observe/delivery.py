"""Decodes a delivered message in the required layout, or recognises another layout."""

from dataclasses import dataclass, field

from wireproof_spec.decoding import decode
from wireproof_spec.nsq.message import Message, message_schema
from wireproof_spec.wire_error import WireError

AS_DUE = "as-due"
UNKNOWN = "unknown"
OFFSET_FIRST = "offset-first"
WRONG_LENGTH = "wrong-ext-length"
"""The layout that is due, but for an ext length that is not that of the ext data."""

FRAME_HEAD_BYTES = 8
"""Size and type of a frame."""
MESSAGE_HEAD_BYTES = 26
"""Timestamp, attempts and id of a message."""
POSITION_BYTES = 12
"""Offset and size of a message in order."""
LENGTH_BYTES = 2
FURTHEST = 12
"""How far behind the version a JSON header begins at most: behind a length of any width."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which fields a message frame has between the message id and the body."""

    extend: bool
    ordered: bool
    length_always: bool = False
    offset_first: bool = False

    @property
    def name(self) -> str:
        """Return the name of the layout for reports."""
        parts = ["ordered" if self.ordered else "plain"]
        if self.extend:
            parts.append("ext-length-always" if self.length_always else "ext")
        if self.offset_first:
            parts.append(OFFSET_FIRST)
        return "-".join(parts)

    def read(self, data: bytes) -> Message:
        """Decode a message frame's data, which must have this layout.

        Raises:
            WireError: the bytes do not have this layout.
        """
        schema = message_schema(
            extend=self.extend,
            ordered=self.ordered,
            length_always=self.length_always,
            offset_first=self.offset_first,
        )
        return decode(schema, data)


BARE = Layout(extend=False, ordered=False)
LAYOUTS = (
    BARE,
    Layout(extend=False, ordered=True),
    *(
        Layout(extend=True, ordered=ordered, length_always=always)
        for ordered in (False, True)
        for always in (False, True)
    ),
    *(
        Layout(extend=True, ordered=True, length_always=always, offset_first=True)
        for always in (False, True)
    ),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A received message frame: the decoded message, or the error that prevented decoding.

    ``layout`` is ``as-due`` if the frame has the required layout, the name of the layout in which
    an expected body was found, or ``unknown``.
    """

    message: Message | None
    raw: bytes
    fault: WireError | None
    layout: str
    step: int | None = field(default=None, compare=False)

    @property
    def body(self) -> bytes:
        """Return the body; empty when the message could not be decoded."""
        return self.message.body if self.message else b""

    @property
    def header(self) -> bytes | None:
        """Return the JSON header of the message; None when there is none."""
        extend = self.message.extend if self.message else None
        return extend.data if extend else None

    @property
    def message_id(self) -> bytes | None:
        """Return the 16 bytes that identify the message for FIN; None when there are fewer."""
        if self.message is not None:
            return self.message.message_id
        try:
            return BARE.read(self.raw).message_id
        except WireError:
            return None


def read_delivery(data: bytes, due: Layout, own: frozenset[bytes] = frozenset()) -> Delivery:
    """Decode the data of a message frame in the required layout ``due``.

    ``own`` are the expected bodies. If the required layout gives none of them and another layout
    does, the result has the name of that layout.
    """
    message: Message | None = None
    fault: WireError | None = None
    try:
        message = due.read(data)
    except WireError as error:
        fault = error
    if message is not None and (not own or message.body in own):
        return Delivery(message, data, None, AS_DUE)
    # Before other layouts: a header of 9 bytes, its version and length take as many as offset and
    # size do.
    wrong = next(
        filter(
            None,
            (
                find_wrong_length(due, data, len(body))
                for body in own
                if body and data.endswith(body)
            ),
        ),
        None,
    )
    if wrong is not None:
        return Delivery(message, data, wrong, WRONG_LENGTH)
    for other in LAYOUTS:
        if other != due and _body_in(other, data) in own:
            return Delivery(message, data, fault, other.name)
    return Delivery(message, data, fault, AS_DUE if message else UNKNOWN)


def find_wrong_length(due: Layout, data: bytes, body_bytes: int) -> WireError | None:
    """Return what is wrong with the ext length of a message whose body has so many bytes.

    None if the layout has no ext part, if there is no JSON object between version and body, or if
    the length is right.
    """
    if not due.extend or len(data) < MESSAGE_HEAD_BYTES:
        return None
    at = MESSAGE_HEAD_BYTES + 1 + (POSITION_BYTES if due.ordered and due.offset_first else 0)
    end = len(data) - body_bytes
    end -= POSITION_BYTES if due.ordered and not due.offset_first else 0
    start = data.find(b"{", at, max(at, end))
    if start < 0 or not data[at:end].rstrip().endswith(b"}") or start - at > FURTHEST:
        return None
    length, found = end - start, ""
    for begin in range(start, at - 1, -1):
        written = data[at:begin]
        if written == _uint16(end - begin):
            return None
        if not found and (found := _explain_length(written, end - begin)):
            length = end - begin
        if not data[begin - 1 : begin].isspace():  # else it is of the length, or the header's
            break
    return WireError(
        clause="ext.consume.layout",
        field="extend.length",
        offset=at,
        expected=f"{_uint16(length).hex(' ')} ({length})",
        found=found or data[at:start].hex(" ") or "nothing",
    )


def _explain_length(written: bytes, length: int) -> str:
    """Return which other number stands before the ext data; empty if it is none that is known."""
    own = length + LENGTH_BYTES
    known = {
        _uint16(length)[::-1]: f"{length} in little-endian byte order",
        _uint16(own): f"{own}: the length counts its own 2 bytes too",
        _uint16(own + 1): f"{own + 1}: it counts version and length too",
        _uint16(length % 256): f"{length % 256}: the low byte alone",
        **{length.to_bytes(width, "big"): f"{width} bytes" for width in (3, 4, 8)},
    }
    words = known.get(written)
    return f"{written.hex(' ')} ({words})" if words else ""


def _uint16(number: int) -> bytes:
    return (number & 0xFFFF).to_bytes(LENGTH_BYTES, "big")


def _body_in(layout: Layout, data: bytes) -> bytes | None:
    try:
        return layout.read(data).body
    except WireError:
        return None


def note_excess(expected: int, found: int) -> str:
    """Return a note if a body is a few bytes longer than published, else an empty string.

    ``expected`` and ``found`` are lengths in bytes. A frame whose size is too large takes the
    first bytes of the next frame for its own.
    """
    excess = found - expected
    if not 0 < excess <= FRAME_HEAD_BYTES:
        return ""
    return (
        f"the frame ends {excess} bytes behind the message; if these bytes begin the next frame, "
        "the size of this frame is wrong (smart.connection.frame)"
    )
