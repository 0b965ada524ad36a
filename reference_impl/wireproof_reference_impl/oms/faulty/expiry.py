"""Faults of expiry."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.group import Delivery, Group
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import OfLast, change_discard, change_stored
from wireproof_reference_impl.oms.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.oms import names

_SECOND = 1000
_LATE_MS = 3000

IsWithdrawn = Callable[[Delivery, int], bool]
"""Tells whether a delivery is withdrawn so many ms after its message has expired."""


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


@missing("expire.discarded", change_discard)
def expire_ignored(born: int, expires: int | None, right: int | None) -> int | None:
    """expireTime is ignored: no message is discarded."""
    return None


@wrong_value("expire.discarded", change_discard)
def expire_in_seconds(born: int, expires: int | None, right: int | None) -> int | None:
    """expireTime is taken for seconds since 1970."""
    return right and right * 1000


@wrong_value("expire.discarded", change_discard)
def expire_in_seconds_from_birth(born: int, expires: int | None, right: int | None) -> int | None:
    """expireTime counts seconds from the birth of the message."""
    return expires and born + expires * _SECOND


@boundary("expire.discarded", change_discard)
def expire_late_by_3_s(born: int, expires: int | None, right: int | None) -> int | None:
    """An undelivered message is discarded 3 s after its expireTime."""
    return right and right + _LATE_MS


@boundary("expire.discarded", change_discard)
def expire_within_a_second_ignored(
    born: int, expires: int | None, right: int | None
) -> int | None:
    """An expireTime less than a second after birth is ignored."""
    return right if right and right > born + _SECOND else None


@extra("expire.unset", change_discard)
def expire_by_default(born: int, expires: int | None, right: int | None) -> int | None:
    """A message without expireTime is discarded 1 s after its birth."""
    return born + 1000 if expires is None else right


@boundary("expire.unset", change_discard)
def expire_by_default_of_1400_ms(born: int, expires: int | None, right: int | None) -> int | None:
    """A message without expireTime is discarded 1.4 s after its birth."""
    return born + 1400 if expires is None else right


@condition("expire.unset")
def expire_of_the_last() -> Change:
    """A message without expireTime has that of the one before it."""
    last = OfLast()

    def change(born: int, expires: int | None, right: int | None) -> int | None:
        of_last = last.swap(expires)
        return of_last if expires is None else right

    return last.override(), change_discard(change)


@boundary("expire.earlier", change_discard)
def expire_before_birth_discards(born: int, expires: int | None, right: int | None) -> int | None:
    """A message whose expireTime lies before its birth is discarded."""
    return expires


@missing("expire.delivered", _withdraw)
def expired_withdrawn(delivery: Delivery, since: int) -> bool:
    """A delivery is withdrawn from its consumer when its message expires."""
    return True


@condition("expire.delivered", _withdraw)
def expired_withdrawn_at_first(delivery: Delivery, since: int) -> bool:
    """A first delivery is withdrawn from its consumer when its message expires."""
    return delivery.count == 1


@boundary("expire.delivered", _withdraw)
def expired_withdrawn_for_3_s(delivery: Delivery, since: int) -> bool:
    """A delivery cannot be acknowledged in the 3 s after its message expires."""
    return since < _LATE_MS


def _kept_if(is_kept: Callable[[Message], bool]) -> Override:
    """Return an override by which some messages are not discarded."""
    return change_stored(
        lambda message: replace(message, discarded=None) if is_kept(message) else message
    )


@condition("expire.discarded", _kept_if)
def expire_ignored_by_commit(message: Message) -> bool:
    """The expireTime of a message that was prepared is ignored."""
    return message.transaction_id is not None


@condition("expire.discarded", _kept_if)
def expire_ignored_with_priority(message: Message) -> bool:
    """The expireTime of a message that has a priority is ignored."""
    return names.PRIORITY in message.sent.extension_header


@condition("expire.discarded", _kept_if)
def expire_ignored_with_delay(message: Message) -> bool:
    """The expireTime of a delayed message is ignored."""
    return message.due > message.born


@condition("expire.discarded", _kept_if)
def expire_ignored_in_other_partitions(message: Message) -> bool:
    """The expireTime of a message in another partition than the first is ignored."""
    return message.partition > 0


@condition("expire.discarded", _kept_if)
def expire_ignored_at_most_once(message: Message) -> bool:
    """The expireTime of a message of qos 1 is ignored."""
    return message.sent.header.get(names.QOS) == 1


FAULTS = list_faults(__name__)
