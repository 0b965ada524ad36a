"""Faults of polls and frames."""

import struct
from collections.abc import Callable, Mapping

from wireproof_reference_impl.iggy.core import messages
from wireproof_reference_impl.iggy.faulty.effect import (
    ANSWERS,
    BINARY,
    JSON,
    boundary,
    condition,
    extra,
    make_overriding,
    missing,
)
from wireproof_reference_impl.iggy.faulty.lateness import holds_old
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.strategy import (
    STARTS,
    Start,
    at_first,
    at_last,
    at_next,
    at_offset,
)
from wireproof_reference_impl.iggy.wire import framing
from wireproof_reference_impl.iggy.wire.polled import Polled
from wireproof_reference_impl.iggy.wire.requests import Consumer, PollMessages
from wireproof_reference_impl.iggy.wire.status import Refusal, Status
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import (
    Preset,
)
from wireproof_reference_impl.settings import Settings
from wireproof_spec.iggy.kinds import LAST, NEXT, OFFSET
from wireproof_spec.iggy.statuses import OK

_MANY = 5


def _start(strategy: int, start: Start) -> Settings:
    """Return settings under which a strategy begins elsewhere."""
    starts: Mapping[int, Start] = {**STARTS, strategy: start}
    return {"poll.starts": starts}


def _behind_offset(partition: Partition, request: PollMessages) -> int | None:
    start = at_offset(partition, request)
    return start + 1 if start else start


def _at_stored(partition: Partition, request: PollMessages) -> int | None:
    start = at_next(partition, request)
    return max(0, start - 1) if start else start


def _one_before_last(partition: Partition, request: PollMessages) -> int | None:
    start = at_last(partition, request)
    return max(0, start - 1) if start else start


def _one_more(is_wrong: Callable[[Partition], bool]) -> Override:
    def read(original: Original, partition: Partition, start: int, count: int) -> object:
        return original(partition, start, count + is_wrong(partition))

    return around(Partition, "read", read)


def _always(partition: Partition) -> bool:
    return True


def _commit_zero(
    original: Original, partition: Partition, consumer: Consumer, offset: int
) -> None:
    original(partition, consumer, 0)


def _no_head(found: Polled) -> bytes:
    return b""


def _one_too_many(found: Polled) -> bytes:
    return struct.pack("<I", len(found.messages) + 1)


def _one_too_few_from_five(found: Polled) -> bytes:
    count = len(found.messages)
    return struct.pack("<I", count - (count >= _MANY))


def _last_if_beyond(partition: Partition, request: PollMessages) -> int | None:
    return min(request.value, max(0, partition.count - 1))


def _refusal_with_body(original: Original, status: int, body: bytes) -> object:
    return original(status, b"refused" if status else body)


def _refusal_as_ok(original: Original, status: int, body: bytes) -> object:
    return original(OK, body)


def _take_refused(refusal: Refusal) -> Refusal:
    return Refusal(Status(OK, "ok"), refusal.reason)


FAULTS: tuple[Preset, ...] = (
    missing(
        "poll-without-head",
        "over TCP, the messages of a poll come without the count in front",
        {"message.head": _no_head},
        breaks="poll.head poll.count",
        may_break=BINARY,
    ),
    boundary(
        "poll-count-off-by-one",
        "over TCP, the message count of a poll is one too high",
        {"message.head": _one_too_many},
        breaks="poll.count",
        may_break=BINARY,
    ),
    condition(
        "poll-count-low-from-five",
        "over TCP, the message count of a poll is one too low from five messages on",
        {"message.head": _one_too_few_from_five},
        breaks="poll.count",
        may_break=BINARY,
    ),
    boundary(
        "poll-one-more",
        "a poll returns one message more than it asks for",
        make_overriding(_one_more(_always), late=[_one_more(holds_old)]),
        breaks="poll.as-many",
        may_break=f"{BINARY} {JSON} poll.stored-offset",
    ),
    boundary(
        "poll-behind-offset",
        "a poll by offset begins one message too late, unless the offset is 0",
        _start(OFFSET, _behind_offset),
        breaks="poll.strategy-offset",
        may_break=f"{BINARY} {JSON}",
    ),
    missing(
        "poll-offset-ignored",
        "a poll by offset begins at the first message, whatever the offset",
        _start(OFFSET, at_first),
        breaks="poll.strategy-offset",
        may_break=f"{BINARY} {JSON} poll.stored-offset",
    ),
    condition(
        "poll-beyond-finds-last",
        "a poll by an offset after the last message returns the last message",
        _start(OFFSET, _last_if_beyond),
        breaks="poll.strategy-offset",
        may_break=f"{BINARY} {JSON} poll.stored-offset",
        finds_nothing=True,
    ),
    boundary(
        "poll-next-again",
        "a poll for the next messages begins at the stored offset instead of after it",
        _start(NEXT, _at_stored),
        breaks="poll.strategy-next poll.auto-commit",
        may_break="poll.group poll.consumer poll.empty",
    ),
    boundary(
        "poll-last-off-by-one",
        "a poll for the last messages begins one message too early",
        _start(LAST, _one_before_last),
        breaks="poll.strategy-last",
        may_break="http.poll",
    ),
    missing(
        "commit-of-zero",
        "auto commit stores offset 0 instead of the last polled offset",
        make_overriding(around(messages, "commit", _commit_zero)),
        breaks="poll.auto-commit",
        may_break="poll.group poll.strategy-next poll.empty poll.stored-offset",
    ),
    extra(
        "refusal-with-body",
        "the answer to a refused request has a body",
        make_overriding(around(framing, "response", _refusal_with_body)),
        breaks="frame.response",
        may_break=ANSWERS,
    ),
    missing(
        "refusal-as-ok",
        "a request that cannot be executed is answered with status 0 (ok)",
        make_overriding(around(framing, "response", _refusal_as_ok)),
        breaks="status.unknown status.taken status.refused",
        may_break=f"{ANSWERS} frame.response poll.group state.unknown send.partitioning",
    ),
    missing(
        "malformed-taken",
        "a malformed frame is answered with status 0 (ok)",
        {"framing.unreadable": _take_refused},
        breaks="frame.malformed",
        may_break=f"{ANSWERS} headers.limits headers.key-text send.all-or-nothing",
    ),
)
