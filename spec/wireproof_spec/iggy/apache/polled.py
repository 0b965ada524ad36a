"""The body of a poll reply: the head of the protocol number, and batches one after the other."""

from msgspec import Struct

from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache.batch import BATCH, Batch, MessageFrame, read_batches
from wireproof_spec.iggy.apache.envelope import Envelope, PollHead
from wireproof_spec.wire_error import WireError


class Polled(Struct, frozen=True, gc=False):
    """The body of a poll reply; the count of the head may differ from the number of frames."""

    head: PollHead
    batches: tuple[Batch, ...]

    @property
    def frames(self) -> tuple[MessageFrame, ...]:
        """The frames of all batches, in order."""
        return tuple(frame for batch in self.batches for frame in batch.frames)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offset of each frame: that of its batch and its own delta."""
        return tuple(
            batch.header.base_offset + frame.offset_delta
            for batch in self.batches
            for frame in batch.frames
        )


def decode_polled(envelope: Envelope, body: bytes) -> Polled:
    """Decode the body of a poll reply; checksums are not compared.

    Raises:
        WireError: the head is cut short, or a batch does not fit its length.
    """
    size = envelope.poll_head_size
    head = decode(envelope.poll_head, body[:size])
    try:
        return Polled(head, read_batches(body[size:]))
    except WireError as error:
        raise error.at(size) from None


def encode_polled(envelope: Envelope, polled: Polled) -> bytes:
    """Return the bytes of the body of a poll reply."""
    batches = b"".join(encode(BATCH, batch) for batch in polled.batches)
    return encode(envelope.poll_head, polled.head) + batches
