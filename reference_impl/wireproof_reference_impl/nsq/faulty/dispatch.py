"""Faults of dispatch by tag: who gets a message, and what becomes of what a client held."""

from collections.abc import Callable, Sequence

from wireproof_reference_impl.nsq.behaviour import Settings
from wireproof_reference_impl.nsq.core.dispatch import (
    NOBODY,
    Audience,
    by_tag,
    first_ready,
    untagged,
)
from wireproof_reference_impl.nsq.core.in_flight import Held
from wireproof_reference_impl.nsq.core.message import Message
from wireproof_reference_impl.nsq.core.subscriber import Subscriber
from wireproof_reference_impl.nsq.preset import (
    BOUNDARY,
    CONDITION,
    EXTRA,
    LATE,
    MISSING,
    READERS,
    WRONG_VALUE,
    Preset,
    fault,
)

_MINUTE_NS = 60_000_000_000

Chosen = Sequence[Subscriber]
Match = Callable[[str, str], bool]


def _choosing(choose: Callable[[Message, Audience], Chosen]) -> Settings:
    return {"dispatch.choose": choose}


def _tagged(audience: Audience, tag: str | None) -> list[Subscriber]:
    return [each for each in audience.subscribers if tag and each.desired_tag == tag]


def _others(audience: Audience, tag: str | None) -> list[Subscriber]:
    return [each for each in audience.subscribers if each.desired_tag not in (None, tag)]


def _anybody(message: Message, audience: Audience) -> Chosen:
    return first_ready(audience.subscribers)


def _untagged_first(message: Message, audience: Audience) -> Chosen:
    return first_ready(untagged(audience)) or by_tag(message, audience)


def _every_third_to_anybody(message: Message, audience: Audience) -> Chosen:
    astray = message.internal_id % 3 == 0
    return (astray and first_ready(untagged(audience))) or by_tag(message, audience)


def _to_all(message: Message, audience: Audience) -> Chosen:
    if message.tag is None:
        return by_tag(message, audience)
    return tuple(each for each in audience.subscribers if each.wants)


def _full_client_passed_over(message: Message, audience: Audience) -> Chosen:
    """Give a tagged message to the untagged while its client holds another one."""
    matching = _tagged(audience, message.tag)
    idle = [each for each in matching if not each.held]
    return by_tag(message, audience) if not matching or idle else first_ready(untagged(audience))


def _never_to_untagged(message: Message, audience: Audience) -> Chosen:
    return (
        first_ready(_tagged(audience, message.tag)) if message.tag else by_tag(message, audience)
    )


def _untagged_only_when_no_tags(message: Message, audience: Audience) -> Chosen:
    if message.tag is None or len(untagged(audience)) == len(audience.subscribers):
        return by_tag(message, audience)
    return first_ready(_tagged(audience, message.tag))


def _fallback_to_other_tags(message: Message, audience: Audience) -> Chosen:
    if message.tag is None or _tagged(audience, message.tag):
        return by_tag(message, audience)
    return first_ready(_others(audience, message.tag)) or first_ready(untagged(audience))


def _fallback_to_anybody(message: Message, audience: Audience) -> Chosen:
    if message.tag is None or _tagged(audience, message.tag):
        return by_tag(message, audience)
    return first_ready(untagged(audience)) or first_ready(audience.subscribers)


def _every_fifth_to_other_tag(message: Message, audience: Audience) -> Chosen:
    astray = message.tag is not None and message.internal_id % 5 == 0
    return (astray and first_ready(_others(audience, message.tag))) or by_tag(message, audience)


def _tag_kept_when_left(message: Message, audience: Audience) -> Chosen:
    if message.tag in audience.former_tags:
        return first_ready(_tagged(audience, message.tag))
    return by_tag(message, audience)


def _desired_next_door(message: Message, audience: Audience) -> list[Subscriber]:
    """Return the clients of other channels that desire the tag, if nobody here does."""
    if message.tag is None or _tagged(audience, message.tag):
        return []
    return [each for each in audience.neighbours if each.desired_tag == message.tag]


def _neighbours_block(message: Message, audience: Audience) -> Chosen:
    return NOBODY if _desired_next_door(message, audience) else by_tag(message, audience)


