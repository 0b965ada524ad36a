"""What has come on one connection: bytes in, whole values out, bounded in either."""

from typing import Final, Generic, Protocol, TypeVar

from wireproof_spec.stream import NeedMore
from wireproof_spec.wire_error import WireError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Ten times what the longest case is owed: a transcript keeps them all.
VALUES_LIMIT: Final = 2_000


class Source(Protocol[T_co]):
    """One protocol's reader of what a target sends, and how many bytes of it are owed so far."""

    @property
    def values(self) -> str:
        """Name what comes, more than one of it."""
        ...

    @property
    def bytes_limit(self) -> int:
        """Return how many bytes may have come by now."""
        ...

    @property
    def pending(self) -> bytes:
        """Return the bytes of a value that is not whole yet."""
        ...

    def feed(self, data: bytes) -> None:
        """Take more bytes."""
        ...

    def next(self) -> T_co | NeedMore:
        """Return the next value, or NEED_MORE.

        Raises:
            WireError: what has come is none.
        """
        ...


class Incoming(Generic[T]):
    """The receiving half of a connection, bounded against a target that never stops."""

    def __init__(self, source: Source[T]) -> None:
        self._source = source
        self._bytes = 0
        self._values = 0
        self.fault: WireError | None = None

    @property
    def pending(self) -> bytes:
        """Return the bytes of a value that is not whole yet."""
        return self._source.pending

    def feed(self, data: bytes) -> None:
        """Take bytes; beyond the bound they are a fault, after a fault they are let go."""
        if self.fault is not None:
            return
        self._bytes += len(data)
        limit = self._source.bytes_limit
        if self._bytes > limit:
            self._overrun("bytes", limit)
            return
        self._source.feed(data)

    def next(self) -> T | None:
        """Return the next whole value, or None while there is none (or there is a fault)."""
        if self.fault is not None:
            return None
        try:
            value = self._source.next()
        except WireError as error:
            self.fault = error
            return None
        if isinstance(value, NeedMore):
            return None
        self._values += 1
        if self._values > VALUES_LIMIT:
            self._overrun(self._source.values, VALUES_LIMIT)
            return None
        return value

    def _overrun(self, what: str, limit: int) -> None:
        self.fault = WireError(
            clause="kit",
            field=what,
            offset=self._bytes,
            expected=f"at most {limit} on one connection",
            found="more",
        )
