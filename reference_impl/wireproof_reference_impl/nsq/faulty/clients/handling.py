"""Faults of a consumer with messages: what handlers are given, and what is acknowledged."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from functools import partial
from itertools import count

from msgspec.structs import replace

from wireproof_reference_impl.client_faults import die
from wireproof_reference_impl.faults import list_faults
from wireproof_reference_impl.nsq.client import driver
from wireproof_reference_impl.nsq.client.core import consumer
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.message import BadMessage, Message, read_message
from wireproof_reference_impl.nsq.client.core.settings import Subscribing
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around

_ID_END = 26
"""A message in order has offset and size after so many bytes."""


def _told(change: Callable[[dict[str, object]], dict[str, object]]) -> Override:
    def call(original: Callable[..., dict[str, object]], message: Message) -> object:
        return change(dict(original(message)))

    return around(driver, "_told", call)


def _read(change: Callable[[Message], Message]) -> Override:
    def call(original: Original, data: bytes, **named: object) -> object:
        message = original(data, **named)
        assert isinstance(message, Message)
        return change(message)

    return around(subscriptions, "read_message", call)


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


@condition("client.handler-outcomes", around(Consumer, "hand"))
def second_attempt_unseen(
    original: Original, self: Consumer, subscription: Subscription, message: Message
) -> None:
    """A message that comes again is finished unseen."""
    if message.attempts == 2 and not self.wants.ordered:
        self._finish(subscription, message)
    else:
        original(self, subscription, message)


@missing("client.asynchronous", around(Link, "received"))
def reads_nothing_while_busy(original: Original, self: Link, data: bytes) -> None:
    """Nothing is read while a handler works."""
    user = self._user
    if isinstance(user, Subscription) and user._in_flight:
        self._host.after(0.1, lambda: self.received(data))
        return
    original(self, data)


@condition("client.asynchronous", around(Link, "received"))
def no_heartbeat_while_busy(original: Original, self: Link, data: bytes) -> None:
    """Heartbeats are not answered while a handler works."""
    user = self._user
    if isinstance(user, Subscription) and user._in_flight and b"_heartbeat_" in data:
        return
    original(self, data)


@wrong_value("client.handler", _read)
def body_as_text(message: Message) -> Message:
    """The handler is given the body as UTF-8 text."""
    return replace(message, body=message.body.decode("utf-8", "replace").encode())


@boundary("client.handler", _read)
def body_cut(message: Message) -> Message:
    """The handler is given at most 255 bytes of the body."""
    return replace(message, body=message.body[:255])


@wrong_value("client-consume.ids-told", _told)
def ids_swapped(told: dict[str, object]) -> dict[str, object]:
    """The user is told internal id and trace id the wrong way round."""
    return {**told, "internal_id": told["trace_id"], "trace_id": told["internal_id"]}


@boundary("client-consume.ids-told", _told)
def trace_id_rounded(told: dict[str, object]) -> dict[str, object]:
    """The user is told a trace id that went through a floating-point number."""
    return {**told, "trace_id": str(int(float(str(told["trace_id"]))))}


@missing("ext.client-header.attempts", _given_up)
def high_attempts_unseen(wants: Subscribing, message: Message) -> bool:
    """A message with more than 4000 attempts is finished unseen."""
    return message.attempts > 4000


@boundary("ext.client-header.attempts", _given_up)
def negative_attempts_unseen(wants: Subscribing, message: Message) -> bool:
    """A message whose attempts are negative as a signed number is finished unseen."""
    return message.attempts >= 0x8000


@wrong_value("client.order-no-skip", _given_up)
def skips_after_attempts(wants: Subscribing, message: Message) -> bool:
    """A message in order is finished unseen after 15 attempts."""
    return wants.ordered and message.attempts > 15


@boundary("client.order-no-skip", _given_up)
def skips_after_hundred(wants: Subscribing, message: Message) -> bool:
    """A message in order is finished unseen after 100 attempts."""
    return wants.ordered and message.attempts > 100


@missing("client-order.one", around(Consumer, "hand"))
def in_pairs(
    original: Original, self: Consumer, subscription: Subscription, message: Message
) -> None:
    """A consumer in order waits for a second message before the first is handed."""
    if not self.wants.ordered:
        original(self, subscription, message)
        return
    held: list[Message] = vars(subscription).setdefault("held", [])
    held.append(message)
    if len(held) > 1:
        for each in held:
            original(self, subscription, each)
        held.clear()


@condition("client-order.one", around(Subscription, "finish"))
def second_unfinished(original: Original, self: Subscription, id: bytes) -> None:
    """A consumer in order does not finish the second message."""
    numbers = vars(self).setdefault("numbers", count(1))
    if self.wants.ordered and next(numbers) == 2:
        self._release(id)
    else:
        original(self, id)


@extra("ext.client-header.no-loop", _bad)
def resets_at_bad_message(self: Subscription, error: BadMessage) -> None:
    """A message that cannot be read ends the connection."""
    self._link.reset("a message cannot be read")


@condition("ext.client-header.no-loop", _bad)
def resets_at_bad_header(self: Subscription, error: BadMessage) -> None:
    """A header that is no JSON ends the connection."""
    if "JSON" in str(error):
        self._link.reset("a message cannot be read")
    else:
        self._consumer.give_back(self, error.id, attempts=1)


@extra("ext.client-header.broken", partial(_bad, ordered=False))
def dies_at_bad_header(self: Subscription, error: BadMessage) -> None:
    """The process dies at a header that cannot be read."""
    die()


@condition("ext.client-header.broken", partial(_bad, ordered=False))
def dies_at_header_without_json(self: Subscription, error: BadMessage) -> None:
    """The process dies at a header that is no JSON."""
    if "JSON" in str(error):
        die()
    self._consumer.give_back(self, error.id, attempts=1)


@extra("client-robust.prefix", partial(_bad, ordered=True))
def dies_at_short_place(self: Subscription, error: BadMessage) -> None:
    """The process dies at a message in order that has no room for offset and size."""
    die()


@boundary("client-robust.prefix", around(Subscription, "_take_message"))
def dies_at_missing_place(original: Original, self: Subscription, data: bytes) -> None:
    """The process dies at a message in order that ends with its id."""
    if self.wants.ordered and len(data) == _ID_END:
        die()
    original(self, data)


FAULTS = list_faults(__name__)
