"""What polls of a partition returned, and what its consumers stored: where polls must begin.

A poll is judged by what answers showed before it was sent: requests that are under way together
may be served in any order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.iggy.apache.rules import LAW, compare, hold
from wireproof_kit.ledger.outcomes import Finding
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.bodies.messages import ConsumerOffset, PollMessages
from wireproof_spec.iggy.apache.polled import Polled
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.kinds import AUTO_COMMIT, FIRST, LAST, NEXT, OFFSET, TIMESTAMP

NONE: Final = -1
"""In place of the offset of a consumer that has stored none."""
_OTHER: Final = "delivered:other"
_STARTS: Final = {
    OFFSET: "poll.offset",
    TIMESTAMP: "poll.timestamp",
    FIRST: "poll.first",
    NEXT: "poll.next",
}


@dataclass(slots=True)
class Stored:
    """The offsets of which one is a consumer's; none at all if that is not known."""

    may_be: frozenset[int] = frozenset({NONE})
    changes: int = 0
    under_way: int = 0
    by_poll: bool = False
    """Whether the last change was that of a poll."""

    def settle(self, before: "Before", may_be: frozenset[int], *, by_poll: bool = False) -> None:
        """Follow the answer to a request that was to change the offset."""
        self.under_way -= 1
        is_alone = self.changes == before.changes and not self.under_way
        self.changes += 1
        self.by_poll = by_poll
        self.may_be = may_be if is_alone else frozenset()


@dataclass(frozen=True, slots=True)
class Before:
    """What was known of a partition and a consumer when a request was sent."""

    newest: int
    stored: Stored
    changes: int

    @property
    def may_be(self) -> frozenset[int]:
        """Return what the consumer may have stored, if nothing has changed it since."""
        is_same = self.stored.changes == self.changes
        return self.stored.may_be if is_same else frozenset()


@dataclass(slots=True)
class Partition:
    """One partition of a topic that was made in the case."""

    seen: dict[int, MessageFrame] = field(default_factory=dict[int, MessageFrame])
    """By offset."""
    times: dict[int, int] = field(default_factory=dict[int, int])
    stored: dict[Consumer, Stored] = field(default_factory=dict[Consumer, Stored])

    @property
    def newest(self) -> int:
        """Return the highest offset of a polled message."""
        return max(self.seen, default=NONE)

    def before(self, consumer: Consumer, *, changes: bool = False) -> Before:
        """Return what is known when a consumer's request is sent; one may change its offset."""
        stored = self.stored.setdefault(consumer, Stored())
        known = Before(self.newest, stored, stored.changes)
        if changes:
            stored.under_way += 1
            stored.changes += 1
            known = Before(self.newest, stored, stored.changes)
        return known

    def note(self, offset: int, frame: MessageFrame, time_us: int) -> None:
        """Note a polled message and the time of its batch."""
        self.seen[offset] = frame
        self.times[offset] = time_us

    def judge_poll(self, poll: PollMessages, before: Before, polled: Polled) -> Iterator[Finding]:
        """Judge the newest offset that a poll tells, and with which message it begins or ends."""
        offsets = polled.offsets
        newest = max((before.newest, *offsets))
        if newest > NONE:
            current = polled.head.current_offset
            value = "" if current >= newest else "current:other"
            yield Finding(f"{LAW}poll.current", value, f"{current}, behind {newest}")
        if not offsets:
            return
        if poll.strategy == LAST:
            note = f"{offsets[-1]} is the last one, behind {before.newest}"
            yield hold("poll.last", offsets[-1] >= before.newest, _OTHER, note)
        elif poll.strategy in _STARTS and (poll.strategy != NEXT or before.may_be):
            times = [each.header.base_timestamp for each in polled.batches if each.frames]
            is_right = self._begins(poll, before, offsets[0], times[0])
            note = f"begins with offset {offsets[0]}"
            yield hold(_STARTS[poll.strategy], is_right, _OTHER, note)

    def _begins(self, poll: PollMessages, before: Before, first: int, time_us: int) -> bool:
        """Return True if a poll may begin with this message, and passes none that is due."""
        if poll.strategy == TIMESTAMP:
            passed = (at for at, time in self.times.items() if time >= poll.value)
            return time_us >= poll.value and not _passes(passed, first, before)
        ends = {OFFSET: frozenset({poll.value - 1}), FIRST: frozenset({NONE})}
        return any(
            first > end and not _passes((at for at in self.seen if at > end), first, before)
            for end in ends.get(poll.strategy, before.may_be)
        )

    def commit(self, poll: PollMessages, before: Before, offsets: Sequence[int]) -> None:
        """Follow what a poll may have stored; only with auto_commit 1 is it said that it does."""
        was = before.may_be
        last = frozenset(offsets[-1:])
        if poll.auto_commit == AUTO_COMMIT:
            # The server at commit cc269ef never moves an offset back here, which no text forbids.
            higher = {each for each in was if each > max(last, default=NONE)}
            before.stored.settle(before, last | higher if last and was else was, by_poll=True)
        elif was and last:
            before.stored.may_be = was | last


def judge_told(partition: int, before: Before, told: ConsumerOffset | None) -> Iterator[Finding]:
    """Judge the answer to a request for a stored offset; None if it has no body."""
    clause, may_be = "offset.store-get", before.may_be
    of_stored = "poll.commit" if before.stored.by_poll else clause
    if told is None:
        if may_be and NONE not in may_be:
            yield Finding(f"{LAW}{of_stored}", "offset:none", f"{sorted(may_be)} is stored")
        return
    yield compare(clause, "offset:other", "partition_id", partition, told.partition_id)
    is_known = told.current_offset >= before.newest
    yield hold(clause, is_known, "offset:other", f"{told.current_offset} is told as the newest")
    if may_be - {NONE}:
        note = f"{told.stored_offset} in place of {sorted(may_be)}"
        yield hold(of_stored, told.stored_offset in may_be, "offset:other", note)


def _passes(due: Iterator[int], first: int, before: Before) -> bool:
    """Return True if a message that is due and was polled before is in front of the first."""
    return any(at < first for at in due if at <= before.newest)
