"""Faults of matching tags with desired tags, and of messages without a tag."""

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults
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
    misdirecting,
)
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value
from wireproof_reference_impl.nsq.wire.message import Message

Match = Callable[[str, str], bool]


def _match_tags(match: Match) -> Choose:
    """Return a choice of clients that compares tags with the given function."""

    def choose(message: Message, audience: Audience) -> Chosen:
        matching = [
            subscriber
            for subscriber in audience.subscribers
            if message.tag is not None
            and subscriber.desired_tag is not None
            and match(message.tag, subscriber.desired_tag)
        ]
        return first_ready(matching or list_untagged(audience))

    return choose


@missing("dispatch.shared-tag", choose_clients)
def shared_tag_to_nobody(message: Message, audience: Audience) -> Chosen:
    """A tag that several clients of a channel desire has its messages delivered to none."""
    is_shared = len(list_tagged(audience, message.tag)) > 1
    return NOBODY if is_shared else by_tag(message, audience)


@boundary("dispatch.never-other-tag")
def tag_by_prefix() -> Change:
    """A desired tag matches every message tag that begins with it."""
    return misdirecting(_match_tags(lambda tag, desired: tag.startswith(desired)))


@boundary("dispatch.never-other-tag")
def tag_by_part() -> Change:
    """A desired tag matches every message tag that it begins with."""
    return misdirecting(_match_tags(lambda tag, desired: desired.startswith(tag)))


@boundary("dispatch.never-other-tag")
def tag_of_32_bytes() -> Change:
    """Tags are compared by their first 32 bytes."""
    return misdirecting(_match_tags(lambda tag, desired: tag[:32] == desired[:32]))


@boundary("dispatch.never-other-tag")
def tag_by_its_end() -> Change:
    """Tags are compared by their last 32 bytes."""
    return misdirecting(_match_tags(lambda tag, desired: tag[-32:] == desired[-32:]))


@wrong_value("dispatch.exact-tag")
def tag_whatever_case() -> Change:
    """Tags are compared without regard to letter case."""
    return misdirecting(_match_tags(lambda tag, desired: tag.lower() == desired.lower()))


@boundary("dispatch.never-other-tag")
def tag_without_blanks() -> Change:
    """Tags are compared without the spaces around them."""
    return misdirecting(_match_tags(lambda tag, desired: tag.strip() == desired.strip()))


@wrong_value("dispatch.untagged", misdirecting)
def untagged_to_tagged_first(message: Message, audience: Audience) -> Chosen:
    """A message without a tag goes to a client with a tag while one is ready."""
    if message.tag is not None:
        return by_tag(message, audience)
    return first_ready(list_others(audience, None)) or by_tag(message, audience)


@condition("dispatch.untagged", misdirecting)
def untagged_shared(message: Message, audience: Audience) -> Chosen:
    """Messages without a tag go in turn to clients with a tag and clients without one."""
    return first_ready(audience.subscribers) if message.tag is None else by_tag(message, audience)


FAULTS = list_faults(__name__)
