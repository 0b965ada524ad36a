"""Faults of dispatch by tag: which client gets a message, and what happens to held ones."""

from collections.abc import Callable, Sequence
from weakref import WeakKeyDictionary

from wireproof_reference_impl.faults import Change, list_faults, setting
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
from wireproof_reference_impl.nsq.faulty.ways import (
    boundary,
    condition,
    extra,
    late,
    missing,
    wrong_value,
)
from wireproof_reference_impl.nsq.wire.message import Message
from wireproof_reference_impl.overrides import Original, Override, around, replace_function
from wireproof_reference_impl.preset import Effect

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
        due: Chosen = original(channel, held)
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


def misdirecting(choose: Choose) -> Effect:
    """Return an effect that sends messages to wrong clients; its late twin does so 3 s late."""
    late = Effect(overrides=(NOTED, *_choosing_late(choose)))
    return Effect(overrides=(NOTED, *choose_clients(choose)), late=late)


def list_tagged(audience: Audience, tag: str | None) -> list[Subscriber]:
    """Return the clients of a channel that desire a tag."""
    return [
        subscriber for subscriber in audience.subscribers if tag and subscriber.desired_tag == tag
    ]


def list_others(audience: Audience, tag: str | None) -> list[Subscriber]:
    """Return the clients of a channel that desire another tag."""
    return [
        subscriber
        for subscriber in audience.subscribers
        if subscriber.desired_tag not in (None, tag)
    ]


def _desired_next_door(message: Message, channel: Channel) -> list[Subscriber]:
    """Return the clients of other channels that desire the tag, if no client here does."""
    if message.tag is None or list_tagged(channel, message.tag):
        return []
    return [client for client in other_clients(channel) if client.desired_tag == message.tag]


@wrong_value("dispatch.to-matching dispatch.never-other-tag dispatch.untagged", misdirecting)
def dispatch_by_turns(message: Message, audience: Audience) -> Chosen:
    """Messages go to the clients of a channel in turn, regardless of their tags."""
    return first_ready(audience.subscribers)


@wrong_value("dispatch.to-matching", misdirecting)
def dispatch_untagged_first(message: Message, audience: Audience) -> Chosen:
    """A tagged message goes to a client without a tag while one is ready."""
    return first_ready(list_untagged(audience)) or by_tag(message, audience)


@condition("dispatch.to-matching", misdirecting)
def dispatch_every_third_astray(message: Message, audience: Audience) -> Chosen:
    """Every third message of a tag goes to a client without a tag."""
    astray = message.internal_id % 3 == 0
    return (astray and first_ready(list_untagged(audience))) or by_tag(message, audience)


@extra("dispatch.to-matching dispatch.never-other-tag", misdirecting)
def dispatch_to_all(message: Message, audience: Audience) -> Chosen:
    """A tagged message goes to every client that is ready."""
    if message.tag is None:
        return by_tag(message, audience)
    return tuple(subscriber for subscriber in audience.subscribers if subscriber.wants)


@condition("dispatch.to-matching", misdirecting)
def dispatch_busy_passed_over(message: Message, audience: Audience) -> Chosen:
    """A client with the message's tag gets no further message while it holds one."""
    matching = list_tagged(audience, message.tag)
    idle = [each for each in matching if not each.held]
    return (
        by_tag(message, audience) if not matching or idle else first_ready(list_untagged(audience))
    )


@missing("dispatch.fallback dispatch.leave", choose_clients)
def fallback_never(message: Message, audience: Audience) -> Chosen:
    """A tagged message is never delivered if no client desires its tag."""
    return (
        first_ready(list_tagged(audience, message.tag))
        if message.tag
        else by_tag(message, audience)
    )


@condition("dispatch.fallback", choose_clients)
def fallback_only_without_tags(message: Message, audience: Audience) -> Chosen:
    """A tagged message goes to a client without a tag only if no client of the channel has a
    tag.
    """
    if message.tag is None or len(list_untagged(audience)) == len(audience.subscribers):
        return by_tag(message, audience)
    return first_ready(list_tagged(audience, message.tag))


@wrong_value("dispatch.fallback dispatch.never-other-tag", misdirecting)
def fallback_to_other_tags(message: Message, audience: Audience) -> Chosen:
    """A tagged message that no client desires goes to a client with another tag first."""
    if message.tag is None or list_tagged(audience, message.tag):
        return by_tag(message, audience)
    return first_ready(list_others(audience, message.tag)) or first_ready(list_untagged(audience))


@condition("dispatch.other-tag-alone", misdirecting)
def fallback_to_anybody(message: Message, audience: Audience) -> Chosen:
    """A tagged message goes to a client with another tag if no other client is ready."""
    if message.tag is None or list_tagged(audience, message.tag):
        return by_tag(message, audience)
    return first_ready(list_untagged(audience)) or first_ready(audience.subscribers)


@condition("dispatch.never-other-tag", misdirecting)
def other_tag_every_fifth(message: Message, audience: Audience) -> Chosen:
    """Every fifth tagged message goes to a client with another tag."""
    astray = message.tag is not None and message.internal_id % 5 == 0
    return (astray and first_ready(list_others(audience, message.tag))) or by_tag(
        message, audience
    )


@missing("dispatch.leave", setting("dispatch.given_back"))
def leave_loses_messages(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """Messages in flight to a client are lost when it disconnects."""
    return []


@condition("dispatch.leave", setting("dispatch.given_back"))
def leave_loses_tagged_messages(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """Tagged messages in flight to a client are lost when it disconnects."""
    return [each for each in held if each.message.tag is None]


@boundary("dispatch.leave", setting("dispatch.given_back"))
def leave_gives_one_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """When a client disconnects, only one of its messages in flight is delivered to others."""
    return held[-1:]


@late("dispatch.leave", replace_function(Channel, "give_back"))
def leave_gives_back_late(channel: Channel, held: Sequence[Held], now_ns: int) -> None:
    """When a client disconnects, its messages in flight go to others only a minute later."""
    for each in held:
        channel.defer(each, now_ns + _MINUTE_NS)


@condition("dispatch.leave")
def leave_keeps_the_tag() -> Change:
    """After the last client with a tag has left, messages with the tag still wait for one."""
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


@missing("dispatch.per-channel", choose_clients, also=(NOTED,))
def channel_blocked_by_another(message: Message, channel: Channel) -> Chosen:
    """A tag desired on one channel withholds its messages from the other channels."""
    return NOBODY if _desired_next_door(message, channel) else by_tag(message, channel)


@wrong_value("dispatch.per-channel", choose_clients, also=(NOTED,))
def channel_robbed_by_another(message: Message, channel: Channel) -> Chosen:
    """Messages with a tag desired on one channel are taken away from the other channels."""
    return first_ready(_desired_next_door(message, channel)) or by_tag(message, channel)


@condition("dispatch.per-channel", misdirecting)
def channel_tags_mixed(message: Message, channel: Channel) -> Chosen:
    """Messages with a tag desired on one channel go to clients with any tag on the other
    channels.
    """
    tagged = list_others(channel, None) if _desired_next_door(message, channel) else []
    return first_ready(tagged) or by_tag(message, channel)


FAULTS = list_faults(__name__)
