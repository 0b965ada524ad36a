"""What polls of a partition returned, and what its consumers stored: where polls must begin.

A poll is judged by what answers showed before it was sent: requests that are under way together
may be served in any order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from wireproof_kit.iggy.apache.json_messages import JsonMessage, first_unlike, from_frame
from wireproof_kit.iggy.apache.rules import LAW, compare, hold
from wireproof_kit.ledger.entries import Place
from wireproof_kit.ledger.outcomes import Finding
from wireproof_spec.iggy.apache.batch import MessageFrame
from wireproof_spec.iggy.apache.bodies.messages import ConsumerOffset, PollMessages
from wireproof_spec.iggy.apache.polled import Polled
from wireproof_spec.iggy.bodies.consumer import Consumer
from wireproof_spec.iggy.kinds import AUTO_COMMIT, FIRST, LAST, NEXT, OFFSET, TIMESTAMP

NONE: Final = -1
"""In place of the offset of a consumer that has stored none."""
_OTHER: Final = "delivered:other"
_CLAUSES: Final = {
    OFFSET: "poll.offset",
    TIMESTAMP: "poll.timestamp",
    FIRST: "poll.first",
    LAST: "poll.last",
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
    """The highest offset of a polled message."""
    top: int
    """The highest offset of a message that was polled or confirmed."""
    stored: Stored
    changes: int

    @property
    def may_be(self) -> frozenset[int]:
        """Return what the consumer may have stored, if nothing has changed it since."""
        is_same = self.stored.changes == self.changes
        return self.stored.may_be if is_same else frozenset()


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets between two that a poll passed; a message of one of them was due there.

    Offsets are given in the order of arrival: up to the highest one that was confirmed or polled
    before, all messages were there, even if nobody had polled them.
    """

    clause: str
    low: int
    high: int
    since_us: int
    """The time from which on a message was due."""

    def judge(self, offset: int, time_us: int) -> Iterator[Finding]:
        """Judge whether a message, which is polled at any time, was passed."""
        if self.low < offset < self.high and time_us >= self.since_us:
            note = f"offset {offset} was passed"
            yield Finding(f"{LAW}{self.clause}", _OTHER, note)


