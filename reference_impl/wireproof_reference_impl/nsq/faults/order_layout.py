"""Faults of ordered deliveries: offset, size, attempts; and of who may subscribe in order."""

from collections.abc import Callable
from struct import pack

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core import packed
from wireproof_reference_impl.nsq.core.message import Message
from wireproof_reference_impl.nsq.core.refusal import Manner, Refusal
from wireproof_reference_impl.nsq.core.subscribe_rules import Wish, order_rule
from wireproof_reference_impl.nsq.preset import (
    BOUNDARY,
    CONDITION,
    EXTRA,
    MISSING,
    WRONG_VALUE,
    Preset,
    fault,
)
from wireproof_spec.nsq.error_codes import E_INVALID, E_SUB_ORDER_IS_MUST
from wireproof_spec.nsq.names import SUB_ORDER, SUB_ORDERED


def _stay_at_one(attempts: int, message: Message) -> int:
    return min(attempts, 1)


def _position(position: Callable[[Message], bytes]) -> Settings:
    return {"delivery.position": position}


def _moved(message: Message, *, offset: int = 0, size: int = 0) -> bytes:
    return packed.position(message.offset + offset, message.size + size)


def _size_first(message: Message) -> bytes:
    return pack(">IQ", message.size, message.offset)


def _none_behind_256(message: Message) -> bytes:
    return packed.position(message.offset, message.size) if len(message.body) < 256 else b""


def _of_the_body_when_headed(message: Message) -> bytes:
    return packed.position(
        message.offset, len(message.body) if message.number % 2 else message.size
    )


def _ruled(rule: Callable[[Wish], Refusal | None]) -> Settings:
    return {"subscribe.order_rule": rule}


def _anything_goes(wish: Wish) -> Refusal | None:
    return None


def _other_code(wish: Wish) -> Refusal | None:
    return Refusal(E_INVALID, "ordered topic") if order_rule(wish) else None


def _not_on_known_channels(wish: Wish) -> Refusal | None:
    return None if wish.known else order_rule(wish)


def _not_when_tagged(wish: Wish) -> Refusal | None:
    return None if wish.identity.desired_tag else order_rule(wish)


def _is_ordered(wish: Wish) -> bool:
    return wish.command in (SUB_ORDER, SUB_ORDERED)


def _no_second_client(wish: Wish) -> Refusal | None:
    if _is_ordered(wish) and wish.used:
        return Refusal(E_INVALID, "the channel has an ordered client")
    return order_rule(wish)


def _no_negotiation(wish: Wish) -> Refusal | None:
    if _is_ordered(wish) and wish.identity.feature_negotiation:
        return Refusal(E_SUB_ORDER_IS_MUST, "the client negotiates")
    return order_rule(wish)


def _no_tag(wish: Wish) -> Refusal | None:
    if _is_ordered(wish) and wish.identity.desired_tag:
        return Refusal(E_SUB_ORDER_IS_MUST, "no tags")
    return order_rule(wish)


def _ordered_in_a_response(command: bytes, code: str) -> Manner:
    return Manner.RESPONSE if command in (SUB_ORDER, SUB_ORDERED) else Manner.SAID


def _no_known_channel(wish: Wish) -> Refusal | None:
    if _is_ordered(wish) and wish.known and not wish.used:
        return Refusal(E_INVALID, "the channel was left")
    return order_rule(wish)


_ONE = "smart.order.one-in-flight"
_AGAIN = "smart.order.again"
_IN_ORDER = "smart.order.in-order"
_LAYOUT = "smart.order.layout"
_POSITION = "smart.order.position"
_INCREASING = "smart.order.increasing"
_MUST = "smart.order.is-must"
_COMMAND = "smart.order.command"
_HISTORY = "smart.history.order smart.history.kept"
_READ = f"{_POSITION} {_INCREASING} smart.order.ext-place smart.order.attempts"


