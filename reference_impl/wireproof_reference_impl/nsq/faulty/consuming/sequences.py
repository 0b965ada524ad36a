"""Faults that show only after a sequence of moves: wrong redeliveries, and their wrong order."""

from wireproof_reference_impl.faults import list_faults, setting
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.returning import Return, coming_back, overtaken_when
from wireproof_reference_impl.nsq.faulty.ways import boundary, condition, missing, wrong_value

LONG_HEADER = 4_096
LARGE_BODY = 65_535


@condition("smart.history.kept smart.history.order", coming_back)
def history_every_seventh_lost(held: Held, why: Return) -> Held | None:
    """Every seventh message that is requeued or times out is lost."""
    return None if held.message.internal_id % 7 == 0 else held


@boundary("smart.history.kept", coming_back)
def history_second_time_out_lost(held: Held, why: Return) -> Held | None:
    """A message that was requeued or timed out before is lost when it times out."""
    return None if why is Return.TIMED_OUT and held.attempts > 1 else held


@boundary("smart.history.order", coming_back)
def history_second_put_back_lost(held: Held, why: Return) -> Held | None:
    """A message is lost when it is requeued a second time."""
    return None if why is Return.PUT_BACK and held.attempts > 1 else held


@missing("smart.history.kept dispatch.history", setting("dispatch.given_back"))
def history_one_of_two_lost(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """If a client disconnects with exactly two messages in flight, one of them is lost."""
    return held[:1] if len(held) == 2 else held


@condition(
    "smart.history.kept smart.history.order dispatch.history", setting("dispatch.given_back")
)
def history_left_twice_lost(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """A message redelivered once is lost when the client that holds it disconnects."""
    return [each for each in held if each.attempts < 2]


@boundary("smart.history.kept", coming_back)
def history_long_header_lost(held: Held, why: Return) -> Held | None:
    """A message whose header is longer than 4,096 bytes is lost when it times out."""
    is_long = len(held.message.header or b"") > LONG_HEADER
    return None if why is Return.TIMED_OUT and is_long else held


@boundary("smart.history.kept", setting("dispatch.given_back"))
def history_large_lost(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """A message larger than 65,535 bytes is lost when the client that holds it disconnects."""
    return [each for each in held if len(each.message.body) <= LARGE_BODY]


@wrong_value("dispatch.to-matching", coming_back)
def history_tag_forgotten(held: Held, why: Return) -> Held | None:
    """A message that is requeued or times out loses its tag."""
    held.message = held.message._replace(tag=None)
    return held


@missing("smart.connection.timed-out", coming_back)
def timed_out_lost(held: Held, why: Return) -> Held | None:
    """A message that times out on an unordered channel is lost."""
    return None if why is Return.TIMED_OUT else held


@boundary("smart.connection.timed-out", coming_back)
def timed_out_lost_of_every_fifth(held: Held, why: Return) -> Held | None:
    """Every fifth message of a partition is lost when it times out."""
    is_fifth = held.message.internal_id % 5 == 0
    return None if why is Return.TIMED_OUT and is_fifth else held


@condition("smart.connection.timed-out", coming_back)
def timed_out_lost_with_header(held: Held, why: Return) -> Held | None:
    """A message with a header is lost when it times out."""
    return None if why is Return.TIMED_OUT and held.message.header is not None else held


@wrong_value("dispatch.history", setting("dispatch.given_back"))
def history_tag_forgotten_at_leave(held: list[Held], subscriber: Subscriber) -> list[Held]:
    """A message in flight loses its tag when its client disconnects."""
    for each in held:
        each.message = each.message._replace(tag=None)
    return held


@missing("dispatch.history", coming_back)
def history_tagged_time_out_lost(held: Held, why: Return) -> Held | None:
    """A message with a tag is lost when it times out."""
    return None if why is Return.TIMED_OUT and held.message.tag is not None else held


@condition("smart.history.order", overtaken_when)
def history_overtaken(held: Held) -> bool:
    """On an ordered channel, the next message is delivered before one due for redelivery."""
    return held.attempts == 1


@boundary("smart.history.order", overtaken_when)
def history_overtaken_later(held: Held) -> bool:
    """On an ordered channel, the next message is delivered before one due for a second
    redelivery.
    """
    return held.attempts == 2


@wrong_value("smart.history.order", overtaken_when)
def history_overtaken_at_times(held: Held) -> bool:
    """On an ordered channel, the next message is delivered before every second one due for
    redelivery.
    """
    return held.message.internal_id % 2 == 1


FAULTS = list_faults(__name__)
