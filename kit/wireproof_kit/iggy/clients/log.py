"""The server's log: the messages that a poll returns when the script says nothing."""

from collections.abc import Sequence

from wireproof_kit.iggy.clients.script import LOG_SIZE
from wireproof_spec.iggy import kinds, states
from wireproof_spec.iggy.bodies.poll_messages import PollMessages
from wireproof_spec.iggy.checksum import payload_checksum
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import Message

FIRST_US = 1_692_643_862_990_111
"""The timestamp of the first message in the published example."""


def make_message(
    offset: int,
    payload: bytes = b"",
    *,
    state: int = states.AVAILABLE,
    headers: tuple[Header, ...] = (),
    checksum: int | None = None,
    id: int | None = None,
    timestamp: int | None = None,
) -> Message:
    """Return a message; fields not given are right for its offset and payload."""
    payload = payload or b"wireproof-%06d" % offset
    return Message(
        offset=offset,
        state=state,
        timestamp=FIRST_US + offset if timestamp is None else timestamp,
        id=offset + 1 if id is None else id,
        checksum=payload_checksum(payload) if checksum is None else checksum,
        headers=headers,
        payload=payload,
    )


LOG: Sequence[Message] = [make_message(offset) for offset in range(LOG_SIZE)]


def find(poll: PollMessages, log: Sequence[Message], stored: int | None) -> tuple[Message, ...]:
    """Return the messages that a poll asks for; ``stored`` is the consumer's stored offset."""
    if poll.strategy == kinds.LAST:
        return tuple(log[max(LOG_SIZE - poll.count, 0) :])
    if poll.strategy == kinds.TIMESTAMP:
        found = [each for each in log if each.timestamp >= poll.value]
        return tuple(found[: poll.count])
    start = {kinds.OFFSET: poll.value, kinds.NEXT: 0 if stored is None else stored + 1}
    return tuple(log[start.get(poll.strategy, 0) :][: poll.count])
