"""Faults of matching tags with desired tags, and of messages without a tag."""

from collections.abc import Callable

from wireproof_reference_impl.nsq.delivery.dispatch import (
    NOBODY,
    Audience,
    by_tag,
    first_ready,
    list_untagged,
)
from wireproof_reference_impl.nsq.faulty.consuming.dispatch import (
    Choose,
    Chosen,
    choose_clients,
    list_others,
    list_tagged,
    make_misdirecting,
)
from wireproof_reference_impl.nsq.preset import BOUNDARY, CONDITION, WRONG_VALUE, Preset, missing
from wireproof_reference_impl.nsq.wire.message import Message

Match = Callable[[str, str], bool]


def _shared_to_nobody(message: Message, audience: Audience) -> Chosen:
    is_shared = len(list_tagged(audience, message.tag)) > 1
    return NOBODY if is_shared else by_tag(message, audience)


def _match_tags(match: Match) -> Choose:
    """Return a choice of clients that compares tags with the given function."""

    def choose(message: Message, audience: Audience) -> Chosen:
        matching = [
            each
            for each in audience.subscribers
            if message.tag is not None
            and each.desired_tag is not None
            and match(message.tag, each.desired_tag)
        ]
        return first_ready(matching or list_untagged(audience))

    return choose


def _untagged_to_tagged_first(message: Message, audience: Audience) -> Chosen:
    if message.tag is not None:
        return by_tag(message, audience)
    return first_ready(list_others(audience, None)) or by_tag(message, audience)


def _untagged_shared_with_tagged(message: Message, audience: Audience) -> Chosen:
    return first_ready(audience.subscribers) if message.tag is None else by_tag(message, audience)


_OTHER = "dispatch.never-other-tag"
_CASE = "dispatch.exact-tag"
_UNTAGGED = "dispatch.untagged"

FAULTS: tuple[Preset, ...] = (
    missing(
        "shared-tag-to-nobody",
        "a tag that several clients of a channel desire has its messages delivered to none",
        breaks="dispatch.shared-tag",
        may_break="dispatch.history dispatch.leave dispatch.to-matching",
        overrides=choose_clients(_shared_to_nobody),
    ),
    make_misdirecting(
        "tag-by-prefix",
        "a desired tag matches every message tag that begins with it",
        _match_tags(lambda tag, desired: tag.startswith(desired)),
        way=BOUNDARY,
        breaks=_OTHER,
    ),
    make_misdirecting(
        "tag-by-part",
        "a desired tag matches every message tag that it begins with",
        _match_tags(lambda tag, desired: desired.startswith(tag)),
        way=BOUNDARY,
        breaks=_OTHER,
        may_break="dispatch.tag-form",
    ),
    make_misdirecting(
        "tag-whatever-case",
        "tags are compared without regard to letter case",
        _match_tags(lambda tag, desired: tag.lower() == desired.lower()),
        way=WRONG_VALUE,
        breaks=_CASE,
    ),
    make_misdirecting(
        "tag-without-blanks",
        "tags are compared without the spaces around them",
        _match_tags(lambda tag, desired: tag.strip() == desired.strip()),
        way=BOUNDARY,
        breaks=_OTHER,
    ),
    make_misdirecting(
        "untagged-to-tagged-first",
        "a message without a tag goes to a client with a tag while one is ready",
        _untagged_to_tagged_first,
        way=WRONG_VALUE,
        breaks=_UNTAGGED,
        may_break="dispatch.not-ready",
    ),
    make_misdirecting(
        "untagged-shared",
        "messages without a tag go in turn to clients with a tag and clients without one",
        _untagged_shared_with_tagged,
        way=CONDITION,
        breaks=_UNTAGGED,
        may_break="dispatch.not-ready",
    ),
)
