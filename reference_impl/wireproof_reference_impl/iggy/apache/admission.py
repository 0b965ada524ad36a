"""Admission: what a batch must be to be stored. Each check refuses on its own."""

from wireproof_reference_impl.iggy.apache import records
from wireproof_reference_impl.iggy.apache.records import Batch, Frame, Head
from wireproof_reference_impl.iggy.apache.refusals import Unsound


def admit(data: bytes, count: int) -> Batch:
    """Return a batch of a producer, not stamped yet; `count` is that of the request's metadata.

    Raises:
        Unsound: the batch must not be stored.
    """
    head = records.read_head(data)
    check_length(head, data)
    frames = records.read_frames(data)
    check_count(head, frames, count)
    check_reserved(head)
    for frame in frames:
        check_frame_reserved(frame)
        check_frame_checksum(frame)
    check_batch_checksum(head, frames)
    check_deltas(frames)
    return Batch(0, 0, 0, head.origin_timestamp, frames)


def check_length(head: Head, data: bytes) -> None:
    """Refuse a batch whose length is not that of its bytes."""
    if head.length != len(data):
        raise Unsound(f"the length is {head.length}, the batch has {len(data)} bytes")


def check_count(head: Head, frames: tuple[Frame, ...], count: int) -> None:
    """Refuse a batch without messages, or with another count than its header or the metadata."""
    if not frames or not head.messages == count == len(frames):
        raise Unsound(f"{len(frames)} frames, counts {head.messages} and {count}")


def check_reserved(head: Head) -> None:
    """Refuse a batch with a reserved byte that is not zero."""
    if any(head.reserved):
        raise Unsound("a reserved byte of the batch is not zero")


def check_frame_reserved(frame: Frame) -> None:
    """Refuse a frame with a reserved byte that is not zero."""
    if frame.reserved:
        raise Unsound("a reserved byte of a frame is not zero")


def check_frame_checksum(frame: Frame) -> None:
    """Refuse a frame whose checksum is wrong; 0 is no exception."""
    if frame.checksum != records.frame_checksum(frame.data):
        raise Unsound("the checksum of a frame is wrong")


def check_batch_checksum(head: Head, frames: tuple[Frame, ...]) -> None:
    """Refuse a batch whose checksum is wrong."""
    if head.checksum != records.sum_batch(head, frames):
        raise Unsound("the checksum of the batch is wrong")


def check_deltas(frames: tuple[Frame, ...]) -> None:
    """Refuse a batch whose offset deltas are not the indexes of its frames.

    The measured server stores such batches, and loses messages by it.
    """
    if [frame.delta for frame in frames] != list(range(len(frames))):
        raise Unsound("an offset delta is not the index of its frame")
