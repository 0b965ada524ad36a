"""What a server that is wrong on purpose has done to itself."""

from msgspec import Struct, field

MOST_HOARDED = 3 << 30
"""Bytes; a server that keeps what it should not must not take the whole machine."""


class Harm(Struct):
    """What has happened to a server so far.

    A `halted` one ends at once, a `stuck` one answers nobody any more; `losing` messages to come
    are answered and not kept; `dropped` connections were ended for what came on another, and are
    still to be told; `hoard` is never let go of.
    """

    halted: bool = False
    stuck: bool = False
    losing: int = 0
    dropped: list[object] = field(default_factory=list[object])
    hoard: list[bytes] = field(default_factory=list[bytes])

    def keep(self, data: bytes, size: int) -> None:
        """Keep bytes for ever, as many as a careless buffer would take."""
        if sum(map(len, self.hoard)) < MOST_HOARDED:
            self.hoard.append((data or b"\1") * (size // max(len(data), 1) + 1))
