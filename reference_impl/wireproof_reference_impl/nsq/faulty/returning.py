"""Overrides for messages that come back, and for messages that overtake them."""

from collections.abc import Callable, Sequence
from enum import Enum, auto

from wireproof_reference_impl.nsq.core import channel as channels
from wireproof_reference_impl.nsq.core.channel import Channel
from wireproof_reference_impl.nsq.delivery.in_flight import Held
from wireproof_reference_impl.overrides import Override, replace_function


class Return(Enum):
    """Why a message comes back."""

    PUT_BACK = auto()
    TIMED_OUT = auto()
    LEFT = auto()


class _ReturnedMessage(Held):
    """A message with the reason why it came back."""

    why: Return | None = None


ComesBack = Callable[[Held, Return], Held | None]
Overtaken = Callable[[Held], bool]


def coming_back(comes_back: ComesBack) -> tuple[Override, ...]:
    """Return overrides that change what is redelivered after a requeue or a timeout."""

    def because(why: Return) -> Callable[[Callable[..., object]], Callable[..., object]]:
        def wrap(original: Callable[..., object]) -> Callable[..., object]:
            def come_back(channel: Channel, held: Held, now_ns: int, **delay: int) -> None:
                back = comes_back(held, why)
                if back is None:
                    channel.serve(now_ns)
                else:
                    original(channel, back, now_ns, **delay)

            return come_back

        return wrap

    return (
        Override(Channel, "put_back", because(Return.PUT_BACK)),
        Override(Channel, "time_out", because(Return.TIMED_OUT)),
    )


def overtaken_when(overtaken: Overtaken) -> tuple[Override, ...]:
    """Return overrides under which an ordered channel sends new messages before returned ones."""

    def wrap(original: Callable[..., object]) -> Callable[..., object]:
        def take_returned(channel: Channel) -> object:
            back = channel.returned
            overtakes = channel.ordered and bool(back) and overtaken(back[0])
            return None if overtakes and channel.backlog.list_upcoming() else original(channel)

        return take_returned

    return (Override(Channel, "take_returned", wrap),)


def overtaken_after(why: Return) -> tuple[Override, ...]:
    """Return overrides under which new messages overtake those that came back for one reason."""

    def note_return(held: Held, reason: Return) -> Held:
        if isinstance(held, _ReturnedMessage):
            held.why = reason
        return held

    def wrap(original: Callable[..., object]) -> Callable[..., object]:
        def give_back(channel: Channel, held: Sequence[Held], now_ns: int) -> None:
            original(channel, [note_return(each, Return.LEFT) for each in held], now_ns)

        return give_back

    return (
        replace_function(channels, "Held", _ReturnedMessage),
        *coming_back(note_return),
        Override(Channel, "give_back", wrap),
        *overtaken_when(lambda held: isinstance(held, _ReturnedMessage) and held.why is why),
    )
