"""Faults of a consumer's subscriptions and its RDY."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import commands, consumer, ready
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.connection import NodeConnection, Refused
from wireproof_reference_impl.nsq.client.core.consumer import Consumer
from wireproof_reference_impl.nsq.client.core.ready import Counted
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
from wireproof_spec.nsq import error_codes


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


def _clamp(most: int) -> Override:
    def call(original: Original, count: int, features: dict[str, object]) -> int:
        return most if count > 1 else count

    return around(subscriptions, "clamp_ready", call)


@wrong_value("client-send.subscribe", _subscribe_line)
def sub_words_swapped(name: bytes, topic: bytes, channel: bytes, number: bytes) -> bytes:
    """SUB names the channel before the topic."""
    return b" ".join([name, channel, topic, number])


@wrong_value("client-send.subscribe", _subscribe_line)
def sub_ephemeral(name: bytes, topic: bytes, channel: bytes, number: bytes) -> bytes:
    """SUB makes the channel ephemeral."""
    return b" ".join([name, topic, channel + b"#ephemeral", number])


@extra("client.ready")
def rdy_with_sub() -> Change:
    """RDY is sent together with SUB."""
    return _rdy_with_sub(b"RDY 1\n", before=False)


@extra("client.ready")
def rdy_before_sub() -> Change:
    """RDY is sent before SUB."""
    return _rdy_with_sub(b"RDY 1\n", before=True)


@wrong_value("client-connection.first-ready", around(ready, "first_or_share"))
def first_rdy_share(_: Original, wants: Subscribing, which: Counted, share: int) -> object:
    """The first RDY is the whole share."""
    return share


@boundary("client-connection.first-ready", around(ready, "first_or_share"))
def first_rdy_two(original: Callable[..., int], *args: object) -> int:
    """The first RDY is 2."""
    return max(original(*args), 2)


@missing("client-send.ready", around(subscriptions, "clamp_ready"))
def max_rdy_ignored(_: Original, count: int, features: dict[str, object]) -> object:
    """RDY is whatever the user asks for."""
    return count


@boundary("client-send.ready")
def rdy_2501() -> Change:
    """RDY is 2501, one more than the node allows."""
    return _clamp(2501)


@wrong_value("client-send.ready")
def rdy_million() -> Change:
    """RDY is a million."""
    return _clamp(1_000_000)


@missing("client.subscribe-error", around(consumer, "close_refused"))
def refused_sub_kept(original: Original, subscription: Subscription) -> object:
    """A connection whose SUB was refused stays open."""
    return None


def _close_only(*codes: str) -> Override:
    def call(
        original: Original, self: Consumer, subscription: Subscription, event: Refused
    ) -> None:
        vars(subscription)["refusal"] = event.code
        original(self, subscription, event)

    return around(Consumer, "handle_refusal", call)


def _close_if(original: Original, subscription: Subscription) -> None:
    if vars(subscription).get("refusal") == error_codes.E_INVALID:
        original(subscription)


@condition("client.subscribe-error")
def refused_sub_closed_if_invalid() -> Change:
    """A connection whose SUB was refused is closed after E_INVALID only."""
    return (
        _close_only(),
        around(consumer, "close_refused", _close_if),
    )


@missing("client-connection.subscribe-told", around(consumer, "tell_refused"))
def refused_sub_untold(original: Original, self: Consumer, event: Refused) -> object:
    """The user is not told that SUB was refused."""
    return None


@condition("client-connection.subscribe-told", around(consumer, "tell_refused"))
def refused_sub_told_if_invalid(original: Original, self: Consumer, event: Refused) -> None:
    """The user is told that SUB was refused with E_INVALID, and of no other error."""
    if event.code == error_codes.E_INVALID:
        original(self, event)


@missing("client.error-refresh client-connection.error-lookup", around(Consumer, "handle_refusal"))
def refused_sub_no_lookup(
    original: Original, self: Consumer, subscription: Subscription, event: Refused
) -> None:
    """A consumer whose SUB was refused looks up no more."""
    self.lookups.stop()
    original(self, subscription, event)


@missing("client.error-refresh client-connection.error-lookup", around(Consumer, "handle_refusal"))
def refused_sub_final(
    original: Original, self: Consumer, subscription: Subscription, event: Refused
) -> None:
    """A consumer whose SUB was refused subscribes nowhere again."""
    original(self, subscription, event)
    self._when_ended = lambda: None  # it follows no lookup any more


@condition("client-connection.error-code", around(Consumer, "handle_refusal"))
def refused_sub_text_is_code(
    original: Original, self: Consumer, subscription: Subscription, event: Refused
) -> None:
    """A consumer takes all of an error's text for its code."""
    original(self, subscription, replace(event, code=event.text.strip()))


FAULTS = list_faults(__name__)
