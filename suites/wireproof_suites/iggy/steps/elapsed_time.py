"""Repeat polls for several seconds and compare everything they return."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wireproof_kit.errors import ArrangementFailed
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


class NotAnswered(ArrangementFailed):
    """Raised if a poll whose content is compared with another's was not answered in time."""

    def __init__(self, seen: Observation) -> None:
        super().__init__(f"a poll to compare with was not answered in time ({seen.value})")
        self.seen = seen


def poll_repeatedly(first: object, look: Callable[[], object]) -> Observation:
    """Poll for several seconds; return ``different`` if a result is not ``first``."""
    return repeat_while(lambda: look() == first)


def repeat_while(is_same: Callable[[], bool]) -> Observation:
    """Check for several seconds; return ``different`` once a check fails, else ``same``.

    A later poll that is not answered is observed as such: it has no content to compare.
    """

    def differs() -> bool | None:
        return None if is_same() else True

    try:
        other = until(differs, seconds=REPEAT_SECONDS, every=EVERY_SECONDS)
    except NotAnswered as missing:
        return missing.seen
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
    unread = _raise_late(observe_unread(polled))
    if unread is not None:
        return unread.value, polled.size
    return polled.head, polled.declared, polled.layout, messages_content(polled)


def messages_content(polled: Polled) -> Sequence[object]:
    """Return the polled messages; the order of their headers does not count."""
    _raise_late(observe_unread(polled))
    return [(replace(message, headers=()), as_set(message.headers)) for message in polled.messages]


def json_poll_content(polled: JsonPolled) -> object:
    """Return everything an HTTP poll returned, in a form that can be compared."""
    unread = _raise_late(observe_unread_json(polled))
    return unread.value if unread is not None else (polled.shape, polled.objects)


def json_objects(polled: JsonPolled) -> Sequence[object]:
    """Return the messages of an HTTP poll."""
    _raise_late(observe_unread_json(polled))
    return polled.objects


def _raise_late(unread: Observation | None) -> Observation | None:
    if unread is not None and unread.overdue:
        raise NotAnswered(unread)
    return unread
