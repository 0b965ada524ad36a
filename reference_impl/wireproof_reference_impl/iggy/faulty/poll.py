"""Faults of polls and frames."""

import struct
from collections.abc import Callable, Mapping
from functools import partial
from itertools import accumulate

from wireproof_reference_impl.faults import Change, list_faults, setting
from wireproof_reference_impl.iggy.core import messages as core_messages
from wireproof_reference_impl.iggy.faulty.effect import make_overriding
from wireproof_reference_impl.iggy.faulty.lateness import holds_old
from wireproof_reference_impl.iggy.faulty.ways import boundary, condition, extra, missing
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.strategy import (
    STARTS,
    Start,
    at_first,
    at_last,
    at_next,
    at_offset,
)
from wireproof_reference_impl.iggy.streams.topic import Topic
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.message import Message
from wireproof_reference_impl.iggy.wire.polled import Polled, count_head
from wireproof_reference_impl.iggy.wire.requests import Consumer, PollMessages
from wireproof_reference_impl.iggy.wire.status import Refusal, Status, invalid_command
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Effect
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.kinds import LAST, NEXT, OFFSET
from wireproof_spec.iggy.statuses import OK

_MANY = 5
_PAGE = 100
_MEBIBYTE = 1 << 20


def _start(strategy: int, start: Start) -> Settings:
    """Return settings under which a strategy begins elsewhere."""
    starts: Mapping[int, Start] = {**STARTS, strategy: start}
    return {"poll.starts": starts}


def _head_of_some(found: Polled) -> bytes:
    return count_head(found) if found.messages else b""


@missing("poll.head poll.empty")
def poll_of_none_without_head() -> Change:
    """Over TCP, a poll that returns no message is answered without the count."""
    return Effect({"message.head": _head_of_some})


@missing("poll.count", setting("message.head"))
def poll_counts_none(found: Polled) -> bytes:
    """Over TCP, the message count of a poll is always 0."""
    return count_head(found._replace(messages=[]))


@boundary("poll.count", setting("message.head"))
def poll_count_off_by_one(found: Polled) -> bytes:
    """Over TCP, the message count of a poll is one too high."""
    return struct.pack("<I", len(found.messages) + 1)


@condition("poll.count", setting("message.head"))
def poll_count_low_from_five(found: Polled) -> bytes:
    """Over TCP, the message count of a poll is one too low from five messages on."""
    count = len(found.messages)
    return struct.pack("<I", count - (count >= _MANY))


def _one_more(is_wrong: Callable[[Partition], bool]) -> Override:
    def read(original: Original, partition: Partition, start: int, count: int) -> object:
        return original(partition, start, count + is_wrong(partition))

    return around(Partition, "read", read)


def _always(partition: Partition) -> bool:
    return True


@boundary("poll.as-many")
def poll_one_more() -> Change:
    """A poll returns one message more than it asks for."""
    return make_overriding(_one_more(_always), late=[_one_more(holds_old)])


def _deliver(change: Callable[[list[Message]], list[Message]]) -> Effect:
    """Return an effect that changes which messages a poll returns; without a late twin.

    No case polls as many messages once they are old.
    """
    return Effect({"poll.delivered": change})


def _size(each: Message) -> int:
    return len(each.payload)


@boundary("poll.as-many", _deliver)
def poll_skips_101st(messages: list[Message]) -> list[Message]:
    """A poll of more than 100 messages leaves out the one after the hundredth."""
    return messages[:_PAGE] + messages[_PAGE + 1 :]


@condition("poll.as-many", _deliver)
def poll_skips_at_a_mebibyte(messages: list[Message]) -> list[Message]:
    """A poll leaves out the message by which its payloads exceed 1 MiB."""
    sizes = accumulate(map(_size, messages))
    crossing = next((at for at, size in enumerate(sizes) if size > _MEBIBYTE), len(messages))
    return messages[:crossing] + messages[crossing + 1 :]


@condition("poll.request", around(core_messages, "_partition"))
def poll_last_of_first_partition(
    original: Original, topic: Topic, request: PollMessages, client: object
) -> object:
    """A poll with strategy last reads the first partition, whatever the request names."""
    return 1 if request.strategy == LAST else original(topic, request, client)


def _refuse(partition: Partition, request: PollMessages) -> int | None:
    raise invalid_command()


@missing("poll.request")
def poll_last_refused() -> Change:
    """A poll with strategy last is refused."""
    return _start(LAST, _refuse)


@boundary("poll.strategy-offset", partial(_start, OFFSET))
def poll_behind_offset(partition: Partition, request: PollMessages) -> int | None:
    """A poll by offset begins one message too late, unless the offset is 0."""
    start = at_offset(partition, request)
    return start + 1 if start else start


@missing("poll.strategy-offset")
def poll_offset_ignored() -> Change:
    """A poll by offset begins at the first message, whatever the offset."""
    return _start(OFFSET, at_first)


def _last_if_beyond(partition: Partition, request: PollMessages) -> int | None:
    return min(request.value, max(0, partition.count - 1))


@condition("poll.strategy-offset")
def poll_beyond_finds_last() -> Change:
    """A poll by an offset after the last message returns the last message."""
    return Effect(_start(OFFSET, _last_if_beyond))


@boundary("poll.strategy-next poll.auto-commit", partial(_start, NEXT))
def poll_next_again(partition: Partition, request: PollMessages) -> int | None:
    """A poll for the next messages begins at the stored offset instead of after it."""
    start = at_next(partition, request)
    return max(0, start - 1) if start else start


@boundary("poll.strategy-last", partial(_start, LAST))
def poll_last_off_by_one(partition: Partition, request: PollMessages) -> int | None:
    """A poll for the last messages begins one message too early."""
    start = at_last(partition, request)
    return max(0, start - 1) if start else start


@missing("poll.auto-commit", around(core_messages, "commit"))
def commit_of_zero(
    original: Original, partition: Partition, consumer: Consumer, offset: int
) -> None:
    """Auto commit stores offset 0 instead of the last polled offset."""
    original(partition, consumer, 0)


@extra("frame.response", around(framing, "response"))
def refusal_with_body(original: Original, status: int, body: bytes) -> object:
    """The answer to a refused request has a body."""
    return original(status, b"refused" if status else body)


@missing("status.unknown status.taken status.refused", around(framing, "response"))
def refusal_as_ok(original: Original, status: int, body: bytes) -> object:
    """A request that cannot be executed is answered with status 0 (ok)."""
    return original(OK, body)


@missing("frame.malformed", setting("framing.unreadable"))
def malformed_taken(refusal: Refusal) -> Refusal:
    """A malformed frame is answered with status 0 (ok)."""
    return Refusal(Status(OK, "ok"), refusal.reason)


FAULTS = list_faults(__name__)
