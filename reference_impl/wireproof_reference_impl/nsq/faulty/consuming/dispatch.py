"""Faults of dispatch by tag: which client gets a message, and what happens to held ones."""

from collections.abc import Callable, Sequence
from typing import cast
from weakref import WeakKeyDictionary

from wireproof_reference_impl.nsq.core import channel as channels
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.delivery.dispatch import (
    NOBODY,
    Audience,
    by_tag,
    first_ready,
    list_untagged,
)
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.late import LATE_NS, ServeTime
from wireproof_reference_impl.nsq.faulty.neighbours import NOTED, other_clients
from wireproof_reference_impl.nsq.preset import (
    CONDITION,
    EXTRA,
    LATE,
    READERS,
    WRONG_VALUE,
    Preset,
    boundary,
    condition,
    fault,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.overrides import Original, Override, around, replace_function

_MINUTE_NS = 60_000_000_000

Chosen = Sequence[Subscriber]
Choose = Callable[[Message, Channel], Chosen]


def choose_clients(choose: Choose) -> tuple[Override, ...]:
    """Return overrides that choose the clients for a message with another function."""

    def choose_client(channel: Channel, held: Held) -> Chosen:
        return choose(held.message, channel)

    return (replace_function(Channel, "choose", choose_client),)


class _MisdirectedMessage(Held):
    """A message that is sent to the wrong clients only once."""

    is_noted = False


def _choosing_late(choose: Choose) -> tuple[Override, ...]:
    """Return overrides under which other clients get messages too, 3 s late."""
    time = ServeTime()

    def choose_client(original: Original, channel: Channel, held: Held) -> Chosen:
        due = cast(Chosen, original(channel, held))
        if isinstance(held, _MisdirectedMessage) and not held.is_noted:
            wrong = [each for each in choose(held.message, channel) if each not in due]
            held.is_noted = bool(wrong)
            if wrong:
                channel.timers.at(
                    time.now_ns + LATE_NS,
                    lambda now_ns: _send_wrongly(channel, held, wrong, now_ns),
                )
        return due

    return (
        replace_function(channels, "Held", _MisdirectedMessage),
        time.note_time(),
        around(Channel, "choose", choose_client),
    )


def _send_wrongly(channel: Channel, held: Held, wrong: Chosen, now_ns: int) -> None:
    ready = [each for each in wrong if each in channel.subscribers and each.wants]
    if ready and channel.next_held is held:
        channel.send(held, ready, now_ns)
        return
    for subscriber in ready:
        subscriber.outlet.push(channel.data(held, subscriber))


def make_misdirecting(
    name: str, text: str, choose: Choose, *, way: str, breaks: str, may_break: str = ""
) -> Preset:
    """Return a fault that sends messages to wrong clients, with a twin that does so 3 s late."""
    return fault(
        name,
        text,
        way=way,
        breaks=breaks,
        may_break=may_break,
        overrides=(NOTED, *choose_clients(choose)),
        late_overrides=(NOTED, *_choosing_late(choose)),
    )


def list_tagged(audience: Audience, tag: str | None) -> list[Subscriber]:
    """Return the clients of a channel that desire a tag."""
    return [each for each in audience.subscribers if tag and each.desired_tag == tag]


def list_others(audience: Audience, tag: str | None) -> list[Subscriber]:
    """Return the clients of a channel that desire another tag."""
    return [each for each in audience.subscribers if each.desired_tag not in (None, tag)]


def _anybody(message: Message, audience: Audience) -> Chosen:
    return first_ready(audience.subscribers)


def _untagged_first(message: Message, audience: Audience) -> Chosen:
    return first_ready(list_untagged(audience)) or by_tag(message, audience)


def _every_third_to_anybody(message: Message, audience: Audience) -> Chosen:
    astray = message.internal_id % 3 == 0
    return (astray and first_ready(list_untagged(audience))) or by_tag(message, audience)


def _to_all(message: Message, audience: Audience) -> Chosen:
    if message.tag is None:
        return by_tag(message, audience)
    return tuple(each for each in audience.subscribers if each.wants)


def _full_client_passed_over(message: Message, audience: Audience) -> Chosen:
    """Deliver a tagged message to an untagged client while its client has one in flight."""
    matching = list_tagged(audience, message.tag)
    idle = [each for each in matching if not each.held]
    return (
        by_tag(message, audience) if not matching or idle else first_ready(list_untagged(audience))
    )


def _never_to_untagged(message: Message, audience: Audience) -> Chosen:
    return (
        first_ready(list_tagged(audience, message.tag))
        if message.tag
        else by_tag(message, audience)
    )


def _untagged_only_when_no_tags(message: Message, audience: Audience) -> Chosen:
    if message.tag is None or len(list_untagged(audience)) == len(audience.subscribers):
        return by_tag(message, audience)
    return first_ready(list_tagged(audience, message.tag))


def _fallback_to_other_tags(message: Message, audience: Audience) -> Chosen:
    if message.tag is None or list_tagged(audience, message.tag):
        return by_tag(message, audience)
    return first_ready(list_others(audience, message.tag)) or first_ready(list_untagged(audience))


def _fallback_to_anybody(message: Message, audience: Audience) -> Chosen:
    if message.tag is None or list_tagged(audience, message.tag):
        return by_tag(message, audience)
    return first_ready(list_untagged(audience)) or first_ready(audience.subscribers)


def _every_fifth_to_other_tag(message: Message, audience: Audience) -> Chosen:
    astray = message.tag is not None and message.internal_id % 5 == 0
    return (astray and first_ready(list_others(audience, message.tag))) or by_tag(
        message, audience
    )


def _keeping_tags() -> tuple[Override, ...]:
    """Return overrides under which a tag's messages keep waiting after its last client left."""
    former: WeakKeyDictionary[Channel, set[str | None]] = WeakKeyDictionary()

    def leave(original: Original, channel: Channel, subscriber: Subscriber, now_ns: int) -> None:
        if subscriber in channel.subscribers:
            former.setdefault(channel, set()).add(subscriber.desired_tag)
        original(channel, subscriber, now_ns)

    def choose(message: Message, channel: Channel) -> Chosen:
        if message.tag is not None and message.tag in former.get(channel, ()):
            return first_ready(list_tagged(channel, message.tag))
        return by_tag(message, channel)

    return (around(Channel, "leave", leave), *choose_clients(choose))


def _desired_next_door(message: Message, channel: Channel) -> list[Subscriber]:
    """Return the clients of other channels that desire the tag, if no client here does."""
    if message.tag is None or list_tagged(channel, message.tag):
        return []
    return [each for each in other_clients(channel) if each.desired_tag == message.tag]


def _neighbours_block(message: Message, channel: Channel) -> Chosen:
    return NOBODY if _desired_next_door(message, channel) else by_tag(message, channel)


def _neighbours_rob(message: Message, channel: Channel) -> Chosen:
    return first_ready(_desired_next_door(message, channel)) or by_tag(message, channel)


def _neighbours_decide(message: Message, channel: Channel) -> Chosen:
    """Deliver a message whose tag is desired on another channel to any tagged client."""
    tagged = list_others(channel, None) if _desired_next_door(message, channel) else []
    return first_ready(tagged) or by_tag(message, channel)


def _nothing_given_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return []


def _nothing_tagged_given_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return [each for each in held if each.message.tag is None]


def _last_one_given_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return held[-1:]


def _give_back_late(channel: Channel, held: Sequence[Held], now_ns: int) -> None:
    for each in held:
        channel.defer(each, now_ns + _MINUTE_NS)


_MATCHING = "dispatch.to-matching"
_FALLBACK = "dispatch.fallback"
_OTHER = "dispatch.never-other-tag"
_LEAVE = "dispatch.leave"
_CHANNEL = "dispatch.per-channel"
_UNTAGGED = "dispatch.untagged"

FAULTS: tuple[Preset, ...] = (
    make_misdirecting(
        "dispatch-by-turns",
        "messages go to the clients of a channel in turn, regardless of their tags",
        _anybody,
        way=WRONG_VALUE,
        breaks=f"{_MATCHING} {_OTHER} {_UNTAGGED}",
        may_break=(
            "dispatch.exact-tag dispatch.fallback dispatch.not-ready dispatch.per-channel "
            "dispatch.tag-form"
        ),
    ),
    make_misdirecting(
        "dispatch-untagged-first",
        "a tagged message goes to a client without a tag while one is ready",
        _untagged_first,
        way=WRONG_VALUE,
        breaks=_MATCHING,
        may_break="dispatch.leave dispatch.not-ready dispatch.per-channel",
    ),
    make_misdirecting(
        "dispatch-every-third-astray",
        "every third message of a tag goes to a client without a tag",
        _every_third_to_anybody,
        way=CONDITION,
        breaks=_MATCHING,
        may_break="dispatch.leave dispatch.not-ready dispatch.per-channel",
    ),
    make_misdirecting(
        "dispatch-to-all",
        "a tagged message goes to every client that is ready",
        _to_all,
        way=EXTRA,
        breaks=f"{_MATCHING} {_OTHER}",
        may_break=(
            "dispatch.exact-tag dispatch.fallback dispatch.not-ready dispatch.per-channel "
            "dispatch.tag-form"
        ),
    ),
    make_misdirecting(
        "dispatch-busy-passed-over",
        "a client with the message's tag gets no further message while it holds one",
        _full_client_passed_over,
        way=CONDITION,
        breaks=_MATCHING,
        may_break="dispatch.leave dispatch.not-ready dispatch.per-channel",
    ),
    missing(
        "fallback-never",
        "a tagged message is never delivered if no client desires its tag",
        breaks=f"{_FALLBACK} {_LEAVE}",
        may_break=READERS,
        overrides=choose_clients(_never_to_untagged),
    ),
    condition(
        "fallback-only-without-tags",
        "a tagged message goes to a client without a tag only if no client of the channel has a "
        "tag",
        breaks=_FALLBACK,
        may_break="dispatch.per-channel dispatch.to-matching",
        overrides=choose_clients(_untagged_only_when_no_tags),
    ),
    make_misdirecting(
        "fallback-to-other-tags",
        "a tagged message that no client desires goes to a client with another tag first",
        _fallback_to_other_tags,
        way=WRONG_VALUE,
        breaks=f"{_FALLBACK} {_OTHER}",
        may_break="dispatch.exact-tag dispatch.per-channel dispatch.tag-form",
    ),
    make_misdirecting(
        "fallback-to-anybody",
        "a tagged message goes to a client with another tag if no other client is ready",
        _fallback_to_anybody,
        way=CONDITION,
        breaks=_OTHER,
        may_break="dispatch.fallback",
    ),
    make_misdirecting(
        "other-tag-every-fifth",
        "every fifth tagged message goes to a client with another tag",
        _every_fifth_to_other_tag,
        way=CONDITION,
        breaks=_OTHER,
        may_break=(
            "dispatch.exact-tag dispatch.fallback dispatch.per-channel dispatch.to-matching"
        ),
    ),
    missing(
        "leave-loses-messages",
        "messages in flight to a client are lost when it disconnects",
        breaks=_LEAVE,
        may_break="upgrade.old-messages dispatch.to-matching",
        settings={"dispatch.given_back": _nothing_given_back},
    ),
    condition(
        "leave-loses-tagged-messages",
        "tagged messages in flight to a client are lost when it disconnects",
        breaks=_LEAVE,
        may_break="dispatch.to-matching",
        settings={"dispatch.given_back": _nothing_tagged_given_back},
    ),
    boundary(
        "leave-gives-one-back",
        "when a client disconnects, only one of its messages in flight is delivered to others",
        breaks=_LEAVE,
        may_break="upgrade.old-messages",
        settings={"dispatch.given_back": _last_one_given_back},
    ),
    fault(
        "leave-gives-back-late",
        "when a client disconnects, its messages in flight go to others only a minute later",
        way=LATE,
        breaks=_LEAVE,
        may_break="upgrade.old-messages dispatch.to-matching",
        overrides=(replace_function(Channel, "give_back", _give_back_late),),
    ),
    condition(
        "leave-keeps-the-tag",
        "after the last client with a tag has left, messages with the tag still wait for one",
        breaks=_LEAVE,
        overrides=_keeping_tags(),
    ),
    missing(
        "channel-blocked-by-another",
        "a tag desired on one channel withholds its messages from the other channels",
        breaks=_CHANNEL,
        may_break="consume.batch consume.body-intact consume.layout consume.no-header",
        overrides=(NOTED, *choose_clients(_neighbours_block)),
    ),
    wrong_value(
        "channel-robbed-by-another",
        "messages with a tag desired on one channel are taken away from the other channels",
        breaks=_CHANNEL,
        overrides=(NOTED, *choose_clients(_neighbours_rob)),
    ),
    make_misdirecting(
        "channel-tags-mixed",
        "messages with a tag desired on one channel go to clients with any tag on the other "
        "channels",
        _neighbours_decide,
        way=CONDITION,
        breaks=_CHANNEL,
    ),
)
