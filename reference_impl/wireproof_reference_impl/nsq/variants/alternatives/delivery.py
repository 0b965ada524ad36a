"""Alternatives of delivery: which of several messages or clients comes first."""

from collections.abc import Sequence

from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.overrides import Original, around
from wireproof_reference_impl.preset import Preset, alternative


def _returned_last(original: Original, channel: Channel) -> object:
    if not channel.ordered and channel.backlog.list_upcoming():
        return None
    return original(channel)


def _sticky(
    original: Original, channel: Channel, held: Held, chosen: Sequence[Subscriber], now_ns: int
) -> None:
    before = list(channel.subscribers)
    original(channel, held, chosen, now_ns)
    left = [each for each in before if each in channel.subscribers]
    channel.subscribers.clear()
    channel.subscribers.extend(left)


def _newest_first(original: Original, channel: Channel, subscriber: Subscriber) -> None:
    original(channel, subscriber)
    channel.subscribers.rotate(1)


ALTERNATIVES: tuple[Preset, ...] = (
    alternative(
        "returned-last",
        "an unordered channel sends new messages before those that came back",
        overrides=(around(Channel, "take_returned", _returned_last),),
    ),
    alternative(
        "one-client-preferred",
        "messages go to the client that came first as long as it is ready",
        overrides=(around(Channel, "send", _sticky),),
    ),
    alternative(
        "newest-client-first",
        "a client that has just come is served before the others",
        overrides=(around(Channel, "join", _newest_first),),
    ),
)