@dataclass(slots=True)
class Partition:
    """One partition of a topic that was made in the case."""

    seen: dict[int, MessageFrame] = field(default_factory=dict[int, MessageFrame])
    """By offset."""
    times: dict[int, int] = field(default_factory=dict[int, int])
    origins: dict[int, int] = field(default_factory=dict[int, int])
    stored: dict[tuple[Consumer, bool], Stored] = field(
        default_factory=dict[tuple[Consumer, bool], Stored]
    )
    """By consumer, and whether it speaks HTTP."""
    shown: dict[int, JsonMessage] = field(default_factory=dict[int, JsonMessage])
    """What JSON showed of messages first, by offset."""
    confirmed: int = NONE
    """The highest offset that the reply to a send told."""
    places: dict[int, MessageFrame] = field(default_factory=dict[int, MessageFrame])
    """The messages that were confirmed, by offset."""
    gaps: list[tuple[Gap, frozenset[str], Place]] = field(
        default_factory=list[tuple[Gap, frozenset[str], Place]]
    )
    """What polls passed, and the way and the place of each of these polls."""

    @property
    def newest(self) -> int:
        """Return the highest offset of a polled message."""
        return max(self.seen, default=NONE)

    def before(
        self, consumer: Consumer, *, changes: bool = False, over_http: bool = False
    ) -> Before:
        """Return what is known when a consumer's request is sent; one may change its offset.

        Whether a consumer is the same over both transports is another question.
        """
        stored = self.stored.setdefault((consumer, over_http), Stored())
        if changes:
            stored.under_way += 1
            stored.changes += 1
            self.stored[consumer, not over_http] = Stored(frozenset())
        return Before(self.newest, max(self.newest, self.confirmed), stored, stored.changes)

    def confirm(self, base_offset: int, frames: Sequence[MessageFrame]) -> None:
        """Note where the reply to a send says that its messages are."""
        self.confirmed = max(self.confirmed, base_offset + len(frames) - 1)
        self.places |= {base_offset + number: frame for number, frame in enumerate(frames)}

    def note(self, offset: int, frame: MessageFrame, time_us: int, origin_us: int = 0) -> None:
        """Note a message that was polled over TCP, and the times of its batch."""
        self.seen[offset] = frame
        self.times[offset] = time_us
        self.origins[offset] = origin_us

    def judge_poll(self, poll: PollMessages, before: Before, polled: Polled) -> Iterator[Finding]:
        """Judge the newest offset that a poll tells, and with which message it begins or ends."""
        times = [batch.header.base_timestamp for batch in polled.batches if batch.frames]
        return self.judge_answer(
            poll, before, polled.offsets, polled.head.current_offset, times[0] if times else 0
        )

    def judge_answer(
        self,
        poll: PollMessages,
        before: Before,
        offsets: Sequence[int],
        current: int,
        first_us: int,
    ) -> Iterator[Finding]:
        """Do so for an answer with these offsets, and the time of the first of its messages."""
        newest = max((before.newest, *offsets))
        if newest > NONE:
            value = "" if current >= newest else "current:other"
            yield Finding(f"{LAW}poll.current", value, f"{current}, behind {newest}")
        clause = _CLAUSES.get(poll.strategy)
        if clause is None or (poll.strategy == NEXT and not before.may_be):
            return
        if not offsets:
            is_due = bool(poll.count) and self._is_due(poll, before)
            yield hold(
                clause, not is_due, "delivered:none", "a message is due that was polled before"
            )
        elif poll.strategy == LAST:
            note = f"{offsets[-1]} is the last one, behind {before.newest}"
            yield hold(clause, offsets[-1] >= before.newest, _OTHER, note)
        else:
            is_right = any(offsets[0] > end for end in _ends(poll, before))
            is_right &= poll.strategy != TIMESTAMP or first_us >= poll.value
            yield hold(clause, is_right, _OTHER, f"begins with offset {offsets[0]}")
        for gap in find_gaps(poll, before, offsets):
            for at, time_us in self.times.items():
                yield from gap.judge(at, time_us)

    def _is_due(self, poll: PollMessages, before: Before) -> bool:
        """Return True if a message that was polled before has to be in the answer to a poll."""
        known = (at for at in self.seen if at <= before.newest)
        if poll.strategy == TIMESTAMP:
            return any(self.times[at] >= poll.value for at in known)
        return any(at > max(_ends(poll, before)) for at in known)

    def judge_shown(self, message: JsonMessage) -> Iterator[Finding]:
        """Judge a message in JSON against other polls of its offset, over both transports."""
        at = message.offset
        due = self.shown.setdefault(at, message)
        if at in self.seen:
            due = from_frame(self.seen[at], at, self.times[at], self.origins[at])
        unlike = first_unlike(due, message)
        note = f"of offset {at}, in another poll"
        yield hold("json.same", not unlike, f"different:{unlike}", note)


def commit(poll: PollMessages, before: Before, offsets: Sequence[int]) -> None:
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


def _ends(poll: PollMessages, before: Before) -> frozenset[int]:
    """Return the offsets behind one of which a poll begins; none if that is not known."""
    ends = {OFFSET: poll.value - 1, FIRST: NONE, LAST: NONE, TIMESTAMP: NONE}
    return before.may_be if poll.strategy == NEXT else frozenset({ends.get(poll.strategy, NONE)})


def find_gaps(poll: PollMessages, before: Before, offsets: Sequence[int]) -> Iterator[Gap]:
    """Yield what a poll passed in front of its first message, and between others."""
    clause, ends = _CLAUSES.get(poll.strategy), _ends(poll, before)
    if clause is None or not ends or not offsets:
        return
    # Strategy last asks for no first message.
    known = [end for end in ends if end < offsets[0] and poll.strategy != LAST]
    since_us = poll.value if poll.strategy == TIMESTAMP else 0
    for low, behind in pairwise((max(known, default=offsets[0]), *offsets)):
        high = min(behind, before.top + 1)
        if high > low + 1:
            yield Gap(clause, low, high, since_us)
