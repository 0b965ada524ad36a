"""Late twins of faults: messages told rightly at first, wrongly 3 s after they were stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import time_ns
from typing import cast

from wireproof_reference_impl.iggy.core.defaults import message_object, state_name
from wireproof_reference_impl.iggy.core.header import Headers
from wireproof_reference_impl.iggy.core.message import Message, Sent, record
from wireproof_reference_impl.settings import Settings

_LATE_US = 3_000_000
_MICROSECOND_NS = 1_000

Layout = Callable[[Message], bytes]
Told = Callable[[Message, object], Mapping[str, object]]
Change = Callable[[Message], Message]
OfPoll = Callable[[Sequence[Message]], Sequence[Message]]

_LAYOUT, _TOLD, _STATE = "message.layout", "json.message", "json.state"
_OF_POLLS = ("poll.delivered", "message.arranged")


def late_settings(settings: Settings) -> Settings | None:
    """Return settings under which messages are told so late; None: it is not about messages."""
    if all(name in _OF_POLLS for name in settings):
        return {name: _late_of_poll(cast(OfPoll, value)) for name, value in settings.items()}
    store = [name for name in settings if name in _CHANGES]
    if len(store) + len(settings.keys() & {_LAYOUT, _TOLD, _STATE}) < len(settings):
        return None
    late: dict[str, object] = {}
    if store or _LAYOUT in settings:
        late[_LAYOUT] = _late_layout(settings)
    if store or settings.keys() & {_TOLD, _STATE}:
        late[_TOLD] = _late_told(settings)
    return late


def _is_old(message: Message) -> bool:
    return time_ns() // _MICROSECOND_NS - message.timestamp >= _LATE_US


def _late_of_poll(told: OfPoll) -> OfPoll:
    def late(messages: Sequence[Message]) -> Sequence[Message]:
        return told(messages) if any(map(_is_old, messages)) else messages

    return late


def _late_layout(settings: Settings) -> Layout:
    change = _change(settings)
    layout = cast(Layout, settings.get(_LAYOUT, record))
    return lambda message: layout(change(message)) if _is_old(message) else record(message)


def _late_told(settings: Settings) -> Told:
    change = _change(settings)
    told = cast(Told, settings.get(_TOLD, message_object))
    name = cast(Callable[[int], object], settings.get(_STATE, state_name))

    def late(message: Message, state: object) -> Mapping[str, object]:
        if not _is_old(message):
            return message_object(message, state)
        changed = change(message)
        return told(changed, name(changed.state))

    return late


def _change(settings: Settings) -> Change:
    """Return what makes of a message what would have been stored from the beginning."""

    def change(message: Message) -> Message:
        for name, value in settings.items():
            if name in _CHANGES:
                message = _CHANGES[name](message, value)
        return message

    return change


def _sent(message: Message) -> Sent:
    return Sent(message.id, message.headers, message.payload)


_OfNumber = Callable[[int], int]
_OfSent = Callable[[Sent], int]

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
