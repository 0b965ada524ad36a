"""Late twins of faults: a polled message is correct at first, and wrong 3 s after it was stored.

Correct is what the published text says. A fault that also changes which requests are accepted has
a twin that changes this from the beginning.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import time_ns
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from wireproof_reference_impl.iggy.choices import json_message, layout
from wireproof_reference_impl.iggy.defaults import has_state
from wireproof_reference_impl.iggy.streams.partition import Partition
from wireproof_reference_impl.iggy.streams.strategy import STARTS, Start
from wireproof_reference_impl.iggy.wire.message import Message, record
from wireproof_reference_impl.iggy.wire.message_json import message_object
from wireproof_reference_impl.iggy.wire.polled import Polled, bare_array, count_head
from wireproof_reference_impl.iggy.wire.requests import PollMessages
from wireproof_reference_impl.settings import Settings

_LATE_US = 3_000_000
_MICROSECOND_NS = 1_000
_NEW_ID = "log.new_id"

T = TypeVar("T")
Change = Callable[[Message], Message]
OfMessages = Callable[[Sequence[Message]], Sequence[Message]]
_OfPoll = Callable[[Polled, Sequence[object]], object]
_OfNumber = Callable[[int], int]


def late_settings(settings: Settings) -> Settings | None:
    """Return settings under which polls become wrong 3 s after storing, or None.

    None if the given settings do not concern polls.
    """
    if not settings.keys() & DELIVERING:
        return None
    late = {
        name: _LATE[name](value) if name in _LATE else value for name, value in settings.items()
    }
    if _NEW_ID in settings:
        late |= _late_ids(cast(_OfNumber, settings[_NEW_ID]))
    return late


def told_late(change: Change) -> Settings:
    """Return settings under which polls return messages changed once they are 3 s old."""

    def change_old(message: Message) -> Message:
        return change(message) if is_old(message) else message

    return {
        **layout(lambda message: record(change_old(message))),
        **json_message(lambda message: message_object(change_old(message))),
    }


def late_of_messages(wrong: OfMessages) -> OfMessages:
    """Return a function that changes the messages of a poll once one of them is 3 s old."""
    return lambda messages: wrong(messages) if _are_old(messages) else messages


def is_old(message: Message) -> bool:
    """Return True for a message that was stored at least 3 s ago."""
    return time_ns() // _MICROSECOND_NS - message.timestamp >= _LATE_US


def holds_old(partition: Partition) -> bool:
    """Return True if the first message of a partition was stored at least 3 s ago."""
    return partition.count > 0 and is_old(partition.get_stored(0))


def _are_old(messages: Iterable[Message]) -> bool:
    return any(map(is_old, messages))


def _late_starts(wrong: Mapping[int, Start]) -> Mapping[int, Start]:
    def start_late(strategy: int) -> Start:
        def start(partition: Partition, request: PollMessages) -> int | None:
            starts = wrong if holds_old(partition) else STARTS
            return starts[strategy](partition, request)

        return start

    return {strategy: start_late(strategy) for strategy in STARTS}


def _late_of_message(
    right: Callable[[Message], T],
) -> Callable[[Callable[[Message], T]], Callable[[Message], T]]:
    def choose_late(wrong: Callable[[Message], T]) -> Callable[[Message], T]:
        return lambda message: (wrong if is_old(message) else right)(message)

    return choose_late


def _late_head(wrong: Callable[[Polled], bytes]) -> Callable[[Polled], bytes]:
    return lambda found: (wrong if _are_old(found.messages) else count_head)(found)


def _late_polled(wrong: _OfPoll) -> _OfPoll:
    return lambda found, messages: (wrong if _are_old(found.messages) else bare_array)(
        found, messages
    )


def _late_ids(wrong: _OfNumber) -> Settings:
    """Return settings that remember the generated ids, and change those later."""
    given = set[int]()

    def new_id(random: int) -> int:
        given.add(random)
        return random

    def change(message: Message) -> Message:
        return replace(message, id=wrong(message.id)) if message.id in given else message

    return {_NEW_ID: new_id, **told_late(change)}


_LATE: Mapping[str, Callable[[Any], object]] = {
    "poll.delivered": late_of_messages,
    "poll.starts": _late_starts,
    "log.is_known": _late_of_message(has_state),
    "message.head": _late_head,
    "message.layout": _late_of_message(record),
    "json.message": _late_of_message(message_object),
    "json.polled": _late_polled,
}
"""What makes each choice of a poll late."""

DELIVERING = frozenset({*_LATE, _NEW_ID})
"""Settings that decide which stored messages a poll brings, or what it tells of them."""
