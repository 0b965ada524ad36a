"""The subscription of one client to a channel."""

from collections.abc import Callable
from typing import Protocol

from wireproof_reference_impl.nsq.wire.message import Message


class Outlet(Protocol):
    """The interface of a connection as a channel needs it."""

    def push(self, data: bytes) -> None:
        """Send a message frame with this data."""

    def drop(self) -> None:
        """Close the connection without an answer."""


class Subscriber:
    """One client's subscription: its options, its RDY count and its messages in flight."""

    __slots__ = (
        "desired_tag",
        "extend",
        "held",
        "message_timeout_ns",
        "outlet",
        "position",
        "ready",
        "takes",
        "topic_extend",
    )

    def __init__(
        self,
        outlet: Outlet,
        *,
        topic_extend: bool,
        extend: bool,
        position: bool,
        message_timeout_ns: int,
    ) -> None:
        self.outlet = outlet
        self.topic_extend = topic_extend
        self.extend = extend
        self.position = position
        self.message_timeout_ns = message_timeout_ns
        self.desired_tag: str | None = None
        self.takes: Callable[[Message], bool] | None = None
        self.ready = 0
        self.held = 0

    def skips(self, message: Message) -> bool:
        """Return True if the client's own filter excludes a message."""
        return self.takes is not None and not self.takes(message)

    @property
    def wants(self) -> bool:
        """Return True if the client is ready for another message."""
        return self.ready > self.held
