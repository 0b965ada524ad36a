"""Faults of a producer: what it sends, to whom, and what it makes of the answer."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from itertools import count

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import commands, partitioning, retry
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import Answered, NodeConnection, Refused
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.retry import Verdict
from wireproof_reference_impl.nsq.client.core.settings import Settings
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq import error_codes

_FINAL = (
    error_codes.E_BAD_MESSAGE,
    error_codes.E_BAD_TOPIC,
    error_codes.E_BAD_BODY,
    error_codes.E_EXT_NOT_SUPPORT,
)


_MOVED = (
    error_codes.E_FAILED_ON_NOT_LEADER,
    error_codes.E_FAILED_ON_NOT_WRITABLE,
    error_codes.E_TOPIC_NOT_EXIST,
)


def _judged(verdict: Verdict, *codes: str) -> Override:
    def call(original: Original, code: str) -> object:
        return verdict if code in codes else original(code)

    return around(retry, "judge", call)


def _told_success(*codes: str) -> Override:
    """Tell the user of success when a node has refused with one of these codes."""

    def call(original: Original, self: Producer, job: Job, outcome: Receipt | Failure) -> None:
        refused = isinstance(outcome, Failure) and outcome.code
        if refused and (not codes or refused in codes):
            outcome = Receipt(0)
        original(self, job, outcome)

    return around(Producer, "settle", call)


def _silent_if(test: Callable[[Producer, Job, Failure], bool]) -> Override:
    """Do not tell the user of such failures."""

    def call(original: Original, self: Producer, job: Job, outcome: Receipt | Failure) -> None:
        if isinstance(outcome, Failure) and test(self, job, outcome):
            job.is_settled = True
        else:
            original(self, job, outcome)

    return around(Producer, "settle", call)


def _settle_when_sent(delay: float) -> Override:
    def call(original: Original, self: Lane) -> None:
        original(self)
        job = self._current
        if job is not None and not job.is_settled:
            self._host.after(delay, lambda: self._producer.settle(job, Receipt(0)))

    return around(Lane, "_pump", call)


def _settle_once(original: Original, self: Producer, job: Job, outcome: object) -> None:
    if not job.is_settled:
        original(self, job, outcome)


_ONCE = around(Producer, "settle", _settle_once)


def _bad_size(size: bytes) -> Override:
    """Send this size with the fifth publish of the process."""
    numbers = count(1)

    def call(original: Original, message: Publish) -> object:
        body = original(message)
        assert isinstance(body, bytes)
        return size + body[4:] if next(numbers) == 5 else body

    return around(commands, "publish_body", call)


_UNTOLD_REFUSAL = _silent_if(lambda _, job, failure: bool(failure.code))


@wrong_value("client-send.well-formed")
def size_negative() -> Change:
    """The fifth publish has a negative size."""
    return _bad_size(b"\xff\xff\xff\xff")


@wrong_value("client-send.well-formed")
def size_too_great() -> Change:
    """The fifth publish has a size beyond every limit."""
    return _bad_size(b"\x7f\xff\xff\xff")


def _wrong_partition(every: int) -> Override:
    numbers = count(1)

    def call(
        original: Original,
        self: NodeConnection,
        topic: str,
        partition: int | None,
        message: Publish,
    ) -> object:
        if partition is not None and message.key is None and next(numbers) % every == 0:
            partition += 1
        return original(self, topic, partition, message)

    return around(NodeConnection, "publish", call)


@condition("client-send.publish")
def partition_wrong() -> Change:
    """Each third publish names the next partition."""
    return _wrong_partition(3)


@missing("client-send.publish", around(NodeConnection, "publish"))
def partition_unnamed(
    original: Original, self: NodeConnection, topic: str, partition: int | None, message: Publish
) -> object:
    """PUB names no partition."""
    plain = message.key is None and not message.has_header and message.trace_id is None
    return original(self, topic, None if plain else partition, message)


@missing("client.any-partition", around(partitioning, "place_in_turn"))
def first_partition_only(original: Original, topology: Topology, turn: int) -> Place:
    """Messages without a sharding id go to the first partition."""
    return topology.places[0]


@missing("client.any-partition", around(partitioning, "place_in_turn"))
def last_place_only(original: Original, topology: Topology, turn: int) -> Place:
    """Messages without a sharding id go to the last partition."""
    return topology.places[-1]


@missing("client.wait-response")
def success_when_sent() -> Change:
    """The user is told of success when a publish is sent."""
    return (
        _settle_when_sent(0.0),
        _ONCE,
    )


@boundary("client.wait-response")
def success_after_a_while() -> Change:
    """The user is told of success 0.2 s after a publish is sent."""
    return (
        _settle_when_sent(0.2),
        _ONCE,
    )


@missing("client.pool", around(Lane, "handle_event"))
def connection_renewed(original: Original, self: Lane, event: object) -> None:
    """A connection is closed after each publish."""
    original(self, event)
    if isinstance(event, Answered | Refused) and self._current is None:
        self._reopen()


@extra("client.pool", around(Lane, "_pump"))
def connection_each(original: Original, self: Lane) -> None:
    """Each publish has a connection of its own, which stays open."""
    if self._current is None and self._jobs and self._link.is_ready:
        if vars(self._link).get("used"):
            self._link = self._open()
            return
        vars(self._link)["used"] = True
    original(self)


@extra("client.no-retry client-publish.permanent-errors")
def final_errors_repeated() -> Change:
    """A message that was refused for itself is published again."""
    return _judged(Verdict.AGAIN, *_FINAL)


@condition("client.no-retry")
def bad_body_repeated() -> Change:
    """A publish refused with E_BAD_BODY is repeated."""
    return _judged(Verdict.AGAIN, error_codes.E_BAD_BODY)


@condition("client-publish.permanent-errors")
def bad_topic_repeated() -> Change:
    """A publish refused with E_BAD_TOPIC is repeated."""
    return _judged(Verdict.AGAIN, error_codes.E_BAD_TOPIC)


@missing("client.retry-refreshed client-publish.topic-not-exist")
def moved_not_refreshed() -> Change:
    """A publish at the wrong node is repeated without a lookup."""
    return _judged(Verdict.AGAIN, *_MOVED)


@missing("client.retry-refreshed client-publish.topic-not-exist client.shard-retry")
def moved_not_repeated() -> Change:
    """A publish at the wrong node is not repeated."""
    return _judged(Verdict.FAIL, *_MOVED)


@condition("client.retry-refreshed")
def not_writable_not_repeated() -> Change:
    """A publish at a node that may not write is not repeated."""
    return _judged(Verdict.FAIL, error_codes.E_FAILED_ON_NOT_WRITABLE)


@missing("client-publish.retry")
def failed_not_repeated() -> Change:
    """A publish refused with E_PUB_FAILED is not repeated."""
    return _judged(Verdict.FAIL, error_codes.E_PUB_FAILED)


@missing("client-publish.retry")
def invalid_not_repeated() -> Change:
    """A publish refused with E_INVALID is not repeated."""
    return _judged(Verdict.FAIL, error_codes.E_INVALID)


@missing(
    "client.retry-bound",
    around(retry, "budget"),
    also=(
        constant(retry, "may_repeat", True),
        constant(retry, "repeat_delay", 0.02),
    ),
)
def repeats_for_ever(original: Original, settings: Settings) -> float:
    """A publish is repeated for ever."""
    return 1e6


@boundary(
    "client.retry-bound",
    around(retry, "may_repeat"),
    also=(constant(retry, "repeat_delay", 0.02),),
)
def repeats_too_often(_: Original, settings: object, attempts: int) -> bool:
    """A publish is repeated forty times."""
    return attempts < 40


@wrong_value("client-publish.refusal-told ext.client-header.refused")
def refusal_told_success() -> Change:
    """The user is told of success when a publish was refused."""
    return _told_success()


@condition("client-publish.refusal-told")
def bad_body_told_success() -> Change:
    """The user is told of success after E_BAD_BODY."""
    return _told_success(error_codes.E_BAD_BODY)


@missing("client-publish.refusal-told ext.client-header.refused")
def refusal_untold() -> Change:
    """The user is told nothing when a publish was refused."""
    return _UNTOLD_REFUSAL


@condition("ext.client-header.refused")
def no_support_told_success() -> Change:
    """The user is told of success after E_EXT_NOT_SUPPORT."""
    return _told_success(error_codes.E_EXT_NOT_SUPPORT)


@wrong_value("client-publish.unanswered", around(Producer, "settle"))
def silence_told_success(original: Original, self: Producer, job: Job, outcome: object) -> None:
    """The user is told of success when no node has answered."""
    if isinstance(outcome, Failure) and not outcome.code and job.attempts > 0:
        outcome = Receipt(0)
    original(self, job, outcome)


def _ignore(*_: object) -> None:
    """Do nothing."""


def _no_reset(original: Original, self: Link, reason: str) -> None:
    if reason != "it does not answer":
        original(self, reason)


@missing("client-publish.unanswered")
def silence_untold() -> Change:
    """A publish waits for its answer for ever."""
    return (
        around(Link, "reset", _no_reset),
        around(Producer, "_expire", _ignore),
    )


@wrong_value("client-lookup.told", around(Producer, "settle"))
def nowhere_told_success(original: Original, self: Producer, job: Job, outcome: object) -> None:
    """The user is told of success when no node is known."""
    if isinstance(outcome, Failure) and not self.lookups.topology.places:
        outcome = Receipt(0)
    original(self, job, outcome)


@missing("client-lookup.told", _silent_if)
def nowhere_untold(self: Producer, job: Job, failure: Failure) -> bool:
    """The user is told nothing when no node is known."""
    return not self.lookups.topology.places


FAULTS = list_faults(__name__)
