"""Faults of a consumer that acknowledges messages: FIN, REQ and TOUCH, their ids and times."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from collections.abc import Callable

from wireproof_reference_impl.nsq.client.core import commands
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.consumer import Consumer, Outcome
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    constant,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override

_FINISHES = (
    "client.subscribe-each client.partition-connection client-connection.undisturbed "
    "client-connection.graceful-end client.end client-send.ready client-order.one "
    "client.order-rdy client.error-open client-send.finish client-connection.reconnect "
    "client.trace-log-consumer client.order-validate client.handler-outcomes "
    "client-trace.no-command client.order-log"
)
"""Clauses of which some case waits for FIN."""


def _no_finish(original: Original, self: Subscription, id: bytes) -> None:
    self._release(id)


def _requeue_instead(original: Original, self: Subscription, id: bytes) -> None:
    self.requeue(id, 0.05)


def _finish_failed(original: Original, self: Consumer, ticket: int, outcome: Outcome) -> None:
    original(self, ticket, Outcome.FINISHED)


def _no_touch(original: Original, self: Subscription, id: bytes) -> None:
    """Do nothing."""


def _id(command: str, change: Callable[[bytes], bytes]) -> Override:
    def call(original: Original, id: bytes, *more: object) -> object:
        return original(change(id), *more)

    return around(commands, command, call)


def _feed_as_blank(id: bytes) -> bytes:
    return id.replace(b"\n", b" ")


def _if_in_flight(act: Callable[[Subscription], None]) -> Override:
    """Do this instead of taking a message again that a handler still has."""

    def call(original: Original, self: Subscription, data: bytes) -> None:
        if data[10:26] in self._in_flight:
            act(self)
        else:
            original(self, data)

    return around(Subscription, "_take_message", call)


FAULTS = (
    missing(
        "never-finishes",
        "No message is finished.",
        "client.finish",
        around(Subscription, "finish", _no_finish),
        may=_FINISHES,
    ),
    wrong_value(
        "requeues-finished",
        "A message that was handled is given back.",
        "client.finish",
        around(Subscription, "finish", _requeue_instead),
        may=_FINISHES,
    ),
    wrong_value(
        "finishes-failed",
        "A message whose handler failed is finished.",
        "client.handler-outcomes client.order-no-skip client.order-policy",
        around(Consumer, "settle", _finish_failed),
        may="client.order-log",
    ),
    missing(
        "no-touch",
        "TOUCH is not sent.",
        "client.handler-outcomes",
        around(Subscription, "touch", _no_touch),
    ),
    wrong_value(
        "finish-id-blank",
        "A line feed in the id is finished as a blank.",
        "client-send.finish",
        _id("finish", _feed_as_blank),
    ),
    wrong_value(
        "finish-id-stripped",
        "Blanks at the end of the id are finished as zeros.",
        "client-send.finish",
        _id("finish", lambda id: id.rstrip().ljust(16, b"\0")),
    ),
    wrong_value(
        "requeue-id-blank",
        "A line feed in the id is given back as a blank.",
        "client.handler-outcomes",
        _id("requeue", _feed_as_blank),
    ),
    wrong_value(
        "touch-id-blank",
        "A line feed in the id is touched as a blank.",
        "client.handler-outcomes",
        _id("touch", _feed_as_blank),
    ),
    missing(
        "timed-out-dropped",
        "A message that comes again while a handler has it is passed over.",
        "client-consume.timed-out",
        _if_in_flight(lambda self: None),
    ),
    extra(
        "timed-out-resets",
        "A message that comes again while a handler has it ends the connection.",
        "client-consume.timed-out",
        _if_in_flight(lambda self: self._link.reset("a message comes twice")),
    ),
    missing(
        "finishes-late",
        "A message is finished although its time is over.",
        "client-consume.no-late-finish",
        constant(subscriptions, "is_late", False),
    ),
    boundary(
        "finishes-two-seconds-late",
        "A message is finished up to 2 s after its time is over.",
        "client-consume.no-late-finish",
        around(subscriptions, "is_late", lambda original, now, due: now >= due + 2.0),
    ),
)
