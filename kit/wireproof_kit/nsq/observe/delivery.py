"""Decodes a delivered message in the required layout, or recognises another layout."""

from dataclasses import dataclass, field

from wireproof_spec.decoding import decode
from wireproof_spec.nsq.message import Message, message_schema
from wireproof_spec.wire_error import WireError

AS_DUE = "as-due"
UNKNOWN = "unknown"
OFFSET_FIRST = "offset-first"

FRAME_HEAD_BYTES = 8
"""Size and type of a frame."""


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
    for other in LAYOUTS:
        if other != due and _body_in(other, data) in own:
            return Delivery(message, data, fault, other.name)
    return Delivery(message, data, fault, AS_DUE if message else UNKNOWN)


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
