"""How a request can fail: by a status, a committed rejection, an eviction, or in silence."""

from wireproof_spec.iggy.apache import statuses
from wireproof_spec.iggy.apache.evictions import NO_SESSION


class Denied(Exception):
    """Raised to answer a request with a status and no body.

    `committed`: a partition decided it, so that the reply names the cluster.
    """

    def __init__(self, status: int, *, committed: bool = False) -> None:
        super().__init__(status)
        self.status = status
        self.committed = committed


class Rejected(Exception):
    """Raised to answer a replicated request with a result section of one entry."""

    def __init__(self, result: int) -> None:
        super().__init__(result)
        self.result = result


class Evicted(Exception):
    """Raised to end a session; `window` are the highest and the lowest version accepted."""

    def __init__(self, reason: int = NO_SESSION, *, window: tuple[int, int] = (0, 0)) -> None:
        super().__init__(reason)
        self.reason = reason
        self.window = window


class Unanswered(Exception):
    """Raised to leave a request without an answer, as the measured server does."""


class Unsound(Exception):
    """Raised for a batch that must not be stored; the reason is for people."""


def not_found() -> Denied:
    """Return the refusal of a replicated request whose target is unknown or cannot be read."""
    return Denied(statuses.RESOURCE_NOT_FOUND)
