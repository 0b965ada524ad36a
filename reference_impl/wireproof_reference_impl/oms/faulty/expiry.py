"""Faults of expiry."""

from collections.abc import Callable

from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.group import Delivery, Group
from wireproof_reference_impl.oms.faulty.effect import (
    OfLast,
    boundary,
    change_discard,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset

ABSENT = "expire.discarded"
KEPT = "expire.delivered"
_SECOND = 1000
_LATE_MS = 3000

IsWithdrawn = Callable[[Delivery, int], bool]
"""Tells whether a delivery is withdrawn so many ms after its message has expired."""


def _expire_of_last() -> tuple[Override, ...]:
    """Return overrides by which a message without expireTime takes that of the one before it."""
    last = OfLast()

    def change(born: int, expires: int | None, right: int | None) -> int | None:
        of_last = last.swap(expires)
        return of_last if expires is None else right

    return last.override(), change_discard(change)


def _withdraw(is_withdrawn: IsWithdrawn) -> tuple[Override, ...]:
    """Return overrides by which a delivery cannot be acknowledged once its message has expired.

    The time is that of the last look at what is due.
    """
    times = [0]

    def advance(original: Original, broker: Broker, now: int) -> None:
        times[0] = now
        original(broker, now)

    def settle(original: Original, group: Group, delivery: Delivery) -> object:
        expired = delivery.message.discarded
        if expired is not None and expired <= times[0]:
            return not is_withdrawn(delivery, times[0] - expired) and original(group, delivery)
        return original(group, delivery)

    return around(Broker, "advance", advance), around(Group, "settle", settle)


FAULTS: tuple[Preset, ...] = (
    missing(
        "expire-ignored",
        "expireTime is ignored: no message is discarded",
        change_discard(lambda born, expires, right: None),
        breaks=ABSENT,
    ),
    wrong_value(
        "expire-in-seconds",
        "expireTime is taken for seconds since 1970",
        change_discard(lambda born, expires, right: right and right * 1000),
        breaks=ABSENT,
    ),
    wrong_value(
        "expire-in-seconds-from-birth",
        "expireTime counts seconds from the birth of the message",
        change_discard(lambda born, expires, right: expires and born + expires * _SECOND),
        breaks=ABSENT,
    ),
    boundary(
        "expire-late-by-3-s",
        "an undelivered message is discarded 3 s after its expireTime",
        change_discard(lambda born, expires, right: right and right + _LATE_MS),
        breaks=ABSENT,
    ),
    boundary(
        "expire-within-a-second-ignored",
        "an expireTime less than a second after birth is ignored",
        change_discard(
            lambda born, expires, right: right if right and right > born + _SECOND else None
        ),
        breaks=ABSENT,
    ),
    extra(
        "expire-by-default",
        "a message without expireTime is discarded 1 s after its birth",
        change_discard(lambda born, expires, right: born + 1000 if expires is None else right),
        breaks="expire.unset",
    ),
    boundary(
        "expire-by-default-of-1400-ms",
        "a message without expireTime is discarded 1.4 s after its birth",
        change_discard(lambda born, expires, right: born + 1400 if expires is None else right),
        breaks="expire.unset",
    ),
    condition(
        "expire-of-the-last",
        "a message without expireTime has that of the one before it",
        *_expire_of_last(),
        breaks="expire.unset",
    ),
    boundary(
        "expire-before-birth-discards",
        "a message whose expireTime lies before its birth is discarded",
        change_discard(lambda born, expires, right: expires),
        breaks="expire.earlier",
    ),
    missing(
        "expired-withdrawn",
        "a delivery is withdrawn from its consumer when its message expires",
        *_withdraw(lambda delivery, since: True),
        breaks=KEPT,
    ),
    condition(
        "expired-withdrawn-at-first",
        "a first delivery is withdrawn from its consumer when its message expires",
        *_withdraw(lambda delivery, since: delivery.count == 1),
        breaks=KEPT,
    ),
    boundary(
        "expired-withdrawn-for-3-s",
        "a delivery cannot be acknowledged in the 3 s after its message expires",
        *_withdraw(lambda delivery, since: since < _LATE_MS),
        breaks=KEPT,
    ),
)
