"""A boundary between two records of a queue, in every unit that its files use."""

from msgspec import Struct


class QueuePosition(Struct, frozen=True):
    """A position in a queue's files: before a record, or at the end of the queue.

    ``offset`` is the virtual one, which continues across files; ``count`` is the number of
    messages before it.
    """

    count: int = 0
    file_number: int = 0
    file_position: int = 0
    offset: int = 0

    @property
    def file_start(self) -> int:
        """The virtual offset at which the position's file begins."""
        return self.offset - self.file_position

    def after(self, size: int, *, count: int = 1) -> "QueuePosition":
        """Return the position after a number of records with a total size."""
        return QueuePosition(
            self.count + count, self.file_number, self.file_position + size, self.offset + size
        )

    def next_file(self) -> "QueuePosition":
        """Return the same position as the beginning of the next file."""
        return QueuePosition(self.count, self.file_number + 1, 0, self.offset)


class QueueWarning(Struct, frozen=True):
    """Something in a queue's files that was repaired when it was opened."""

    file: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}: {self.text}"


class QueueFault(Exception):
    """Raised if a queue cannot be opened or read; ``str()`` is a sentence that says why."""