def _neighbours_rob(message: Message, audience: Audience) -> Chosen:
    return first_ready(_desired_next_door(message, audience)) or by_tag(message, audience)


def _neighbours_decide(message: Message, audience: Audience) -> Chosen:
    """Give a message whose tag another channel knows to any tagged client of this one."""
    tagged = _others(audience, None) if _desired_next_door(message, audience) else []
    return first_ready(tagged) or by_tag(message, audience)


def _untagged_to_tagged_first(message: Message, audience: Audience) -> Chosen:
    if message.tag is not None:
        return by_tag(message, audience)
    return first_ready(_others(audience, None)) or by_tag(message, audience)


def _untagged_shared_with_tagged(message: Message, audience: Audience) -> Chosen:
    return first_ready(audience.subscribers) if message.tag is None else by_tag(message, audience)


def _matched(match: Match) -> Settings:
    """Return settings under which tags are compared so."""

    def choose(message: Message, audience: Audience) -> Chosen:
        matching = [
            each
            for each in audience.subscribers
            if message.tag is not None
            and each.desired_tag is not None
            and match(message.tag, each.desired_tag)
        ]
        return first_ready(matching or untagged(audience))

    return _choosing(choose)


def _nothing_given_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return []


def _nothing_tagged_given_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return [each for each in held if each.message.tag is None]


def _last_one_given_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return held[-1:]


_MATCHING = "dispatch.to-matching"
_FALLBACK = "dispatch.fallback"
_OTHER = "dispatch.never-other-tag"
_LEAVE = "dispatch.leave"
_CHANNEL = "dispatch.per-channel"
_EXACT = "dispatch.exact-tag"
_UNTAGGED = "dispatch.untagged"

