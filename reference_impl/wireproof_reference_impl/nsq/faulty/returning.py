"""Overrides of what becomes of a message that comes back, and of what overtakes it."""

from collections.abc import Callable, Sequence
from enum import Enum, auto

from wireproof_reference_impl.nsq.core import channel as channels
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.overrides import Original, Override, around, replaced


class Return(Enum):
    """Why a message comes back."""

    PUT_BACK = auto()
    TIMED_OUT = auto()
    LEFT = auto()


class _Returned(Held):
    """A message that knows why it came back."""

    why: Return | None = None


ComesBack = Callable[[Held, Return], Held | None]
Overtaken = Callable[[Held], bool]


def coming_back(comes_back: ComesBack) -> tuple[Override, ...]:
    """Return overrides under which this is sent again of what is put back or times out."""

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
    """Return overrides under which, if ordered, new messages go before some that came back."""

    def take_returned(original: Original, channel: Channel) -> object:
        back = channel.returned
        overtakes = channel.ordered and bool(back) and overtaken(back[0])
        return None if overtakes and channel.backlog.upcoming() else original(channel)

    return (around(Channel, "take_returned", take_returned),)


def overtaken_after(why: Return) -> tuple[Override, ...]:
    """Return overrides under which new messages overtake those that came back for a reason."""

    def noting(held: Held, reason: Return) -> Held:
        if isinstance(held, _Returned):
            held.why = reason
        return held

    def give_back(original: Original, channel: Channel, held: Sequence[Held], now_ns: int) -> None:
        original(channel, [noting(each, Return.LEFT) for each in held], now_ns)

    return (
        replaced(channels, "Held", _Returned),
        *coming_back(noting),
        around(Channel, "give_back", give_back),
        *overtaken_when(lambda held: isinstance(held, _Returned) and held.why is why),
    )
