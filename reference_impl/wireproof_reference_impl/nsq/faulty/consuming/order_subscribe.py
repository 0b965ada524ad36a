"""Faults of the rules for who may, and who must, subscribe in order."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.core.commands import publish
from wireproof_reference_impl.nsq.core.commands.publish import Address
from wireproof_reference_impl.nsq.core.connection import Connection
from wireproof_reference_impl.nsq.delivery import subscribe_rules
from wireproof_reference_impl.nsq.delivery.subscribe_rules import SubscribeRequest, order_rule
from wireproof_reference_impl.nsq.faulty.errors import answered_with_a_response
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_reference_impl.nsq.wire.words import show
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_spec.nsq.error_codes import E_INVALID, E_SUB_ORDER_IS_MUST
from wireproof_spec.nsq.names import SUB_ORDER, SUB_ORDERED


def _rule(rule: Callable[[SubscribeRequest], Refusal | None]) -> tuple[Override, ...]:
    return (replace_function(subscribe_rules, "order_rule", rule),)


def _is_ordered(wish: SubscribeRequest) -> bool:
    return wish.command in (SUB_ORDER, SUB_ORDERED)


@missing("smart.order.is-must", _rule)
def order_not_a_must(wish: SubscribeRequest) -> Refusal | None:
    """SUB instead of SUB_ORDER is accepted on an ordered topic."""
    return None


@wrong_value("smart.order.is-must", _rule)
def order_is_must_other_code(wish: SubscribeRequest) -> Refusal | None:
    """SUB instead of SUB_ORDER on an ordered topic is refused with E_INVALID."""
    return Refusal(E_INVALID, "ordered topic") if order_rule(wish) else None


@condition("smart.order.is-must", _rule)
def order_not_a_must_on_known_channels(wish: SubscribeRequest) -> Refusal | None:
    """SUB instead of SUB_ORDER is accepted on an existing channel of an ordered topic."""
    return None if wish.known else order_rule(wish)


@condition("smart.order.is-must", _rule)
def order_not_a_must_with_a_tag(wish: SubscribeRequest) -> Refusal | None:
    """SUB instead of SUB_ORDER is accepted on an ordered topic from clients with a desired tag."""
    return None if wish.identity.desired_tag else order_rule(wish)


@boundary("smart.order.command", _rule)
def order_no_second_client(wish: SubscribeRequest) -> Refusal | None:
    """A second client of an ordered channel is refused."""
    if _is_ordered(wish) and wish.used:
        return Refusal(E_INVALID, "the channel has an ordered client")
    return order_rule(wish)


@condition("smart.order.command", _rule)
def order_no_negotiation(wish: SubscribeRequest) -> Refusal | None:
    """SUB_ORDER is refused when features were negotiated."""
    if _is_ordered(wish) and wish.identity.feature_negotiation:
        return Refusal(E_SUB_ORDER_IS_MUST, "the client negotiates")
    return order_rule(wish)


def _no_tag(wish: SubscribeRequest) -> Refusal | None:
    if _is_ordered(wish) and wish.identity.desired_tag:
        return Refusal(E_SUB_ORDER_IS_MUST, "no tags")
    return order_rule(wish)


def _is_ordered_command(command: bytes, code: str) -> bool:
    return command in (SUB_ORDER, SUB_ORDERED)


@wrong_value("smart.order.command")
def order_tagged_answered_otherwise() -> Change:
    """SUB_ORDER with a desired tag is refused in a response frame instead of an error frame."""
    return (
        *_rule(_no_tag),
        answered_with_a_response(_is_ordered_command),
    )


@condition("smart.order.command", _rule)
def order_no_known_channel(wish: SubscribeRequest) -> Refusal | None:
    """SUB_ORDER to a channel that all clients have left is refused."""
    if _is_ordered(wish) and wish.known and not wish.used:
        return Refusal(E_INVALID, "the channel was left")
    return order_rule(wish)


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


@missing("smart.order.publish-partition")
def order_partition_not_needed() -> Change:
    """A publish to an ordered topic that names no partition goes to the first one."""
    return (
        around(publish, "needs_partition", _not_when_ordered),
        around(publish, "locate", _first_when_ordered),
    )


FAULTS = list_faults(__name__)
