"""Faults of a consumer in order: its command, RDY, the place in the queue, its checks and log."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.nsq.client.core import commands, consumer, ready
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.consumer import Consumer, Outcome
from wireproof_reference_impl.nsq.client.core.message import Message
from wireproof_reference_impl.nsq.client.core.order import OrderCheck
from wireproof_reference_impl.nsq.client.core.settings import Subscribing
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.client.core.topology import Topology
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override


def _sub_from_second(
    original: Original, topic: str, channel: str, partition: int | None, *, ordered: bool
) -> object:
    return original(topic, channel, partition, ordered=ordered and not partition)


def _ordered_line(change: Callable[[str, str], tuple[str, str]]) -> Override:
    """Change topic and channel of a subscription in order."""

    def call(
        original: Original, topic: str, channel: str, partition: int | None, *, ordered: bool
    ) -> object:
        if ordered:
            topic, channel = change(topic, channel)
        return original(topic, channel, partition, ordered=ordered)

    return around(commands, "subscribe", call)


def _first_if_ordered(original: Original, topology: Topology) -> object:
    return topology.places[:1] if topology.ordered else original(topology)


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


def _place_in_body(message: Message) -> Message:
    offset, size = message.disk_queue_offset or 0, message.disk_queue_data_size or 0
    place = offset.to_bytes(8, "big") + size.to_bytes(4, "big")
    return replace(message, body=place + message.body)


def _short_offset(message: Message) -> Message:
    return replace(message, disk_queue_offset=(message.disk_queue_offset or 0) & 0xFFFFFFFF)


def _size_of_body(message: Message) -> Message:
    return replace(message, disk_queue_data_size=len(message.body))


def _only(part: str) -> Override:
    def call(original: Original, self: OrderCheck, message: Message) -> str:
        found = str(original(self, message))
        return found if ("offset" in found) == (part == "offset") else ""

    return around(OrderCheck, "find_fault", call)


def _check_only(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    original(subscription, order, replace(message, attempts=1))


def _log_only(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    original(subscription, OrderCheck(), message)


def _log_to_100(
    original: Original, subscription: Subscription, order: OrderCheck, message: Message
) -> None:
    shown = message.attempts if message.attempts <= 100 else 1
    original(subscription, order, replace(message, attempts=shown))


def _finish_third_failure(
    original: Original, self: Consumer, ticket: int, outcome: Outcome
) -> None:
    _, message = self._handed[ticket]
    is_third = self.wants.ordered and message.attempts >= 3
    original(self, ticket, Outcome.FINISHED if is_third else outcome)


def _give_back_unseen(subscription: Subscription, id: bytes) -> None:
    subscription._consumer.give_back(subscription, id, attempts=1)


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


FAULTS = (
    condition(
        "sub-from-second-partition",
        "A consumer in order subscribes with SUB from the second partition on.",
        "client.order-each",
        around(commands, "subscribe", _sub_from_second),
        may="client-order.place",
    ),
    missing(
        "ordered-first-partition",
        "A consumer in order subscribes to the first partition only.",
        "client.order-each",
        around(consumer, "places_of", _first_if_ordered),
    ),
    wrong_value(
        "ordered-topic-capital",
        "A subscription in order names the topic in capital letters.",
        "client.order-each",
        _ordered_line(lambda topic, channel: (topic.upper(), channel)),
    ),
    wrong_value(
        "ordered-channel-first",
        "A subscription in order names the channel before the topic.",
        "client.order-each",
        _ordered_line(lambda topic, channel: (channel, topic)),
    ),
    wrong_value(
        "ordered-rdy-20",
        "RDY is 20 in order.",
        "client.order-rdy",
        _rdy(20),
    ),
    boundary(
        "ordered-rdy-2",
        "RDY is 2 in order.",
        "client.order-rdy",
        _rdy(2),
    ),
    wrong_value(
        "place-in-body",
        "The body begins with offset and size.",
        "client-order.place",
        _read(_place_in_body),
    ),
    boundary(
        "offset-32-bits",
        "Only the low half of the offset is read.",
        "client-order.place",
        _read(_short_offset),
    ),
    wrong_value(
        "size-of-body",
        "The size told is that of the body.",
        "client-order.place",
        _read(_size_of_body),
    ),
    missing(
        "order-unchecked",
        "The order of messages is not checked.",
        "client.order-validate",
        around(subscriptions, "check_order", _log_only),
    ),
    condition(
        "offsets-unchecked",
        "Only internal ids are checked for their order.",
        "client.order-validate",
        _only("id"),
    ),
    condition(
        "ids-unchecked",
        "Only offsets are checked for their order.",
        "client.order-validate",
        _only("offset"),
    ),
    boundary(
        "same-id-left",
        "A message in order with the internal id of the one before is left to its time-out.",
        "client.order-validate",
        _refuse_again(lambda subscription, id: None),
    ),
    boundary(
        "same-id-given-back",
        "A message in order with the internal id of the one before is given back unseen.",
        "client.order-validate",
        _refuse_again(_give_back_unseen),
    ),
    missing(
        "attempts-unlogged",
        "Messages attempted too often are not logged.",
        "client.order-log",
        around(subscriptions, "check_order", _check_only),
    ),
    boundary(
        "attempts-logged-to-100",
        "Messages are logged up to attempt 100 only.",
        "client.order-log",
        around(subscriptions, "check_order", _log_to_100),
    ),
    boundary(
        "third-failure-finished",
        "A message in order whose handler has failed three times is finished.",
        "client.order-policy client.order-no-skip",
        around(Consumer, "settle", _finish_third_failure),
        may="client.order-log",
    ),
    wrong_value(
        "rdy-for-each",
        "Each connection gets all of max_in_flight as its RDY.",
        "client.configuration",
        around(ready, "first_or_share", lambda _, wants, *args: wants.max_in_flight),
        may="client.order-rdy client-connection.first-ready",
    ),
    boundary(
        "rdy-rounded-up",
        "The RDY of a connection is one more than its share of max_in_flight.",
        "client.configuration",
        around(ready, "first_or_share", lambda original, *args: original(*args) + 1),
        may="client.order-rdy client-connection.first-ready",
    ),
)
