"""Faults of a consumer in order: its command, RDY, the place in the queue, its checks and log."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import commands, consumer, ready
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.consumer import Consumer, Outcome
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.order import OrderCheck
from wireproof_reference_impl.nsq.client.core.settings import Subscribing
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Topology
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around


def _ordered_line(change: Callable[[str, str], tuple[str, str]]) -> Override:
    """Change topic and channel of a subscription in order."""

    def call(
        original: Original, topic: str, channel: str, partition: int | None, *, ordered: bool
    ) -> object:
        if ordered:
            topic, channel = change(topic, channel)
        return original(topic, channel, partition, ordered=ordered)

    return around(commands, "subscribe", call)


def _rdy(count: int) -> Override:
    def call(original: Original, wants: object, *args: object) -> object:
        is_ordered = isinstance(wants, Subscribing) and wants.ordered
        return count if is_ordered else original(wants, *args)

    return around(ready, "first_or_share", call)


def _read(change: object) -> Override:
    assert callable(change)

    def call(original: Original, data: bytes, *, extend: bool, ordered: bool) -> object:
        message = original(data, extend=extend, ordered=ordered)
        return change(message) if ordered else message

    return around(subscriptions, "read_message", call)


def _only(part: str) -> Override:
    def call(original: Original, self: OrderCheck, message: Message) -> str:
        found = str(original(self, message))
        return found if ("offset" in found) == (part == "offset") else ""

    return around(OrderCheck, "find_fault", call)


def _refuse_again(refuse: Callable[[Subscription, bytes], None]) -> Override:
    """Do this with a message in order that has the internal id of the one before it."""

    def call(
        original: Original, self: Consumer, subscription: Subscription, message: Message
    ) -> None:
        last = vars(subscription).get("last_id")
        vars(subscription)["last_id"] = message.internal_id
        if self.wants.ordered and message.internal_id == last:
            refuse(subscription, message.id)
        else:
            original(self, subscription, message)

    return around(Consumer, "hand", call)


@condition("client.order-each", around(commands, "subscribe"))
def sub_from_second_partition(
    original: Original, topic: str, channel: str, partition: int | None, *, ordered: bool
) -> object:
    """A consumer in order subscribes with SUB from the second partition on."""
    return original(topic, channel, partition, ordered=ordered and not partition)


@missing("client.order-each", around(consumer, "places_of"))
def ordered_first_partition(original: Original, topology: Topology) -> object:
    """A consumer in order subscribes to the first partition only."""
    return topology.places[:1] if topology.ordered else original(topology)


@wrong_value("client.order-each", _ordered_line)
def ordered_topic_capital(topic: str, channel: str) -> tuple[str, str]:
    """A subscription in order names the topic in capital letters."""
    return (topic.upper(), channel)


@wrong_value("client.order-each", _ordered_line)
def ordered_channel_first(topic: str, channel: str) -> tuple[str, str]:
    """A subscription in order names the channel before the topic."""
    return (channel, topic)


@wrong_value("client.order-rdy")
def ordered_rdy_20() -> Change:
    """RDY is 20 in order."""
    return _rdy(20)


@boundary("client.order-rdy")
def ordered_rdy_2() -> Change:
    """RDY is 2 in order."""
    return _rdy(2)


@wrong_value("client-order.place client-order.ext-place", _read)
def place_in_body(message: Message) -> Message:
    """The body begins with offset and size."""
    offset, size = message.disk_queue_offset or 0, message.disk_queue_data_size or 0
    place = offset.to_bytes(8, "big") + size.to_bytes(4, "big")
    return replace(message, body=place + message.body)


@boundary("client-order.place client-order.ext-place", _read)
def offset_32_bits(message: Message) -> Message:
    """Only the low half of the offset is read."""
    return replace(message, disk_queue_offset=(message.disk_queue_offset or 0) & 0xFFFFFFFF)


@wrong_value("client-order.place client-order.ext-place", _read)
def size_of_body(message: Message) -> Message:
    """The size told is that of the body."""
    return replace(message, disk_queue_data_size=len(message.body))


@missing("client.order-validate", around(subscriptions, "check_order"))
def order_unchecked(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    """The order of messages is not checked."""
    original(subscription, OrderCheck(), message)


@condition("client.order-validate")
def offsets_unchecked() -> Change:
    """Only internal ids are checked for their order."""
    return _only("id")


@condition("client.order-validate")
def ids_unchecked() -> Change:
    """Only offsets are checked for their order."""
    return _only("offset")


@boundary("client.order-validate", _refuse_again)
def same_id_left(subscription: Subscription, id: bytes) -> None:
    """A message in order with the internal id of the one before is left to its time-out."""
    return


@boundary("client.order-validate", _refuse_again)
def same_id_given_back(subscription: Subscription, id: bytes) -> None:
    """A message in order with the internal id of the one before is given back unseen."""
    subscription._consumer.give_back(subscription, id, attempts=1)


@missing("client.order-log", around(subscriptions, "check_order"))
def attempts_unlogged(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    """Messages attempted too often are not logged."""
    original(subscription, order, replace(message, attempts=1))


@boundary("client.order-log", around(subscriptions, "check_order"))
def attempts_logged_to_100(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    """Messages are logged up to attempt 100 only."""
    shown = message.attempts if message.attempts <= 100 else 1
    original(subscription, order, replace(message, attempts=shown))


@boundary("client.order-policy client.order-no-skip", around(Consumer, "settle"))
def third_failure_finished(
    original: Original, self: Consumer, ticket: int, outcome: Outcome
) -> None:
    """A message in order whose handler has failed three times is finished."""
    _, message = self._handed[ticket]
    is_third = self.wants.ordered and message.attempts >= 3
    original(self, ticket, Outcome.FINISHED if is_third else outcome)


@wrong_value("client.configuration", around(ready, "first_or_share"))
def rdy_for_each(_: Original, wants: Subscribing, *args: object) -> object:
    """Each connection gets all of max_in_flight as its RDY."""
    return wants.max_in_flight


@boundary("client.configuration", around(ready, "first_or_share"))
def rdy_rounded_up(original: Callable[..., int], *args: object) -> int:
    """The RDY of a connection is one more than its share of max_in_flight."""
    return original(*args) + 1


FAULTS = list_faults(__name__)
