"""Little-endian fields of a frame, read one after the other."""

from wireproof_reference_impl.iggy.wire.status import invalid_command


class Fields:
    """Reads the payload of a command, field by field, from its start."""

    __slots__ = ("_data", "_place")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def left(self) -> int:
        """Return how many bytes of the payload are not read yet."""
        return len(self._data) - self._place

    def take(self, count: int) -> bytes:
        """Read and return the next `count` bytes.

        Raises:
            Refusal: the frame ends before.
        """
        end = self._place + count
        if end > len(self._data):
            raise invalid_command()
        taken = self._data[self._place : end]
        self._place = end
        return taken

    def number(self, width: int) -> int:
        """Read and return an unsigned number of `width` bytes.

        Raises:
            Refusal: the frame ends before.
        """
        return int.from_bytes(self.take(width), "little")

    def u8(self) -> int:
        """Read and return an unsigned number of one byte."""
        return self.number(1)

    def u32(self) -> int:
        """Read and return an unsigned number of four bytes."""
        return self.number(4)

    def u64(self) -> int:
        """Read and return an unsigned number of eight bytes."""
        return self.number(8)

    def u128(self) -> int:
        """Read and return an unsigned number of sixteen bytes."""
        return self.number(16)

    def rest(self) -> bytes:
        """Read and return the remaining bytes."""
        return self.take(self.left)

    def expect_end(self) -> None:
        """Check that the whole payload has been read.

        Raises:
            Refusal: bytes are left.
        """
        if self.left:
            raise invalid_command()
