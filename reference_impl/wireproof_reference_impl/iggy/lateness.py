"""Late twins of faults: what is polled is right at first, wrong 3 s after it was stored.

Right is what the published text says. Where a fault changes what is taken besides what is polled,
its twin takes the same from the beginning.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import time_ns
from typing import TypeVar, cast

from msgspec.structs import replace

from wireproof_reference_impl.iggy.core.bodies import count_head
from wireproof_reference_impl.iggy.core.defaults import (
    bare_array,
    has_state,
    message_object,
    state_name,
)
from wireproof_reference_impl.iggy.core.header import Headers
from wireproof_reference_impl.iggy.core.message import Message, Sent, record
from wireproof_reference_impl.iggy.core.messages import Polled
from wireproof_reference_impl.iggy.core.partition import Partition
from wireproof_reference_impl.iggy.core.requests import PollMessages
from wireproof_reference_impl.iggy.core.strategy import STARTS, Start, as_many
from wireproof_reference_impl.settings import Settings

_LATE_US = 3_000_000
_MICROSECOND_NS = 1_000

T = TypeVar("T")
Layout = Callable[[Message], bytes]
Told = Callable[[Message, object], Mapping[str, object]]
Change = Callable[[Message], Message]
Choice = Callable[[Partition, PollMessages], T]
OfMessages = Callable[[Sequence[Message]], Sequence[Message]]
OfPoll = Callable[[Polled, Sequence[object]], object]
_OfNumber = Callable[[int], int]
_OfSent = Callable[[Sent], int]

_LAYOUT, _TOLD, _STATE, _NEW_ID = "message.layout", "json.message", "json.state", "store.new_id"


def late_settings(settings: Settings) -> Settings | None:
    """Return settings under which polls are wrong so late; None: they are not about polls."""
    if not settings.keys() & DELIVERING:
        return None
    late = {name: value for name, value in settings.items() if name not in DELIVERING}
    late |= {name: _LATE[name](settings[name]) for name in settings if name in _LATE}
    changes = [_changing(name, value) for name, value in settings.items() if name in _CHANGES]
    if _NEW_ID in settings:
        late[_NEW_ID], change = _late_ids(cast(_OfNumber, settings[_NEW_ID]))
        changes.append(change)
    if changes or _LAYOUT in settings:
        late[_LAYOUT] = _late_layout(settings, changes)
    if changes or settings.keys() & {_TOLD, _STATE}:
        late[_TOLD] = _late_told(settings, changes)
    return late


def _is_old(message: Message) -> bool:
    return time_ns() // _MICROSECOND_NS - message.timestamp >= _LATE_US


def _holds_old(partition: Partition) -> bool:
    return partition.count > 0 and _is_old(partition.kept(0))


def _are_old(messages: Iterable[Message]) -> bool:
    return any(map(_is_old, messages))


def _late_of_messages(value: object) -> OfMessages:
    wrong = cast(OfMessages, value)
    return lambda messages: wrong(messages) if _are_old(messages) else messages


def _late_choice(right: Choice[T], wrong: Choice[T]) -> Choice[T]:
    return lambda partition, request: (wrong if _holds_old(partition) else right)(
        partition, request
    )


def _late_count(value: object) -> Choice[int]:
    return _late_choice(as_many, cast(Choice[int], value))


def _late_starts(value: object) -> Mapping[int, Start]:
    wrong = cast(Mapping[int, Start], value)
    return {strategy: _late_choice(right, wrong[strategy]) for strategy, right in STARTS.items()}


def _late_known(value: object) -> Callable[[Message], bool]:
    wrong = cast(Callable[[Message], bool], value)
    return lambda message: (wrong if _is_old(message) else has_state)(message)


def _late_head(value: object) -> Callable[[Polled], bytes]:
    wrong = cast(Callable[[Polled], bytes], value)
    return lambda found: (wrong if _are_old(found.messages) else count_head)(found)


def _late_polled(value: object) -> OfPoll:
    wrong = cast(OfPoll, value)
    return lambda found, messages: (wrong if _are_old(found.messages) else bare_array)(
        found, messages
    )


def _late_layout(settings: Settings, changes: Sequence[Change]) -> Layout:
    layout = cast(Layout, settings.get(_LAYOUT, record))
    return lambda message: (
        layout(_changed(message, changes)) if _is_old(message) else record(message)
    )


def _late_told(settings: Settings, changes: Sequence[Change]) -> Told:
    told = cast(Told, settings.get(_TOLD, message_object))
    name = cast(Callable[[int], object], settings.get(_STATE, state_name))

    def late(message: Message, state: object) -> Mapping[str, object]:
        if not _is_old(message):
            return message_object(message, state)
        changed = _changed(message, changes)
        return told(changed, name(changed.state))

    return late


def _changed(message: Message, changes: Sequence[Change]) -> Message:
    """Return a message as it would have been stored from the beginning."""
    for change in changes:
        message = change(message)
    return message


def _changing(name: str, value: object) -> Change:
    return lambda message: _CHANGES[name](message, value)


def _late_ids(wrong: _OfNumber) -> tuple[_OfNumber, Change]:
    """Return what remembers the ids that are given, and what changes those later."""
    given = set[int]()

    def new_id(random: int) -> int:
        given.add(random)
        return random

    def change(message: Message) -> Message:
        return replace(message, id=wrong(message.id)) if message.id in given else message

    return new_id, change


def _sent(message: Message) -> Sent:
    return Sent(message.id, message.headers, message.payload)


_LATE: Mapping[str, Callable[[object], object]] = {
    "poll.delivered": _late_of_messages,
    "poll.starts": _late_starts,
    "poll.count": _late_count,
    "poll.is_known": _late_known,
    "message.arranged": _late_of_messages,
    "message.head": _late_head,
    "json.polled": _late_polled,
}
"""What makes each choice of a poll late."""

_CHANGES: Mapping[str, Callable[[Message, object], Message]] = {
    "store.offset": lambda m, of: replace(m, offset=cast(_OfNumber, of)(m.offset)),
    "store.state": lambda m, of: replace(m, state=cast(_OfSent, of)(_sent(m))),
    "store.timestamp": lambda m, of: replace(m, timestamp=cast(_OfNumber, of)(m.timestamp)),
    "store.id": lambda m, of: replace(m, id=cast(_OfNumber, of)(m.id)),
    "store.checksum": lambda m, of: replace(m, checksum=cast(_OfSent, of)(_sent(m))),
    "store.headers": lambda m, of: replace(
        m, headers=cast(Callable[[Headers | None], Headers | None], of)(m.headers)
    ),
    "store.payload": lambda m, of: replace(
        m, payload=cast(Callable[[bytes], bytes], of)(m.payload)
    ),
}
"""What each choice of the store changes in a message."""

DELIVERING = frozenset({*_LATE, *_CHANGES, _NEW_ID, _LAYOUT, _TOLD, _STATE})
"""Settings that decide which stored messages a poll brings, or what it tells of them."""
