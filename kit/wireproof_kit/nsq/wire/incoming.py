"""Splits the bytes of one connection into frames, with a limit on the bytes received."""

from typing import Final

from wireproof_spec.nsq.frame import FrameReader, NeedMore, ServerFrame

# Beyond what real brokers allow in one message (1 MiB by default) and in one body (5 MiB).
FRAME_LIMIT: Final = 16 * 1024 * 1024
BYTES_LIMIT: Final = 64 * 1024 * 1024


class Frames:
    """Reads frames; the limit on received bytes is constant."""

    values = "frames"

    def __init__(self) -> None:
        self._reader = FrameReader(FRAME_LIMIT)

    @property
    def bytes_limit(self) -> int:
        """Return the number of bytes that may have arrived by now."""
        return BYTES_LIMIT

    @property
    def pending(self) -> bytes:
        """Return the bytes of an incomplete frame."""
        return self._reader.pending

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self._reader.feed(data)

    def next(self) -> ServerFrame | NeedMore:
        """Return the next frame, or NEED_MORE.

        Raises:
            WireError: the size is below 4 or over the limit.
        """
        return self._reader.next_frame()
