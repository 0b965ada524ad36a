"""Faults of a consumer that acknowledges messages: FIN, REQ and TOUCH, their ids and times."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from functools import partial

from wireproof_reference_impl.client_faults import constant
from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import commands
from wireproof_reference_impl.nsq.client.core import subscription as subscriptions
from wireproof_reference_impl.nsq.client.core.consumer import Consumer, Outcome
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.ways import boundary, extra, missing, wrong_value
from wireproof_reference_impl.overrides import Original, Override, around


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


@missing("client.finish", around(Subscription, "finish"))
def never_finishes(original: Original, self: Subscription, id: bytes) -> None:
    """No message is finished."""
    self._release(id)


@wrong_value("client.finish", around(Subscription, "finish"))
def requeues_finished(original: Original, self: Subscription, id: bytes) -> None:
    """A message that was handled is given back."""
    self.requeue(id, 0.05)


@wrong_value(
    "client.handler-outcomes client.order-no-skip client.order-policy", around(Consumer, "settle")
)
def finishes_failed(original: Original, self: Consumer, ticket: int, outcome: Outcome) -> None:
    """A message whose handler failed is finished."""
    original(self, ticket, Outcome.FINISHED)


@missing("client.handler-outcomes", around(Subscription, "touch"))
def no_touch(original: Original, self: Subscription, id: bytes) -> None:
    """TOUCH is not sent."""


@wrong_value("client-send.finish")
def finish_id_blank() -> Change:
    """A line feed in the id is finished as a blank."""
    return _id("finish", _feed_as_blank)


@wrong_value("client-send.finish", partial(_id, "finish"))
def finish_id_stripped(id: bytes) -> bytes:
    """Blanks at the end of the id are finished as zeros."""
    return id.rstrip().ljust(16, b"\0")


@wrong_value("client.handler-outcomes")
def requeue_id_blank() -> Change:
    """A line feed in the id is given back as a blank."""
    return _id("requeue", _feed_as_blank)


@wrong_value("client.handler-outcomes")
def touch_id_blank() -> Change:
    """A line feed in the id is touched as a blank."""
    return _id("touch", _feed_as_blank)


@missing("client-consume.timed-out", _if_in_flight)
def timed_out_dropped(self: Subscription) -> None:
    """A message that comes again while a handler has it is passed over."""
    return


@extra("client-consume.timed-out", _if_in_flight)
def timed_out_resets(self: Subscription) -> None:
    """A message that comes again while a handler has it ends the connection."""
    return self._link.reset("a message comes twice")


@missing("client-consume.no-late-finish")
def finishes_late() -> Change:
    """A message is finished although its time is over."""
    return constant(subscriptions, "is_late", False)


@boundary("client-consume.no-late-finish", around(subscriptions, "is_late"))
def finishes_two_seconds_late(original: Original, now: float, due: float) -> object:
    """A message is finished up to 2 s after its time is over."""
    return now >= due + 2.0


@extra("client-consume.no-late-finish", around(Subscription, "finish"))
def finishes_twice(original: Original, self: Subscription, id: bytes) -> None:
    """A message is finished twice."""
    is_held = self._is_held(id)
    original(self, id)
    if is_held:
        self._link.send(commands.finish(id))


@extra("client-consume.no-late-finish", around(Subscription, "requeue"))
def finishes_requeued(original: Original, self: Subscription, id: bytes, delay_s: float) -> None:
    """A message that is given back is finished as well."""
    original(self, id, delay_s)
    self._link.send(commands.finish(id))


FAULTS = list_faults(__name__)
