"""When a message is due, and when it is discarded; all times in milliseconds since 1970."""

from typing import Final

from wireproof_spec.oms.names import LIMITS, Type

LATEST: Final = LIMITS[Type.LONG][1]
"""The last moment that a Long can name. No due time lies after it."""


def due_time(born: int, delay: int | None) -> int:
    """Return when a message is due: at its birth without a delay, or with a negative one.

    The delay counts from birth, however long the message took to the store. A sum beyond the range
    of Long ends at its limit; wrapped around, it would lie in the past.
    """
    return min(born + max(delay or 0, 0), LATEST)


def expire_time(born: int, expires: int | None, *, from_birth: bool) -> int | None:
    """Return an expireTime as a time since 1970; with `from_birth` it is a duration from birth.

    A Java interface says that it is one.
    """
    return min(born + expires, LATEST) if from_birth and expires is not None else expires


def discard_time(born: int, due: int, expires: int | None, *, expires_in_gap: bool) -> int | None:
    """Return when an undelivered message is discarded; None if never.

    The text compares expireTime with itself ("If an earlier timestamp is set than expireTime").
    The history of the specification gives the sentence a meaning: a time before the message was
    born discards nothing. From birth to the due time both readings are possible.
    """
    if expires is None or expires < born:
        return None
    if expires < due and not expires_in_gap:
        return None
    return expires


def is_over(time: int | None, now: int) -> bool:
    """Return True if a time is reached; the time None never is."""
    return time is not None and now >= time
