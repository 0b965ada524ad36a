"""Which priority a message has."""

from wireproof_spec.oms.names import DEFAULT_PRIORITY, HIGHEST_PRIORITY, LOWEST_PRIORITY


def effective_priority(sent: int | None) -> int:
    """Return the priority of a message; one that is not set or outside 1 to 10 counts as 5."""
    if sent is None or not LOWEST_PRIORITY <= sent <= HIGHEST_PRIORITY:
        return DEFAULT_PRIORITY
    return sent
