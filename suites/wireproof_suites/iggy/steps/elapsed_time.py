"""Repeat polls for several seconds and compare everything they return."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wireproof_kit.iggy.observe.observations import as_set, observe_unread
from wireproof_kit.iggy.observe.polled import Polled
from wireproof_kit.iggy.wire.http import JsonPolled
from wireproof_kit.observation import Observation, observed
from wireproof_kit.wire.waiting import until
from wireproof_suites.iggy.steps.json_messages import observe_unread_json

REPEAT_SECONDS = 4.5
"""Longer than anybody is late."""

EVERY_SECONDS = 0.5
NOT_AT_FIRST = "not-at-first"
"""What never came, or never rightly, cannot be asked again: other clauses tell."""


def poll_repeatedly(first: object, look: Callable[[], object]) -> Observation:
    """Poll for several seconds; return ``different`` if a result is not ``first``."""
    return repeat_while(lambda: look() == first)


def repeat_while(is_same: Callable[[], bool]) -> Observation:
    """Check for several seconds; return ``different`` once a check fails, else ``same``."""
    other = until(lambda: None if is_same() else True, seconds=REPEAT_SECONDS, every=EVERY_SECONDS)
    return observed("different" if other else "same")


def are_some_of(found: Sequence[object], known: Sequence[object]) -> bool:
    """Return True if there are found elements, all of them known, and none of them twice."""
    return bool(found) and all(found.count(each) == 1 and each in known for each in found)


def observe_fewer(polled: Polled, due: int) -> Observation | None:
    """Return the observation of a first poll with fewer messages than due; None if it has all."""
    if polled.is_readable and len(polled.seen) >= due:
        return None
    return observe_unread(polled) or observed(NOT_AT_FIRST)


def observe_fewer_json(polled: JsonPolled, due: int) -> Observation | None:
    """Return the observation of a first HTTP poll with fewer messages than due, or None."""
    if polled.is_readable and len(polled.objects) >= due:
        return None
    return observe_unread_json(polled) or observed(NOT_AT_FIRST)


def poll_content(polled: Polled) -> object:
    """Return everything a poll returned, in a form that can be compared."""
    unread = observe_unread(polled)
    if unread is not None:
        return unread.value, polled.size
    return polled.head, polled.declared, polled.layout, messages_content(polled)


def messages_content(polled: Polled) -> Sequence[object]:
    """Return the polled messages; the order of their headers does not count."""
    return [(replace(each, headers=()), as_set(each.headers)) for each in polled.messages]


def json_poll_content(polled: JsonPolled) -> object:
    """Return everything an HTTP poll returned, in a form that can be compared."""
    unread = observe_unread_json(polled)
    return unread.value if unread is not None else (polled.shape, polled.objects)
