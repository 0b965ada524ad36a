"""Faults of the rules for who may, and who must, subscribe in order."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.commands.publish import Address
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.delivery import subscribe_rules
from wireproof_reference_impl.nsq.delivery.subscribe_rules import SubscribeRequest, order_rule
from wireproof_reference_impl.nsq.faulty.errors import answered_with_a_response
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.error_codes import E_INVALID, E_SUB_ORDER_IS_MUST
from wireproof_spec.nsq.names import SUB_ORDER, SUB_ORDERED


def _rule(rule: Callable[[SubscribeRequest], Refusal | None]) -> tuple[Override, ...]:
    return (replace_function(subscribe_rules, "order_rule", rule),)


def _anything_goes(wish: SubscribeRequest) -> Refusal | None:
    return None


def _other_code(wish: SubscribeRequest) -> Refusal | None:
    return Refusal(E_INVALID, "ordered topic") if order_rule(wish) else None


def _not_on_known_channels(wish: SubscribeRequest) -> Refusal | None:
    return None if wish.known else order_rule(wish)


def _not_when_tagged(wish: SubscribeRequest) -> Refusal | None:
    return None if wish.identity.desired_tag else order_rule(wish)


def _is_ordered(wish: SubscribeRequest) -> bool:
    return wish.command in (SUB_ORDER, SUB_ORDERED)


def _no_second_client(wish: SubscribeRequest) -> Refusal | None:
    if _is_ordered(wish) and wish.used:
        return Refusal(E_INVALID, "the channel has an ordered client")
    return order_rule(wish)


def _no_negotiation(wish: SubscribeRequest) -> Refusal | None:
    if _is_ordered(wish) and wish.identity.feature_negotiation:
        return Refusal(E_SUB_ORDER_IS_MUST, "the client negotiates")
    return order_rule(wish)


def _no_tag(wish: SubscribeRequest) -> Refusal | None:
    if _is_ordered(wish) and wish.identity.desired_tag:
        return Refusal(E_SUB_ORDER_IS_MUST, "no tags")
    return order_rule(wish)


def _is_ordered_command(command: bytes, code: str) -> bool:
    return command in (SUB_ORDER, SUB_ORDERED)


def _no_known_channel(wish: SubscribeRequest) -> Refusal | None:
    if _is_ordered(wish) and wish.known and not wish.used:
        return Refusal(E_INVALID, "the channel was left")
    return order_rule(wish)


_ONE = "smart.order.one-in-flight"
_AGAIN = "smart.order.again smart.order.left"
_IN_ORDER = "smart.order.in-order"
_POSITION = "smart.order.position"
_INCREASING = "smart.order.increasing"
_MUST = "smart.order.is-must"
_COMMAND = "smart.order.command"
_HISTORY = "smart.history.order smart.history.kept"


def _not_when_ordered(
    original: Original, connection: Connection, words: Sequence[bytes]
) -> object:
    topic = connection.node.topics.get(show(words[1]))
    return original(connection, words) if topic is None or not topic.ordered else False


def _first_when_ordered(
    original: Original, connection: Connection, to: Address, size: int
) -> object:
    topic = connection.node.topics.get(to.topic)
    if topic is not None and topic.ordered and to.partition is None:
        to = Address(to.topic, min(topic.partitions))
    return original(connection, to, size)


FAULTS: tuple[Preset, ...] = (
    missing(
        "order-not-a-must",
        "SUB instead of SUB_ORDER is accepted on an ordered topic",
        breaks=_MUST,
        may_break="smart.order.is-must-advanced",
        overrides=_rule(_anything_goes),
    ),
    wrong_value(
        "order-is-must-other-code",
        "SUB instead of SUB_ORDER on an ordered topic is refused with E_INVALID",
        breaks=_MUST,
        may_break="smart.order.is-must-advanced",
        overrides=_rule(_other_code),
    ),
    condition(
        "order-not-a-must-on-known-channels",
        "SUB instead of SUB_ORDER is accepted on an existing channel of an ordered topic",
        breaks=_MUST,
        overrides=_rule(_not_on_known_channels),
    ),
    condition(
        "order-not-a-must-with-a-tag",
        "SUB instead of SUB_ORDER is accepted on an ordered topic from clients with a desired tag",
        breaks=_MUST,
        overrides=_rule(_not_when_tagged),
    ),
    boundary(
        "order-no-second-client",
        "a second client of an ordered channel is refused",
        breaks=_COMMAND,
        may_break=f"{_ONE} {_IN_ORDER} {_AGAIN} {_HISTORY}",
        overrides=_rule(_no_second_client),
    ),
    condition(
        "order-no-negotiation",
        "SUB_ORDER is refused when features were negotiated",
        breaks=_COMMAND,
        overrides=_rule(_no_negotiation),
    ),
    wrong_value(
        "order-tagged-answered-otherwise",
        "SUB_ORDER with a desired tag is refused in a response frame instead of an error frame",
        breaks=_COMMAND,
        may_break="smart.order.command-refused",
        overrides=(*_rule(_no_tag), answered_with_a_response(_is_ordered_command)),
    ),
    condition(
        "order-no-known-channel",
        "SUB_ORDER to a channel that all clients have left is refused",
        breaks=_COMMAND,
        may_break=f"{_IN_ORDER} {_AGAIN} {_INCREASING} {_POSITION} {_HISTORY}",
        overrides=_rule(_no_known_channel),
    ),
    missing(
        "order-partition-not-needed",
        "a publish to an ordered topic that names no partition goes to the first one",
        breaks="smart.order.publish-partition",
        overrides=(
            around(publish, "needs_partition", _not_when_ordered),
            around(publish, "locate", _first_when_ordered),
        ),
    ),
)
