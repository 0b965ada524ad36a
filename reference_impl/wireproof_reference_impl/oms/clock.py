"""The server's clock: the wall clock, and as much more as a client has asked for."""

from typing import Final

MILLISECOND_NS: Final = 1_000_000


class ServerClock:
    """The server's time in milliseconds since 1970, from the wall clock in nanoseconds.

    Moved ahead, it makes delays of 30 s pass at once.
    """

    def __init__(self) -> None:
        self._ahead_ms = 0

    def now(self, wall_ns: int) -> int:
        """Return the server's time when the wall clock shows `wall_ns`."""
        return wall_ns // MILLISECOND_NS + self._ahead_ms

    def wall_ns(self, time_ms: int) -> int:
        """Return the wall clock's time, in nanoseconds, at a time of the server."""
        return (time_ms - self._ahead_ms) * MILLISECOND_NS

    def advance(self, by_ms: int) -> None:
        """Move the server's clock ahead by this many milliseconds."""
        self._ahead_ms += by_ms
