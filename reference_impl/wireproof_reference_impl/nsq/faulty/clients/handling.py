"""Faults of a consumer with messages: what handlers are given, and what is acknowledged."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from wireproof_reference_impl.nsq.client import driver
from wireproof_reference_impl.nsq.client.core import consumer
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.message import BadMessage, Message, read_message
from wireproof_reference_impl.nsq.client.core.settings import Subscribing
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    die,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override

_ID_END = 26
"""A message in order has offset and size after so many bytes."""


def _second_unfinished(original: Original, self: Subscription, id: bytes) -> None:
    numbers = vars(self).setdefault("numbers", count(1))
    if self.wants.ordered and next(numbers) == 2:
        self._release(id)
    else:
        original(self, id)


def _hand_in_pairs(
    original: Original, self: Consumer, subscription: Subscription, message: Message
) -> None:
    """Wait for a second message in order before the first is handed."""
    if not self.wants.ordered:
        original(self, subscription, message)
        return
    held: list[Message] = vars(subscription).setdefault("held", [])
    held.append(message)
    if len(held) > 1:
        for each in held:
            original(self, subscription, each)
        held.clear()


def _first_attempt_only(
    original: Original, self: Consumer, subscription: Subscription, message: Message
) -> None:
    if message.attempts == 2 and not self.wants.ordered:
        self._finish(subscription, message)
    else:
        original(self, subscription, message)


def _busy(original: Original, self: Link, data: bytes) -> None:
    """Read nothing while a handler works."""
    user = self._user
    if isinstance(user, Subscription) and user._in_flight:
        self._host.after(0.1, lambda: self.received(data))
        return
    original(self, data)


def _beat_later(original: Original, self: Link, data: bytes) -> None:
    user = self._user
    if isinstance(user, Subscription) and user._in_flight and b"_heartbeat_" in data:
        return
    original(self, data)


def _told(change: Callable[[dict[str, object]], dict[str, object]]) -> Override:
    def call(original: Original, message: Message) -> object:
        told = original(message)
        assert isinstance(told, dict)
        return change(dict(told))

    return around(driver, "_told", call)


def _swap(told: dict[str, object]) -> dict[str, object]:
    return {**told, "internal_id": told["trace_id"], "trace_id": told["internal_id"]}


def _round(told: dict[str, object]) -> dict[str, object]:
    return {**told, "trace_id": str(int(float(str(told["trace_id"]))))}


def _read(change: Callable[[Message], Message]) -> Override:
    def call(original: Original, data: bytes, **named: object) -> object:
        message = original(data, **named)
        assert isinstance(message, Message)
        return change(message)

    return around(subscriptions, "read_message", call)


def _as_text(message: Message) -> Message:
    return replace(message, body=message.body.decode("utf-8", "replace").encode())


def _cut(message: Message) -> Message:
    return replace(message, body=message.body[:255])


def _given_up(test: Callable[[Subscribing, Message], bool]) -> Override:
    def call(original: Original, wants: Subscribing, message: Message) -> bool:
        return test(wants, message)

    return around(consumer, "is_given_up", call)


def _bad(
    what: Callable[[Subscription, BadMessage], None], *, ordered: bool | None = None
) -> Override:
    """Do this at a message that cannot be read."""

    def call(original: Original, self: Subscription, data: bytes) -> None:
        extend, wants = self._extend, self.wants
        try:
            read_message(data, extend=extend, ordered=wants.ordered)
        except BadMessage as error:
            if ordered is None or wants.ordered is ordered:
                what(self, error)
                return
        original(self, data)

    return around(Subscription, "_take_message", call)


def _reset(self: Subscription, error: BadMessage) -> None:
    self._link.reset("a message cannot be read")


def _reset_not_json(self: Subscription, error: BadMessage) -> None:
    if "JSON" in str(error):
        self._link.reset("a message cannot be read")
    else:
        self._consumer.give_back(self, error.id, attempts=1)


def _die_not_json(self: Subscription, error: BadMessage) -> None:
    if "JSON" in str(error):
        die()
    self._consumer.give_back(self, error.id, attempts=1)


def _die_at_id(original: Original, self: Subscription, data: bytes) -> None:
    if self.wants.ordered and len(data) == _ID_END:
        die()
    original(self, data)


FAULTS = (
    condition(
        "second-attempt-unseen",
        "A message that comes again is finished unseen.",
        "client.handler-outcomes",
        around(Consumer, "hand", _first_attempt_only),
    ),
    missing(
        "reads-nothing-while-busy",
        "Nothing is read while a handler works.",
        "client.asynchronous",
        around(Link, "received", _busy),
        may="client.heartbeat client.heartbeat-nop",
    ),
    condition(
        "no-heartbeat-while-busy",
        "Heartbeats are not answered while a handler works.",
        "client.asynchronous",
        around(Link, "received", _beat_later),
    ),
    wrong_value(
        "body-as-text",
        "The handler is given the body as UTF-8 text.",
        "client.handler",
        _read(_as_text),
    ),
    boundary(
        "body-cut",
        "The handler is given at most 255 bytes of the body.",
        "client.handler",
        _read(_cut),
    ),
    wrong_value(
        "ids-swapped",
        "The user is told internal id and trace id the wrong way round.",
        "client-consume.ids-told",
        _told(_swap),
    ),
    boundary(
        "trace-id-rounded",
        "The user is told a trace id that went through a floating-point number.",
        "client-consume.ids-told",
        _told(_round),
    ),
    missing(
        "high-attempts-unseen",
        "A message with more than 4000 attempts is finished unseen.",
        "ext.client-header.attempts",
        _given_up(lambda wants, message: message.attempts > 4000),
    ),
    boundary(
        "negative-attempts-unseen",
        "A message whose attempts are negative as a signed number is finished unseen.",
        "ext.client-header.attempts",
        _given_up(lambda wants, message: message.attempts >= 0x8000),
    ),
    wrong_value(
        "skips-after-attempts",
        "A message in order is finished unseen after 15 attempts.",
        "client.order-no-skip",
        _given_up(lambda wants, message: wants.ordered and message.attempts > 15),
        may="client.order-log",
    ),
    boundary(
        "skips-after-hundred",
        "A message in order is finished unseen after 100 attempts.",
        "client.order-no-skip",
        _given_up(lambda wants, message: wants.ordered and message.attempts > 100),
        may="client.order-log",
    ),
    missing(
        "in-pairs",
        "A consumer in order waits for a second message before the first is handed.",
        "client-order.one",
        around(Consumer, "hand", _hand_in_pairs),
        may="client-order.place client.order-rdy client.order-validate client.order-log "
        "client.order-no-skip",
    ),
    condition(
        "second-unfinished",
        "A consumer in order does not finish the second message.",
        "client-order.one",
        around(Subscription, "finish", _second_unfinished),
        may="client.order-validate",
    ),
    extra(
        "resets-at-bad-message",
        "A message that cannot be read ends the connection.",
        "ext.client-header.no-loop",
        _bad(_reset),
        may="client-robust.prefix ext.client-header.broken client-robust.frame "
        "client-robust.recovery",
    ),
    condition(
        "resets-at-bad-header",
        "A header that is no JSON ends the connection.",
        "ext.client-header.no-loop",
        _bad(_reset_not_json),
    ),
    extra(
        "dies-at-bad-header",
        "The process dies at a header that cannot be read.",
        "ext.client-header.broken",
        _bad(lambda self, error: die(), ordered=False),
        may="client-robust.frame client-robust.recovery ext.client-header.no-loop",
    ),
    condition(
        "dies-at-header-without-json",
        "The process dies at a header that is no JSON.",
        "ext.client-header.broken",
        _bad(_die_not_json, ordered=False),
        may="ext.client-header.no-loop",
    ),
    extra(
        "dies-at-short-place",
        "The process dies at a message in order that has no room for offset and size.",
        "client-robust.prefix",
        _bad(lambda self, error: die(), ordered=True),
    ),
    boundary(
        "dies-at-missing-place",
        "The process dies at a message in order that ends with its id.",
        "client-robust.prefix",
        around(Subscription, "_take_message", _die_at_id),
    ),
)
