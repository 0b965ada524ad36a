"""What has come on one connection: bytes in, frames out, never more than a bound of either."""

from typing import Final

from wireproof_spec.nsq.frame import FrameReader, ServerFrame
from wireproof_spec.wire_error import WireError

# Beyond what real brokers allow in one message (1 MiB by default) and in one body (5 MiB).
FRAME_LIMIT: Final = 16 * 1024 * 1024
BYTES_LIMIT: Final = 64 * 1024 * 1024
# Ten times what the longest case is owed: a transcript keeps them all.
FRAMES_LIMIT: Final = 2_000


class Incoming:
    """The receiving half of a connection, bounded against a target that never stops."""

    def __init__(self) -> None:
        self._reader = FrameReader(FRAME_LIMIT)
        self._bytes = 0
        self._frames = 0
        self.fault: WireError | None = None

    @property
    def pending(self) -> bytes:
        """Return the bytes of a frame that is not whole yet."""
        return self._reader.pending

    def feed(self, data: bytes) -> None:
        """Take bytes; beyond the bound they are a fault, after a fault they are let go."""
        if self.fault is not None:
            return
        self._bytes += len(data)
        if self._bytes > BYTES_LIMIT:
            self._overrun("bytes", BYTES_LIMIT)
            return
        self._reader.feed(data)

    def next(self) -> ServerFrame | None:
        """Return the next whole frame, or None while there is none (or there is a fault)."""
        if self.fault is not None:
            return None
        try:
            frame = self._reader.next_frame()
        except WireError as error:
            self.fault = error
            return None
        if not isinstance(frame, ServerFrame):
            return None
        self._frames += 1
        if self._frames > FRAMES_LIMIT:
            self._overrun("frames", FRAMES_LIMIT)
            return None
        return frame

    def _overrun(self, what: str, limit: int) -> None:
        self.fault = WireError(
            clause="kit",
            field=what,
            offset=self._bytes,
            expected=f"at most {limit} on one connection",
            found="more",
        )
