"""Makes the checksums of sends right: a server looks at little of a batch whose checksums are not.

Done where messages are watched for; elsewhere sends keep what a mutation has made of them.
"""

from struct import Struct
from typing import Final

from wireproof_spec.decoding import decode, encode
from wireproof_spec.iggy.apache import operations
from wireproof_spec.iggy.apache.batch import Batch, seal_batch, seal_frame
from wireproof_spec.iggy.apache.bodies.messages import SEND_MESSAGES, SendMessages
from wireproof_spec.iggy.apache.header import HEADER_SIZE, SIZE_AT
from wireproof_spec.wire_error import WireError

_NUMBER: Final = Struct("<I")
_OPERATION_AT: Final = 176


def seal_sends(data: bytes) -> bytes:
    """Return bytes of the same length in which each send that can be read has right checksums."""
    sealed, at = b"", 0
    while len(data) - at >= HEADER_SIZE:
        size: int = _NUMBER.unpack_from(data, at + SIZE_AT)[0]
        if not HEADER_SIZE <= size <= len(data) - at:
            break
        frame = data[at : at + size]
        is_send = frame[_OPERATION_AT] == operations.SEND_MESSAGES
        sealed += frame[:HEADER_SIZE] + _seal(frame[HEADER_SIZE:]) if is_send else frame
        at += size
    return sealed + data[at:]


def _seal(body: bytes) -> bytes:
    try:
        sent = decode(SEND_MESSAGES, body)
    except WireError:
        return body
    batch = Batch(sent.batch.header, tuple(map(seal_frame, sent.batch.frames)))
    return encode(SEND_MESSAGES, SendMessages(sent.metadata, seal_batch(batch)))
