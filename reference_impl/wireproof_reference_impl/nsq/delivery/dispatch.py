"""Which client of a channel gets a message: the rule of the published text."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from wireproof_reference_impl.nsq.delivery.subscriber import Subscriber
from wireproof_reference_impl.nsq.wire.message import Message


class Audience(Protocol):
    """The interface of a channel as dispatch needs it: the clients a message may go to."""

    @property
    def subscribers(self) -> Sequence[Subscriber]:
        """The clients of the channel, in the order of their turns."""
        ...


NOBODY: tuple[Subscriber, ...] = ()


def first_ready(subscribers: Iterable[Subscriber]) -> tuple[Subscriber, ...]:
    """Return the first client that is ready for a message, in a tuple, or an empty tuple."""
    for subscriber in subscribers:
        if subscriber.wants:
            return (subscriber,)
    return NOBODY


def list_untagged(audience: Audience) -> list[Subscriber]:
    """Return the clients of a channel that have no desired tag."""
    return [subscriber for subscriber in audience.subscribers if subscriber.desired_tag is None]


def by_tag(message: Message, audience: Audience) -> tuple[Subscriber, ...]:
    """Return the client for a message in a tuple; an empty one if it must wait, and all behind it.

    A message whose tag some client of the channel desires goes only to such a client. Every other
    message goes to a client without a desired tag. Clause: ext.dispatch
    """
    if message.tag is not None:
        matching = [
            subscriber
            for subscriber in audience.subscribers
            if subscriber.desired_tag == message.tag
        ]
        if matching:
            return first_ready(matching)
    return first_ready(
        subscriber for subscriber in audience.subscribers if subscriber.desired_tag is None
    )
