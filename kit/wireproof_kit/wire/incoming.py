"""Turns received bytes into complete values, within limits."""

from typing import Final, Generic, Protocol, TypeVar

from wireproof_spec.stream import NeedMore
from wireproof_spec.wire_error import WireError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# Ten times what the longest case is owed: a transcript keeps them all.
VALUES_LIMIT: Final = 2_000


class Source(Protocol[T_co]):
    """A protocol's reader of values, with the number of bytes it may receive so far."""

    @property
    def values(self) -> str:
        """The plural name of the values, for messages."""
        ...

    @property
    def bytes_limit(self) -> int:
        """Return the number of bytes that may have arrived by now."""
        ...

    @property
    def pending(self) -> bytes:
        """Return the bytes of an incomplete value."""
        ...

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        ...

    def next(self) -> T_co | NeedMore:
        """Return the next value, or NEED_MORE.

        Raises:
            WireError: the bytes are no such value.
        """
        ...


class Incoming(Generic[T]):
    """The receiving half of a connection, limited in case a target never stops sending."""

    def __init__(self, source: Source[T]) -> None:
        self._source = source
        self._bytes = 0
        self._values = 0
        self.fault: WireError | None = None

    @property
    def pending(self) -> bytes:
        """Return the bytes of an incomplete value."""
        return self._source.pending

    def feed(self, data: bytes) -> None:
        """Add received bytes; above the limit they are a fault, after a fault they are dropped."""
        if self.fault is not None:
            return
        self._bytes += len(data)
        limit = self._source.bytes_limit
        if self._bytes > limit:
            self._raise_overrun("bytes", limit)
            return
        self._source.feed(data)

    def next(self) -> T | None:
        """Return the next complete value; None if no value is complete, or after a fault."""
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
            self._raise_overrun(self._source.values, VALUES_LIMIT)
            return None
        return value

    def _raise_overrun(self, what: str, limit: int) -> None:
        self.fault = WireError(
            clause="kit",
            field=what,
            offset=self._bytes,
            expected=f"at most {limit} on one connection",
            found="more",
        )
