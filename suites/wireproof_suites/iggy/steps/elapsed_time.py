"""Polls that are asked again for seconds, and all that they tell."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wireproof_kit.iggy.observe.observations import as_set, observe_unread
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.wire.http import JsonPolled
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.waiting import until
from wireproof_suites.iggy.steps.json_messages import observe_unread_json

LASTING_SECONDS = 4.5
"""Longer than anybody is late."""

EVERY_SECONDS = 0.5
NOT_AT_FIRST = "not-at-first"
"""What never came, or never rightly, cannot be asked again: other clauses tell."""


def lasting(first: object, look: Callable[[], object]) -> Observation:
    """Look for seconds whether something else is told than at first: ``same``, ``different``."""
    return lasting_while(lambda: look() == first)


def lasting_while(is_same: Callable[[], bool]) -> Observation:
    """Look for seconds whether it is still the same: ``same``, ``different``."""
    other = until(
        lambda: None if is_same() else True, seconds=LASTING_SECONDS, every=EVERY_SECONDS
    )
    return observed("different" if other else "same")


def are_some_of(found: Sequence[object], known: Sequence[object]) -> bool:
    """Tell whether something was found, none of it twice, and nothing that was not known."""
    return bool(found) and all(found.count(each) == 1 and each in known for each in found)


def observe_fewer(polled: Polled, due: int) -> Observation | None:
    """Name a first poll that brought too little to be asked again; None when it did not."""
    if polled.is_readable and len(polled.seen) >= due:
        return None
    return observe_unread(polled) or observed(NOT_AT_FIRST)


def observe_fewer_json(polled: JsonPolled, due: int) -> Observation | None:
    """Name a first poll over HTTP that brought too little to be asked again."""
    if polled.is_readable and len(polled.objects) >= due:
        return None
    return observe_unread_json(polled) or observed(NOT_AT_FIRST)


def told(polled: Polled) -> object:
    """Return all that a poll tells."""
    unread = observe_unread(polled)
    if unread is not None:
        return unread.value, polled.size
    return polled.head, polled.declared, polled.layout, messages_told(polled)


def messages_told(polled: Polled) -> Sequence[object]:
    """Return all that a poll tells of messages; the order of their headers tells nothing."""
    return [(replace(each, headers=()), as_set(each.headers)) for each in polled.messages]


def told_in_json(polled: JsonPolled) -> object:
    """Return all that a poll over HTTP tells."""
    unread = observe_unread_json(polled)
    return unread.value if unread is not None else (polled.shape, polled.objects)
