"""The rules that decide which client may subscribe to which kind of topic."""

from typing import NamedTuple

from wireproof_reference_impl.nsq.wire.identity import Identity
from wireproof_reference_impl.nsq.wire.refusal import Refusal
from wireproof_spec.nsq.error_codes import (
    E_SUB_EXTEND_FORBIDDON,
    E_SUB_EXTEND_NEED,
    E_SUB_ORDER_IS_MUST,
)
from wireproof_spec.nsq.names import SUB, SUB_ADVANCED, is_valid_name


class SubscribeRequest(NamedTuple):
    """A request to subscribe: the client's identity, its command, and the topic and channel.

    An upgraded topic has the extend feature and was not created with it. `ordered` describes the
    topic. The channel is `known` if it exists, and `used` if it has clients.
    """

    identity: Identity
    command: bytes
    topic_extend: bool
    born_extend: bool = False
    ordered: bool = False
    known: bool = False
    used: bool = False


def is_topic_name(name: str) -> bool:
    """Return True if a topic may have this name.

    Clause: smart.partition.sub-bad-topic
    """
    return is_valid_name(name)


def is_channel_name(name: str) -> bool:
    """Return True if a channel may have this name.

    Clause: smart.partition.sub-bad-channel
    """
    return is_valid_name(name)


def order_rule(wish: SubscribeRequest) -> Refusal | None:
    """Return the refusal of a client that would not consume an ordered topic in order, or None.

    Clause: smart.order.is-must, smart.order.command
    """
    if wish.ordered and wish.command in (SUB, SUB_ADVANCED):
        text = "this topic is configured only allow ordered sub"
        return Refusal(E_SUB_ORDER_IS_MUST, text)
    return None


def support_rule(wish: SubscribeRequest) -> Refusal | None:
    """Return the refusal of a client whose extend_support does not fit the topic, or None.

    Clause: ext.subscribe.support-needed, ext.subscribe.support-refused
    """
    if wish.topic_extend and not wish.identity.extend_support:
        text = "this topic is extended and should identify as extend support."
        return Refusal(E_SUB_EXTEND_NEED, text)
    if wish.identity.extend_support and not wish.topic_extend:
        text = "this topic is not extended and should not identify as extend support."
        return Refusal(E_SUB_EXTEND_FORBIDDON, text)
    return None


def desired_tag(wish: SubscribeRequest) -> str | None:
    """Return the desired tag of a subscription; None on a topic without the extend feature.

    Clause: ext.subscribe.tag-ignored
    """
    return wish.identity.desired_tag or None if wish.topic_extend else None
