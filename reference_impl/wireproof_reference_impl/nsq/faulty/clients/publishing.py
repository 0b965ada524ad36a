"""Faults of a producer: what it sends, to whom, and what it makes of the answer."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable
from itertools import count

from wireproof_reference_impl.nsq.client.core import commands, partitioning, retry
from wireproof_reference_impl.nsq.client.core.commands import Publish
from wireproof_reference_impl.nsq.client.core.connection import Answered, NodeConnection, Refused
from wireproof_reference_impl.nsq.client.core.effects import Failure, Receipt
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.producer import Job, Lane, Producer
from wireproof_reference_impl.nsq.client.core.retry import Verdict
from wireproof_reference_impl.nsq.client.core.settings import Settings
from wireproof_reference_impl.nsq.client.core.topology import Place, Topology
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    constant,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override
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


_REFRESHES = "client.retry-refreshed client-publish.topic-not-exist"
_MOVES = f"{_REFRESHES} client.shard-retry"


_OUTCOMES = "client-publish.refusal-told client-publish.unanswered client-lookup.told"


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


def _success_in_the_end(original: Original, self: Producer, job: Job, outcome: object) -> None:
    if isinstance(outcome, Failure) and not outcome.code and job.attempts > 0:
        outcome = Receipt(0)
    original(self, job, outcome)


def _success_unsent(original: Original, self: Producer, job: Job, outcome: object) -> None:
    if isinstance(outcome, Failure) and not self.lookups.topology.places:
        outcome = Receipt(0)
    original(self, job, outcome)


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


def _renew(original: Original, self: Lane, event: object) -> None:
    original(self, event)
    if isinstance(event, Answered | Refused) and self._current is None:
        self._reopen()


def _renew_before(original: Original, self: Lane) -> None:
    """Publish each message on a connection of its own; the old ones stay open."""
    if self._current is None and self._jobs and self._link.is_ready:
        if vars(self._link).get("used"):
            self._link = self._open()
            return
        vars(self._link)["used"] = True
    original(self)


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


def _unnumbered(
    original: Original, self: NodeConnection, topic: str, partition: int | None, message: Publish
) -> object:
    plain = message.key is None and not message.has_header and message.trace_id is None
    return original(self, topic, None if plain else partition, message)


def _bad_size(size: bytes) -> Override:
    """Send this size with the fifth publish of the process."""
    numbers = count(1)

    def call(original: Original, message: Publish) -> object:
        body = original(message)
        assert isinstance(body, bytes)
        return size + body[4:] if next(numbers) == 5 else body

    return around(commands, "publish_body", call)


def _first_place(original: Original, topology: Topology, turn: int) -> Place:
    return topology.places[0]


def _last_place(original: Original, topology: Topology, turn: int) -> Place:
    return topology.places[-1]


def _never_due(original: Original, settings: Settings) -> float:
    return 1e6


def _ignore(*_: object) -> None:
    """Do nothing."""


def _no_reset(original: Original, self: Link, reason: str) -> None:
    if reason != "it does not answer":
        original(self, reason)


_UNTOLD_REFUSAL = _silent_if(lambda _, job, failure: bool(failure.code))


_PUBLISHES = "client-send.publish client.any-partition client.pool client-send.well-formed"


FAULTS = (
    wrong_value(
        "size-negative",
        "The fifth publish has a negative size.",
        "client-send.well-formed",
        _bad_size(b"\xff\xff\xff\xff"),
        may=f"{_PUBLISHES} client.shard client.trace-switch client-robust.frame",
    ),
    wrong_value(
        "size-too-great",
        "The fifth publish has a size beyond every limit.",
        "client-send.well-formed",
        _bad_size(b"\x7f\xff\xff\xff"),
        may=f"{_PUBLISHES} client.shard client.trace-switch client-robust.frame",
    ),
    condition(
        "partition-wrong",
        "Each third publish names the next partition.",
        "client-send.publish",
        _wrong_partition(3),
        may="client.any-partition client.pool client-publish.retry client.retry-bound",
    ),
    missing(
        "partition-unnamed",
        "PUB names no partition.",
        "client-send.publish",
        around(NodeConnection, "publish", _unnumbered),
        may="client.any-partition client.original",
    ),
    missing(
        "first-partition-only",
        "Messages without a sharding id go to the first partition.",
        "client.any-partition",
        around(partitioning, "place_in_turn", _first_place),
    ),
    missing(
        "last-place-only",
        "Messages without a sharding id go to the last partition.",
        "client.any-partition",
        around(partitioning, "place_in_turn", _last_place),
    ),
    missing(
        "success-when-sent",
        "The user is told of success when a publish is sent.",
        "client.wait-response",
        _settle_when_sent(0.0),
        _ONCE,
        may=f"{_OUTCOMES} ext.client-header.refused client-trace.receipt client-trace.bare-ok "
        f"client.shard-unavailable {_MOVES} client-publish.retry",
    ),
    boundary(
        "success-after-a-while",
        "The user is told of success 0.2 s after a publish is sent.",
        "client.wait-response",
        _settle_when_sent(0.2),
        _ONCE,
        may="client-publish.unanswered client-publish.refusal-told",
    ),
    missing(
        "connection-renewed",
        "A connection is closed after each publish.",
        "client.pool",
        around(Lane, "handle_event", _renew),
        may="client.heartbeat client.heartbeat-nop",
    ),
    extra(
        "connection-each",
        "Each publish has a connection of its own, which stays open.",
        "client.pool",
        around(Lane, "_pump", _renew_before),
        may="client.end client.shard",
    ),
    extra(
        "final-errors-repeated",
        "A message that was refused for itself is published again.",
        "client.no-retry client-publish.permanent-errors",
        _judged(Verdict.AGAIN, *_FINAL),
    ),
    condition(
        "bad-body-repeated",
        "A publish refused with E_BAD_BODY is repeated.",
        "client.no-retry",
        _judged(Verdict.AGAIN, error_codes.E_BAD_BODY),
    ),
    condition(
        "bad-topic-repeated",
        "A publish refused with E_BAD_TOPIC is repeated.",
        "client-publish.permanent-errors",
        _judged(Verdict.AGAIN, error_codes.E_BAD_TOPIC),
    ),
    missing(
        "moved-not-refreshed",
        "A publish at the wrong node is repeated without a lookup.",
        _REFRESHES,
        _judged(Verdict.AGAIN, *_MOVED),
        may="client.shard client.shard-retry",
    ),
    missing(
        "moved-not-repeated",
        "A publish at the wrong node is not repeated.",
        _MOVES,
        _judged(Verdict.FAIL, *_MOVED),
        may="client.shard client.retry-bound",
    ),
    condition(
        "not-writable-not-repeated",
        "A publish at a node that may not write is not repeated.",
        "client.retry-refreshed",
        _judged(Verdict.FAIL, error_codes.E_FAILED_ON_NOT_WRITABLE),
    ),
    missing(
        "failed-not-repeated",
        "A publish refused with E_PUB_FAILED is not repeated.",
        "client-publish.retry",
        _judged(Verdict.FAIL, error_codes.E_PUB_FAILED),
    ),
    missing(
        "invalid-not-repeated",
        "A publish refused with E_INVALID is not repeated.",
        "client-publish.retry",
        _judged(Verdict.FAIL, error_codes.E_INVALID),
    ),
    missing(
        "repeats-for-ever",
        "A publish is repeated for ever.",
        "client.retry-bound",
        constant(retry, "may_repeat", True),
        constant(retry, "repeat_delay", 0.02),
        around(retry, "budget", _never_due),
        may=_OUTCOMES,
    ),
    boundary(
        "repeats-too-often",
        "A publish is repeated forty times.",
        "client.retry-bound",
        around(retry, "may_repeat", lambda original, settings, attempts: attempts < 40),
        constant(retry, "repeat_delay", 0.02),
        may=_OUTCOMES,
    ),
    wrong_value(
        "refusal-told-success",
        "The user is told of success when a publish was refused.",
        "client-publish.refusal-told ext.client-header.refused",
        _told_success(),
        may=_MOVES,
    ),
    condition(
        "bad-body-told-success",
        "The user is told of success after E_BAD_BODY.",
        "client-publish.refusal-told",
        _told_success(error_codes.E_BAD_BODY),
    ),
    missing(
        "refusal-untold",
        "The user is told nothing when a publish was refused.",
        "client-publish.refusal-told ext.client-header.refused",
        _UNTOLD_REFUSAL,
        may="client.retry-bound client.no-retry client-publish.permanent-errors "
        "client-publish.retry",
    ),
    condition(
        "no-support-told-success",
        "The user is told of success after E_EXT_NOT_SUPPORT.",
        "ext.client-header.refused",
        _told_success(error_codes.E_EXT_NOT_SUPPORT),
        may="client-publish.refusal-told",
    ),
    wrong_value(
        "silence-told-success",
        "The user is told of success when no node has answered.",
        "client-publish.unanswered",
        around(Producer, "settle", _success_in_the_end),
        may="client-lookup.told client.shard-unavailable client-trace.bare-ok",
    ),
    missing(
        "silence-untold",
        "A publish waits for its answer for ever.",
        "client-publish.unanswered",
        around(Link, "reset", _no_reset),
        around(Producer, "_expire", _ignore),
    ),
    wrong_value(
        "nowhere-told-success",
        "The user is told of success when no node is known.",
        "client-lookup.told",
        around(Producer, "settle", _success_unsent),
    ),
    missing(
        "nowhere-untold",
        "The user is told nothing when no node is known.",
        "client-lookup.told",
        _silent_if(lambda self, job, failure: not self.lookups.topology.places),
        may="client.lookup-retry client-lookup.nobody client-robust.lookup client-lookup.dead",
    ),
)
