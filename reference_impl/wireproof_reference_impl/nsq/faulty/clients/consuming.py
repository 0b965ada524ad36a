"""Faults of a consumer's subscriptions and its RDY."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.nsq.client.core import commands, consumer, ready
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.connection import NodeConnection, Refused
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override

_MOVES = "client.error-refresh client-connection.error-lookup"


def _subscribe_line(change: Callable[[bytes, bytes, bytes, bytes], bytes]) -> Override:
    """Change the words of SUB on topics without order and with partitions."""

    def call(original: Original, *args: object, **named: object) -> object:
        line = original(*args, **named)
        assert isinstance(line, bytes)
        words = line.rstrip(b"\n").split(b" ")
        return change(*words) + b"\n" if len(words) == 4 and words[0] == b"SUB" else line

    return around(commands, "subscribe", call)


def _rdy_with_sub(data: bytes, *, before: bool) -> Override:
    def call(original: Original, self: NodeConnection, *args: object, **named: object) -> object:
        line = original(self, *args, **named)
        assert isinstance(line, bytes)
        return data + line if before else line + data

    return around(NodeConnection, "subscribe", call)


def _close_only(*codes: str) -> Override:
    def call(
        original: Original, self: Consumer, subscription: Subscription, event: Refused
    ) -> None:
        vars(subscription)["refusal"] = event.code
        original(self, subscription, event)

    return around(Consumer, "handle_refusal", call)


def _close_if(original: Original, subscription: Subscription) -> None:
    if vars(subscription).get("refusal") == "E_INVALID":
        original(subscription)


def _tell_invalid(original: Original, self: Consumer, event: Refused) -> None:
    if event.code == "E_INVALID":
        original(self, event)


def _stop_looking(
    original: Original, self: Consumer, subscription: Subscription, event: Refused
) -> None:
    self.lookups.stop()
    original(self, subscription, event)


def _stay_refused(
    original: Original, self: Consumer, subscription: Subscription, event: Refused
) -> None:
    original(self, subscription, event)
    self._when_ended = lambda: None  # it follows no lookup any more


def _code_is_all(
    original: Original, self: Consumer, subscription: Subscription, event: Refused
) -> None:
    original(self, subscription, replace(event, code=event.text.strip()))


def _clamp(most: int) -> Override:
    def call(original: Original, count: int, features: dict[str, object]) -> int:
        return most if count > 1 else count

    return around(subscriptions, "clamp_ready", call)


FAULTS = (
    wrong_value(
        "sub-words-swapped",
        "SUB names the channel before the topic.",
        "client-send.subscribe",
        _subscribe_line(
            lambda name, topic, channel, number: b" ".join([name, channel, topic, number])
        ),
    ),
    wrong_value(
        "sub-ephemeral",
        "SUB makes the channel ephemeral.",
        "client-send.subscribe",
        _subscribe_line(
            lambda name, topic, channel, number: b" ".join(
                [name, topic, channel + b"#ephemeral", number]
            )
        ),
    ),
    extra(
        "rdy-with-sub",
        "RDY is sent together with SUB.",
        "client.ready",
        _rdy_with_sub(b"RDY 1\n", before=False),
    ),
    extra(
        "rdy-before-sub",
        "RDY is sent before SUB.",
        "client.ready",
        _rdy_with_sub(b"RDY 1\n", before=True),
        may="client.handshake client.order-handshake",
    ),
    wrong_value(
        "first-rdy-share",
        "The first RDY is the whole share.",
        "client-connection.first-ready",
        around(ready, "first_or_share", lambda _, wants, which, share: share),
        may="client.order-rdy",
    ),
    boundary(
        "first-rdy-two",
        "The first RDY is 2.",
        "client-connection.first-ready",
        around(ready, "first_or_share", lambda original, *args: max(original(*args), 2)),
        may="client.order-rdy client.configuration",
    ),
    missing(
        "max-rdy-ignored",
        "RDY is whatever the user asks for.",
        "client-send.ready",
        around(subscriptions, "clamp_ready", lambda _, count, features: count),
    ),
    boundary(
        "rdy-2501",
        "RDY is 2501, one more than the node allows.",
        "client-send.ready",
        _clamp(2501),
    ),
    wrong_value(
        "rdy-million",
        "RDY is a million.",
        "client-send.ready",
        _clamp(1_000_000),
    ),
    missing(
        "refused-sub-kept",
        "A connection whose SUB was refused stays open.",
        "client.subscribe-error",
        around(consumer, "close_refused", lambda original, subscription: None),
        may="client-connection.subscribe-told client.end",
    ),
    condition(
        "refused-sub-closed-if-invalid",
        "A connection whose SUB was refused is closed after E_INVALID only.",
        "client.subscribe-error",
        _close_only(),
        around(consumer, "close_refused", _close_if),
        may="client-connection.subscribe-told client.end",
    ),
    missing(
        "refused-sub-untold",
        "The user is not told that SUB was refused.",
        "client-connection.subscribe-told",
        around(consumer, "tell_refused", lambda original, self, event: None),
    ),
    condition(
        "refused-sub-told-if-invalid",
        "The user is told that SUB was refused with E_INVALID, and of no other error.",
        "client-connection.subscribe-told",
        around(consumer, "tell_refused", _tell_invalid),
    ),
    missing(
        "refused-sub-no-lookup",
        "A consumer whose SUB was refused looks up no more.",
        _MOVES,
        around(Consumer, "handle_refusal", _stop_looking),
    ),
    missing(
        "refused-sub-final",
        "A consumer whose SUB was refused subscribes nowhere again.",
        _MOVES,
        around(Consumer, "handle_refusal", _stay_refused),
    ),
    condition(
        "refused-sub-text-is-code",
        "A consumer takes all of an error's text for its code.",
        "client-connection.error-code",
        around(Consumer, "handle_refusal", _code_is_all),
    ),
)
