"""Turns received bytes into complete values, within limits."""

from typing import Final, Generic, Protocol, TypeVar

from wireproof_spec.stream import NeedMore
from wireproof_spec.wire_error import WireError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# A case lets one message come 4,200 times. A transcript keeps all values of a connection.
VALUES_LIMIT: Final = 6_000


class Source(Protocol[T_co]):
    """Decodes one protocol's values from received bytes, and limits how many bytes may arrive."""

    @property
    def values(self) -> str:
        """The plural name of the decoded values in error messages, such as ``frames``."""
        ...

    @property
    def bytes_limit(self) -> int:
        """Return how many bytes the target may have sent so far; more are an error."""
        ...

    @property
    def pending(self) -> bytes:
        """Return the received bytes that do not form a complete value yet."""
        ...

    def feed(self, data: bytes) -> None:
        """Add received bytes to decode."""
        ...

    def next(self) -> T_co | NeedMore:
        """Return the next value, or NEED_MORE if it is incomplete.

        Raises:
            WireError: the bytes are not a valid value.
        """
        ...


class Incoming(Generic[T]):
    """The receiving half of a connection; endless data from the target becomes a fault."""

    def __init__(self, source: Source[T]) -> None:
        self._source = source
        self._bytes = 0
        self._values = 0
        self.fault: WireError | None = None

    @property
    def pending(self) -> bytes:
        """Return the received bytes that do not form a complete value yet."""
        return self._source.pending

    def feed(self, data: bytes) -> None:
        """Add received bytes; too many are a fault, and bytes after a fault are dropped."""
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
