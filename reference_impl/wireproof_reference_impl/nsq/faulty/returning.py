"""Overrides for messages that come back, and for messages that overtake them."""

from collections.abc import Callable, Sequence
from enum import Enum, auto

from wireproof_reference_impl.nsq.core import channel as channels
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.overrides import Original, Override, around, replace_function


class Return(Enum):
    """Why a message is delivered again: requeued, timed out, or its client left."""

    PUT_BACK = auto()
    TIMED_OUT = auto()
    LEFT = auto()


class _ReturnedMessage(Held):
    """A message with the reason why it came back."""

    why: Return | None = None


ComesBack = Callable[[Held, Return], Held | None]
Overtaken = Callable[[Held], bool]


def coming_back(comes_back: ComesBack) -> tuple[Override, ...]:
    """Return overrides that change or drop a message when it is requeued or times out."""

    def because(why: Return) -> Callable[..., object]:
        def come_back(
            original: Original, channel: Channel, held: Held, now_ns: int, **delay: int
        ) -> None:
            back = comes_back(held, why)
            if back is None:
                channel.serve(now_ns)
            else:
                original(channel, back, now_ns, **delay)

        return come_back

    return (
        around(Channel, "put_back", because(Return.PUT_BACK)),
        around(Channel, "time_out", because(Return.TIMED_OUT)),
    )


def overtaken_when(overtaken: Overtaken) -> tuple[Override, ...]:
    """Return overrides under which an ordered channel sends new messages before returned ones."""

    def take_returned(original: Original, channel: Channel) -> object:
        back = channel.returned
        overtakes = channel.ordered and bool(back) and overtaken(back[0])
        return None if overtakes and channel.backlog.list_upcoming() else original(channel)

    return (around(Channel, "take_returned", take_returned),)


def overtaken_after(why: Return) -> tuple[Override, ...]:
    """Return overrides under which new messages overtake those returned for one reason."""

    def note_return(held: Held, reason: Return) -> Held:
        if isinstance(held, _ReturnedMessage):
            held.why = reason
        return held

    def give_back(original: Original, channel: Channel, held: Sequence[Held], now_ns: int) -> None:
        original(channel, [note_return(each, Return.LEFT) for each in held], now_ns)

    return (
        replace_function(channels, "Held", _ReturnedMessage),
        *coming_back(note_return),
        around(Channel, "give_back", give_back),
        *overtaken_when(lambda held: isinstance(held, _ReturnedMessage) and held.why is why),
    )
