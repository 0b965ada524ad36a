"""Faults that show only after a sequence of moves: wrong redeliveries, and their wrong order."""

from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.faulty.returning import Return, coming_back, overtaken_when
from wireproof_reference_impl.nsq.preset import (
    Preset,
    boundary,
    condition,
    missing,
    wrong_value,
)

_KEPT = "smart.history.kept"
_ORDER = "smart.history.order"
_TAGGED = "dispatch.history"


def _every_seventh_lost(held: Held, why: Return) -> Held | None:
    return None if held.message.internal_id % 7 == 0 else held


def _lost_when_it_timed_out_again(held: Held, why: Return) -> Held | None:
    return None if why is Return.TIMED_OUT and held.attempts > 1 else held


def _lost_when_put_back_again(held: Held, why: Return) -> Held | None:
    return None if why is Return.PUT_BACK and held.attempts > 1 else held


def _tag_forgotten(held: Held, why: Return) -> Held | None:
    held.message = held.message._replace(tag=None)
    return held


def _tagged_lost_when_it_timed_out(held: Held, why: Return) -> Held | None:
    return None if why is Return.TIMED_OUT and held.message.tag is not None else held


def _one_of_two_given_back(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return held[:1] if len(held) == 2 else held


def _tag_forgotten_at_leave(held: list[Held], subscriber: Subscriber) -> list[Held]:
    for each in held:
        each.message = each.message._replace(tag=None)
    return held


def _nothing_given_back_twice(held: list[Held], subscriber: Subscriber) -> list[Held]:
    return [each for each in held if each.attempts < 2]


def _overtaken_once(held: Held) -> bool:
    return held.attempts == 1


def _overtaken_when_sent_twice(held: Held) -> bool:
    return held.attempts == 2


def _overtaken_at_odd_ids(held: Held) -> bool:
    return held.message.internal_id % 2 == 1


FAULTS: tuple[Preset, ...] = (
    condition(
        "history-every-seventh-lost",
        "every seventh message that is requeued or times out is lost",
        breaks=f"{_KEPT} {_ORDER}",
        may_break=f"{_TAGGED} dispatch.to-matching",
        overrides=coming_back(_every_seventh_lost),
    ),
    boundary(
        "history-second-time-out-lost",
        "a message that was requeued or timed out before is lost when it times out",
        breaks=_KEPT,
        may_break=f"{_ORDER} {_TAGGED}",
        overrides=coming_back(_lost_when_it_timed_out_again),
    ),
    boundary(
        "history-second-put-back-lost",
        "a message is lost when it is requeued a second time",
        breaks=_ORDER,
        may_break=f"{_KEPT} {_TAGGED}",
        overrides=coming_back(_lost_when_put_back_again),
    ),
    missing(
        "history-one-of-two-lost",
        "if a client disconnects with exactly two messages in flight, one of them is lost",
        breaks=f"{_KEPT} {_TAGGED}",
        settings={"dispatch.given_back": _one_of_two_given_back},
    ),
    condition(
        "history-left-twice-lost",
        "a message redelivered once is lost when the client that holds it disconnects",
        breaks=f"{_KEPT} {_ORDER} {_TAGGED}",
        settings={"dispatch.given_back": _nothing_given_back_twice},
    ),
    wrong_value(
        "history-tag-forgotten",
        "a message that is requeued or times out loses its tag",
        breaks=_TAGGED,
        may_break="dispatch.to-matching",
        overrides=coming_back(_tag_forgotten),
    ),
    wrong_value(
        "history-tag-forgotten-at-leave",
        "a message in flight loses its tag when its client disconnects",
        breaks=_TAGGED,
        settings={"dispatch.given_back": _tag_forgotten_at_leave},
    ),
    missing(
        "history-tagged-time-out-lost",
        "a message with a tag is lost when it times out",
        breaks=_TAGGED,
        may_break="dispatch.to-matching",
        overrides=coming_back(_tagged_lost_when_it_timed_out),
    ),
    condition(
        "history-overtaken",
        "on an ordered channel, the next message is delivered before one due for redelivery",
        breaks=_ORDER,
        overrides=overtaken_when(_overtaken_once),
    ),
    boundary(
        "history-overtaken-later",
        "on an ordered channel, the next message is delivered before one due for a second "
        "redelivery",
        breaks=_ORDER,
        overrides=overtaken_when(_overtaken_when_sent_twice),
    ),
    wrong_value(
        "history-overtaken-at-times",
        "on an ordered channel, the next message is delivered before every second one due for "
        "redelivery",
        breaks=_ORDER,
        overrides=overtaken_when(_overtaken_at_odd_ids),
    ),
)
