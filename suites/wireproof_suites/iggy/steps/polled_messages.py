"""From polled messages to the words of the catalogue, field by field."""

import zlib
from collections.abc import Callable, Sequence

from wireproof_kit.iggy.observe.observations import (
    MISSING,
    make_difference,
    match_sent,
    observe_unread,
    state_text,
)
from wireproof_kit.iggy.observe.polled import Polled, PolledMessage
from wireproof_kit.observation import Observation, first_unlike, observed
from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.headers import HEADERS
from wireproof_spec.iggy.states import AVAILABLE

Look = Callable[[SentMessage, PolledMessage], Observation]


def each_of(polled: Polled, sent: Sequence[SentMessage], value: str, look: Look) -> Observation:
    """Observe each sent message in a poll; return the first observation that is not `value`.

    A sent message is compared with the polled one of the same payload, in whatever order they
    were stored. ``missing`` when fewer came than were sent.
    """
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    pairs = zip(sent, match_sent(sent, polled.seen), strict=False)
    worst = first_unlike((look(due, seen).on(seen) for due, seen in pairs), value)
    if worst.value == value and len(polled.seen) < len(sent):
        return observed(MISSING, overdue=True, note=f"{len(polled.seen)} of {len(sent)} came")
    return worst


def observe_checksums(polled: Polled, sent: Sequence[SentMessage]) -> Observation:
    """Compare the checksum of each polled message with that of its sent payload.

    ``checksum:right``, or what the first wrong one is: ``zero``, ``of-headers``, ``none`` in a
    layout that has no checksum, ``wrong``.
    """
    return each_of(polled, sent, "checksum:right", _checksum)


def observe_states(
    polled: Polled, sent: Sequence[SentMessage], *, state: int = AVAILABLE, word: str = "available"
) -> Observation:
    """Compare the state of each polled message with the due state.

    The observation is ``state:WORD``, or names the state that was found.
    """

    def look(due: SentMessage, seen: PolledMessage) -> Observation:
        found = seen.message.state
        if found == state:
            return observed(f"state:{word}")
        difference = make_difference("state", seen, state_text(state), state_text(found))
        name = state_text(found).replace(" ", "-")
        return observed(f"state:{name}", difference=difference)

    return each_of(polled, sent, f"state:{word}", look)


def _checksum(due: SentMessage, seen: PolledMessage) -> Observation:
    right, found = payload_checksum(due.payload), seen.message.checksum
    if found == right:
        return observed("checksum:right")
    difference = make_difference("checksum", seen, str(right), str(found))
    if found is None:
        return observed("checksum:none", difference=difference)
    with_headers = encode(HEADERS, seen.message.headers) + due.payload
    if due.headers and found == zlib.crc32(with_headers):
        return observed("checksum:of-headers", difference=difference)
    return observed("checksum:wrong" if found else "checksum:zero", difference=difference)