FAULTS: tuple[Preset, ...] = (
    fault(
        "order-position-missing",
        "offset and size are not delivered",
        breaks=_LAYOUT,
        may_break=f"{_READ} {_HISTORY}",
        settings=_position(lambda message: b""),
        way=MISSING,
    ),
    fault(
        "order-position-little-endian",
        "offset and size are delivered in little-endian byte order",
        breaks=f"{_LAYOUT} {_POSITION}",
        may_break=_READ,
        settings=_position(lambda message: pack("<QI", message.offset, message.size)),
        way=WRONG_VALUE,
    ),
    fault(
        "order-size-first",
        "the size is delivered before the offset",
        breaks=f"{_LAYOUT} {_POSITION}",
        may_break=_READ,
        settings=_position(_size_first),
        way=WRONG_VALUE,
    ),
    fault(
        "order-size-of-8-bytes",
        "the size is delivered in 8 bytes",
        breaks=_LAYOUT,
        may_break=f"{_READ} {_HISTORY}",
        settings=_position(lambda message: pack(">QQ", message.offset, message.size)),
        way=EXTRA,
    ),
    fault(
        "order-position-missing-above-255",
        "bodies above 255 bytes are delivered without offset and size",
        breaks=_LAYOUT,
        may_break=f"{_READ} {_HISTORY}",
        settings=_position(_none_behind_256),
        way=BOUNDARY,
    ),
    fault(
        "order-offset-of-the-end",
        "the offset delivered is where the record ends",
        breaks=_POSITION,
        settings=_position(lambda message: _moved(message, offset=message.size)),
        way=BOUNDARY,
    ),
    fault(
        "order-size-without-length",
        "the size delivered leaves the record's 4 length bytes out",
        breaks=_POSITION,
        may_break=_LAYOUT,
        settings=_position(lambda message: _moved(message, size=-4)),
        way=WRONG_VALUE,
    ),
    fault(
        "order-size-of-the-body",
        "the size delivered of every other message is that of its body",
        breaks=_POSITION,
        may_break=_LAYOUT,
        settings=_position(_of_the_body_when_headed),
        way=CONDITION,
    ),
    fault(
        "order-offset-always-zero",
        "the offset delivered is always 0",
        breaks=f"{_INCREASING} {_POSITION}",
        settings=_position(lambda message: packed.position(0, message.size)),
        way=MISSING,
    ),
    fault(
        "order-offset-within-a-page",
        "the offset delivered begins anew every 1000 bytes",
        breaks=_INCREASING,
        may_break=_POSITION,
        settings=_position(lambda message: packed.position(message.offset % 1000, message.size)),
        way=BOUNDARY,
    ),
    fault(
        "order-attempts-stay",
        "attempts stay at 1 however often a message is pushed",
        breaks="smart.order.attempts",
        may_break="consume.attempts consume.plain-topic smart.history.kept smart.history.order",
        settings={"delivery.attempts": _stay_at_one},
        way=MISSING,
    ),
    fault(
        "order-not-a-must",
        "plain SUB is taken on an ordered topic",
        breaks=_MUST,
        may_break="smart.order.is-must-advanced",
        settings=_ruled(_anything_goes),
        way=MISSING,
    ),
    fault(
        "order-is-must-other-code",
        "plain SUB on an ordered topic is refused with E_INVALID",
        breaks=_MUST,
        may_break="smart.order.is-must-advanced",
        settings=_ruled(_other_code),
        way=WRONG_VALUE,
    ),
    fault(
        "order-not-a-must-on-known-channels",
        "plain SUB is taken on a channel of an ordered topic that exists already",
        breaks=_MUST,
        settings=_ruled(_not_on_known_channels),
        way=CONDITION,
    ),
    fault(
        "order-not-a-must-with-a-tag",
        "plain SUB with a desired tag is taken on an ordered topic",
        breaks=_MUST,
        settings=_ruled(_not_when_tagged),
        way=CONDITION,
    ),
    fault(
        "order-no-second-client",
        "a second ordered client of a channel is refused",
        breaks=_COMMAND,
        may_break=f"{_ONE} {_IN_ORDER} {_AGAIN} {_HISTORY}",
        settings=_ruled(_no_second_client),
        way=BOUNDARY,
    ),
    fault(
        "order-no-negotiation",
        "an ordered subscription is refused when features were negotiated",
        breaks=_COMMAND,
        settings=_ruled(_no_negotiation),
        way=CONDITION,
    ),
    fault(
        "order-tagged-answered-otherwise",
        "an ordered subscription with a desired tag is refused in a response frame",
        breaks=_COMMAND,
        settings={**_ruled(_no_tag), "output.manner": _ordered_in_a_response},
        way=WRONG_VALUE,
    ),
    fault(
        "order-no-known-channel",
        "an ordered subscription to a channel that was left is refused",
        breaks=_COMMAND,
        may_break=f"{_IN_ORDER} {_AGAIN} {_INCREASING} {_POSITION} {_HISTORY}",
        settings=_ruled(_no_known_channel),
        way=CONDITION,
    ),
)
