"""Turns answers and polled messages into observation tokens of the catalogue.

Answers: ``ok``, ``status:CODE``, ``result:CODE`` (a committed rejection), ``evicted:REASON``,
``closed``, ``silence`` (a later request was answered), ``stuck`` (nothing is), ``nonsense``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from wireproof_kit.iggy.apache.answers import (
    Answer,
    Evicted,
    Nonsense,
    Replied,
    Silent,
    Unanswered,
    read_result,
)
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_spec.iggy.apache.batch import Batch, MessageFrame
from wireproof_spec.iggy.apache.envelope import Envelope
from wireproof_spec.iggy.apache.evictions import REASONS
from wireproof_spec.iggy.apache.polled import Polled as PolledBody
from wireproof_spec.iggy.apache.polled import decode_polled
from wireproof_spec.iggy.apache.statuses import STATUSES
from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import show_value

AS_SENT = "delivered:as-sent"
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Polled:
    """The answer to a poll; ``body`` is its body where that could be decoded, else ``fault``."""

    answer: Answer
    body: PolledBody | None = None
    fault: WireError | None = field(default=None, compare=False)

    @property
    def step(self) -> int | None:
        """Return the index of the transcript's step that recorded the answer."""
        return self.answer.step

    @property
    def batches(self) -> tuple[Batch, ...]:
        """Return the polled batches."""
        return self.body.batches if self.body else ()

    @property
    def frames(self) -> tuple[MessageFrame, ...]:
        """Return the frames of all batches."""
        return self.body.frames if self.body else ()

    @property
    def offsets(self) -> tuple[int, ...]:
        """Return the offset of each frame."""
        return self.body.offsets if self.body else ()

    @property
    def payloads(self) -> list[bytes]:
        """Return the payload of each frame."""
        return [frame.payload for frame in self.frames]

    def then(self, later: "Polled") -> "Polled":
        """Return a later answer with the batches of this one in front of its own."""
        if self.body is None or later.body is None:
            return later
        return Polled(later.answer, PolledBody(later.body.head, self.batches + later.batches))


def read_polled(answer: Answer, envelope: Envelope) -> Polled:
    """Decode the answer to a poll."""
    if not isinstance(answer, Replied) or not answer.is_accepted:
        return Polled(answer)
    try:
        return Polled(answer, decode_polled(envelope, answer.body))
    except WireError as error:
        return Polled(answer, fault=error)


def observe(answer: Answer, *, framed: bool = False) -> Observation:
    """Return the observation of an answer; ``framed`` if its body begins with a result section."""
    if isinstance(answer, Replied):
        return _observe_reply(answer, framed).on(answer)
    if isinstance(answer, Evicted):
        reason = answer.header.reason
        return observed(f"evicted:{reason}", note=REASONS.get(reason, "")).on(answer)
    if isinstance(answer, Nonsense):
        return observed("nonsense", difference=difference_of(answer.fault)).on(answer)
    if isinstance(answer, Unanswered):
        return observed("silence").on(answer)
    is_silent = isinstance(answer, Silent)
    return observed("stuck" if is_silent else "closed", overdue=is_silent).on(answer)


def _observe_reply(answer: Replied, framed: bool) -> Observation:
    status = answer.header.status
    if not answer.is_accepted:
        return observed(f"status:{status}", note=STATUSES.get(status, ""))
    result = read_result(answer) if framed else None
    if framed and result is None:
        return observed("no-result")
    if result is not None and result.rejections:
        code = result.rejections[0].result
        return observed(f"result:{code}", note=STATUSES.get(code, ""))
    return observed("ok")


def is_refused(seen: Observation) -> bool:
    """Return True if a request was not served, and its client may know it or not."""
    kind = seen.value.partition(":")[0]
    return kind in ("status", "result", "evicted", "closed", "silence")


def observe_unread(polled: Polled) -> Observation | None:
    """Return the observation of a poll without readable messages; None if it can be read."""
    if polled.body is not None:
        return None
    if polled.fault is not None:
        difference = difference_of(polled.fault)
        return observed("delivered:undecodable", difference=difference).on(polled.answer)
    return observe(polled.answer)


def observe_messages(
    polled: Polled,
    sent: Sequence[MessageFrame],
    compare: Callable[[MessageFrame, MessageFrame], Difference | None] | None = None,
    *,
    right: str = AS_SENT,
) -> Observation:
    """Compare polled messages with sent ones; ``missing`` if there are too few."""
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    for number, (due, found) in enumerate(zip(sent, polled.frames, strict=False)):
        difference = (compare or differ)(due, found)
        if difference is not None:
            note = f"message {number + 1} of {len(sent)}"
            kind = right.partition(":")[0]
            value = f"{kind}:{difference.field}"
            return observed(value, difference=difference, note=note).on(polled)
    came = len(polled.frames)
    if came < len(sent):
        note = f"{came} of {len(sent)} came"
        return observed(MISSING, overdue=True, note=note).on(polled)
    if came > len(sent):
        return observed("delivered:more", note=f"{came} in place of {len(sent)}").on(polled)
    return observed(right).on(polled)


def differ(due: MessageFrame, found: MessageFrame) -> Difference | None:
    """Return the first field of a polled message that differs from the one sent."""
    if due.id != found.id:
        return Difference("id", None, str(due.id), str(found.id))
    if due.payload != found.payload:
        return _bytes_differ("payload", due.payload, found.payload)
    if due.user_headers != found.user_headers:
        return _bytes_differ("headers", due.user_headers, found.user_headers)
    return None


def _bytes_differ(name: str, due: bytes, found: bytes) -> Difference:
    pairs = enumerate(zip(due, found, strict=False))
    at = next((n for n, (one, other) in pairs if one != other), min(len(due), len(found)))
    return Difference(name, at, show_value(due[at:]), show_value(found[at:]))


def observe_absence(polled: Polled, *, unwanted: Sequence[bytes], sentinel: bytes) -> Observation:
    """Return ``unwanted``, ``absent`` or ``no-sentinel`` for payloads that must not be stored.

    The sentinel was sent behind them, and came before the poll.
    """
    unread = observe_unread(polled)
    if unread is not None:
        return unread
    if sentinel not in polled.payloads:
        return observed("no-sentinel", overdue=True).on(polled)
    before = polled.payloads[: polled.payloads.index(sentinel)]
    is_there = bool(before) or bool(set(unwanted) & set(polled.payloads))
    return observed("unwanted" if is_there else "absent").on(polled)


def difference_of(fault: WireError) -> Difference:
    """Return the difference that a decoding error describes."""
    return Difference(fault.field, fault.offset, fault.expected, fault.found)


def first_unlike(seen: Sequence[Observation], right: str) -> Observation:
    """Return the first observation that is not the right one; else the first one."""
    worst = next((each for each in seen if each.value != right), seen[0])
    evidence = tuple(step for each in seen for step in each.evidence)
    return replace(worst, evidence=worst.evidence or evidence)