FAULTS: tuple[Preset, ...] = (
    fault(
        "dispatch-by-turns",
        "messages go to the clients of a channel in turn, whatever their tags",
        way=WRONG_VALUE,
        delivers_wrongly=True,
        breaks=f"{_MATCHING} {_OTHER} {_UNTAGGED}",
        may_break=(
            "dispatch.exact-tag dispatch.fallback dispatch.not-ready dispatch.per-channel "
            "dispatch.tag-form"
        ),
        settings=_choosing(_anybody),
    ),
    fault(
        "dispatch-untagged-first",
        "a tagged message goes to an untagged client while one is ready",
        way=WRONG_VALUE,
        delivers_wrongly=True,
        breaks=_MATCHING,
        may_break="dispatch.not-ready dispatch.per-channel",
        settings=_choosing(_untagged_first),
    ),
    fault(
        "dispatch-every-third-astray",
        "every third message of a tag goes to an untagged client",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_MATCHING,
        may_break="dispatch.not-ready dispatch.per-channel",
        settings=_choosing(_every_third_to_anybody),
    ),
    fault(
        "dispatch-to-all",
        "a tagged message goes to every client that is ready",
        way=EXTRA,
        delivers_wrongly=True,
        breaks=f"{_MATCHING} {_OTHER}",
        may_break=(
            "dispatch.exact-tag dispatch.fallback dispatch.not-ready dispatch.per-channel "
            "dispatch.tag-form"
        ),
        settings=_choosing(_to_all),
    ),
    fault(
        "dispatch-busy-passed-over",
        "a client with the tag that holds one message is passed over",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_MATCHING,
        may_break="dispatch.not-ready dispatch.per-channel",
        settings=_choosing(_full_client_passed_over),
    ),
    fault(
        "fallback-never",
        "a tagged message that nobody desires waits for ever",
        way=MISSING,
        breaks=f"{_FALLBACK} {_LEAVE}",
        may_break=READERS,
        settings=_choosing(_never_to_untagged),
    ),
    fault(
        "fallback-only-without-tags",
        "a tagged message goes to an untagged client only when no client has a tag at all",
        way=CONDITION,
        breaks=_FALLBACK,
        may_break="dispatch.per-channel dispatch.to-matching",
        settings=_choosing(_untagged_only_when_no_tags),
    ),
    fault(
        "fallback-to-other-tags",
        "a tagged message that nobody desires goes to a client with another tag first",
        way=WRONG_VALUE,
        delivers_wrongly=True,
        breaks=f"{_FALLBACK} {_OTHER}",
        may_break="dispatch.exact-tag dispatch.per-channel dispatch.tag-form",
        settings=_choosing(_fallback_to_other_tags),
    ),
    fault(
        "fallback-to-anybody",
        "a tagged message goes to a client with another tag when no other is ready",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_OTHER,
        may_break="dispatch.fallback",
        settings=_choosing(_fallback_to_anybody),
    ),
    fault(
        "other-tag-every-fifth",
        "every fifth tagged message goes to a client with another tag",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_OTHER,
        may_break=(
            "dispatch.exact-tag dispatch.fallback dispatch.per-channel dispatch.to-matching"
        ),
        settings=_choosing(_every_fifth_to_other_tag),
    ),
    fault(
        "leave-loses-messages",
        "what a client held when it left is lost",
        way=MISSING,
        breaks=_LEAVE,
        may_break="upgrade.old-messages",
        settings={"dispatch.given_back": _nothing_given_back},
    ),
    fault(
        "leave-loses-tagged-messages",
        "of what a client held when it left the tagged messages are lost",
        way=CONDITION,
        breaks=_LEAVE,
        settings={"dispatch.given_back": _nothing_tagged_given_back},
    ),
    fault(
        "leave-gives-one-back",
        "of what a client held when it left only one message is given back",
        way=BOUNDARY,
        breaks=_LEAVE,
        may_break="upgrade.old-messages",
        settings={"dispatch.given_back": _last_one_given_back},
    ),
    fault(
        "leave-gives-back-late",
        "what a client held when it left goes to others only after a minute",
        way=LATE,
        breaks=_LEAVE,
        may_break="upgrade.old-messages",
        settings={"dispatch.given_back_delay_ns": _MINUTE_NS},
    ),
    fault(
        "leave-keeps-the-tag",
        "a tag whose last client has left still keeps its messages from others",
        way=CONDITION,
        breaks=_LEAVE,
        settings=_choosing(_tag_kept_when_left),
    ),
    fault(
        "channel-blocked-by-another",
        "a tag desired on one channel holds its messages back on the others",
        way=MISSING,
        breaks=_CHANNEL,
        may_break="consume.batch consume.body-intact consume.layout consume.no-header",
        settings=_choosing(_neighbours_block),
    ),
    fault(
        "channel-robbed-by-another",
        "a tag desired on one channel draws its messages from the others",
        way=WRONG_VALUE,
        breaks=_CHANNEL,
        settings=_choosing(_neighbours_rob),
    ),
    fault(
        "channel-tags-mixed",
        "a tag desired on one channel goes to clients with any tag on the others",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_CHANNEL,
        settings=_choosing(_neighbours_decide),
    ),
    fault(
        "tag-by-prefix",
        "a desired tag matches every tag that begins with it",
        way=BOUNDARY,
        delivers_wrongly=True,
        breaks=_EXACT,
        settings=_matched(lambda tag, desired: tag.startswith(desired)),
    ),
    fault(
        "tag-by-part",
        "a desired tag that begins with the message's tag matches it",
        way=BOUNDARY,
        delivers_wrongly=True,
        breaks=_EXACT,
        may_break="dispatch.tag-form",
        settings=_matched(lambda tag, desired: desired.startswith(tag)),
    ),
    fault(
        "tag-whatever-case",
        "tags match whatever their letter case",
        way=WRONG_VALUE,
        delivers_wrongly=True,
        breaks=_EXACT,
        settings=_matched(lambda tag, desired: tag.lower() == desired.lower()),
    ),
    fault(
        "tag-without-blanks",
        "blanks around tags are overlooked",
        way=BOUNDARY,
        delivers_wrongly=True,
        breaks=_EXACT,
        settings=_matched(lambda tag, desired: tag.strip() == desired.strip()),
    ),
    fault(
        "untagged-to-tagged-first",
        "a message without a tag goes to a client with one while one is ready",
        way=WRONG_VALUE,
        delivers_wrongly=True,
        breaks=_UNTAGGED,
        may_break="dispatch.not-ready",
        settings=_choosing(_untagged_to_tagged_first),
    ),
    fault(
        "untagged-shared",
        "messages without a tag go to clients with and without one in turn",
        way=CONDITION,
        delivers_wrongly=True,
        breaks=_UNTAGGED,
        may_break="dispatch.not-ready",
        settings=_choosing(_untagged_shared_with_tagged),
    ),
)
