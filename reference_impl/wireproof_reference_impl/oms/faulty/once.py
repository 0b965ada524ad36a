"""Faults of messages that come again although they may not, or that others push aside."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core.broker import Broker, Received
from wireproof_reference_impl.oms.core.group import Delivery, Group
from wireproof_reference_impl.oms.core.ready_queue import Arrival
from wireproof_reference_impl.oms.faulty.effect import extension_header
from wireproof_reference_impl.oms.faulty.ways import condition, extra, late, missing
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.oms import names

AT_MOST, EXACTLY = 1, 2
_LATE_MS = 100


def _has_qos(delivery: Delivery, qos: int) -> bool:
    return delivery.count == 1 and delivery.message.sent.header.get(names.QOS) == qos


def _copied(is_copied: Callable[[Delivery], bool]) -> Override:
    """Return an override by which some messages come twice."""

    def take(original: Original, group: Group, now: int) -> object:
        delivery: Delivery | None = original(group, now)
        if delivery is not None and is_copied(delivery):
            group.offer([delivery.arrival])
        return delivery

    return around(Group, "take", take)


def _copied_late(qos: int) -> tuple[Override, ...]:
    """Return overrides by which messages of a qos come again some time later."""
    waiting: list[tuple[Group, int, Arrival]] = []

    def take(original: Original, group: Group, now: int) -> object:
        delivery: Delivery | None = original(group, now)
        if delivery is not None and _has_qos(delivery, qos):
            waiting.append((group, now + _LATE_MS, delivery.arrival))
        return delivery

    def take_back(original: Original, group: Group, now: int) -> None:
        for each in [each for each in waiting if each[0] is group and each[1] <= now]:
            waiting.remove(each)
            group.offer([each[2]])
        original(group, now)

    return around(Group, "take", take), around(Group, "take_back", take_back)


@extra("message.at-most-once", _copied)
def at_most_once_twice(delivery: Delivery) -> bool:
    """A message of qos 1 comes twice."""
    return _has_qos(delivery, AT_MOST)


@late("message.at-most-once")
def at_most_once_again() -> Change:
    """A message of qos 1 comes again 100 ms later."""
    return _copied_late(AT_MOST)


@condition("message.at-most-once", _copied)
def at_most_once_twice_behind_others(delivery: Delivery) -> bool:
    """A message of qos 1 comes twice if it is not the first one of its destination."""
    return _has_qos(delivery, AT_MOST) and delivery.arrival.number > 0


@extra("message.exactly-once", _copied)
def exactly_once_twice(delivery: Delivery) -> bool:
    """A message of qos 2 comes twice."""
    return _has_qos(delivery, EXACTLY)


@late("message.exactly-once")
def exactly_once_again() -> Change:
    """A message of qos 2 comes again 100 ms later."""
    return _copied_late(EXACTLY)


@missing("message.exactly-once", around(Group, "take"))
def exactly_once_lost(original: Original, group: Group, now: int) -> object:
    """A message of qos 2 does not come."""
    delivery: Delivery | None = original(group, now)
    while delivery is not None and _has_qos(delivery, EXACTLY):
        delivery = original(group, now)
    return delivery


@condition("round-trip.unchanged round-trip.correlation-id", around(Broker, "receive"))
def correlation_id_of_the_next(
    original: Original, broker: Broker, *arguments: object, **named: object
) -> object:
    """A message has the correlationId of the next one that is delivered with it."""
    received: list[Received] = original(broker, *arguments, **named)
    headers = [extension_header(each.document) for each in received]
    texts = [header.get(names.CORRELATION_ID) for header in headers]
    for one, following in zip(headers, texts[1:], strict=False):
        if names.CORRELATION_ID in one and following is not None:
            one[names.CORRELATION_ID] = following
    return received


FAULTS = list_faults(__name__)
