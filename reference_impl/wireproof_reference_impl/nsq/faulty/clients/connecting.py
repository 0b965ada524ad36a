"""Faults of how a client's connections begin, and how they are renewed."""

# A fault reaches into the core from outside, also for what is private there.
# pyright: reportPrivateUsage=false

from collections.abc import Callable

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.nsq.client.core import commands, link
from wireproof_reference_impl.nsq.client.core.connection import (
    NodeConnection,
    State,
    Strange,
)
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.producer import Lane
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.nsq import names


def _with_field(name: str, value: object) -> Override:
    def call(
        original: Callable[..., dict[str, object]], identity: commands.Identity
    ) -> dict[str, object]:
        return {**original(identity), name: value}

    return around(commands, "identify_fields", call)


def _begin_with(data: bytes, *, ordered: bool | None = None) -> Override:
    """Send these bytes between the magic and IDENTIFY."""

    def call(original: Original, self: Link, local: str) -> None:
        send = self.send

        def send_after(first: bytes) -> None:
            vars(self)["send"] = send  # for this one call
            send(first[:4] + data + first[4:])

        user = self._user
        wants = user.wants if isinstance(user, Subscription) else None
        if ordered is None or (wants is not None and wants.ordered is ordered):
            vars(self)["send"] = send_after  # for this one call
        original(self, local)

    return around(Link, "connected", call)


def _wait_at_most(seconds: float) -> Override:
    """Use a connection after this time, though IDENTIFY is not answered."""

    def call(original: Original, self: Link, local: str) -> None:
        original(self, local)
        node = self.node

        def go_on() -> None:
            if self.node is node and node.state is State.IDENTIFYING:
                node.state = State.IDLE
                vars(node)["owed"] = True
                self.is_ready = True
                self._user.handle_ready()

        self._host.after(seconds, go_on)

    return around(Link, "connected", call)


def _swallow(original: Original, self: NodeConnection, data: bytes) -> object:
    if vars(self).pop("owed", False):
        return Strange("the answer to IDENTIFY")
    return original(self, data)


SWALLOW = around(NodeConnection, "_response", _swallow)


def _never_reopened(of: type) -> Override:
    def call(original: Original, self: Link, reason: str) -> None:
        if isinstance(self._user, of):
            self._closed = True
            self._user.handle_loss(reason)
        else:
            original(self, reason)

    return around(Link, "_fail", call)


@wrong_value("client-connection.identify-fields")
def heartbeat_text() -> Change:
    """IDENTIFY has heartbeat_interval as a text."""
    return _with_field("heartbeat_interval", "30s")


@boundary("client-connection.identify-fields")
def heartbeat_short() -> Change:
    """IDENTIFY asks for a heartbeat each 999 ms."""
    return _with_field("heartbeat_interval", 999)


@extra("client.handshake client.order-handshake")
def nop_first() -> Change:
    """A connection begins with NOP, before IDENTIFY."""
    return _begin_with(commands.NOP)


@extra("client.handshake client.order-handshake")
def rdy_first() -> Change:
    """A connection begins with RDY, before IDENTIFY."""
    return _begin_with(b"RDY 1\n")


@condition("client.order-handshake")
def nop_first_ordered() -> Change:
    """A connection for messages in order begins with NOP."""
    return _begin_with(commands.NOP, ordered=True)


@condition("client.handshake client.order-handshake", around(Link, "connected"))
def identify_once(original: Original, self: Link, local: str) -> None:
    """A connection that is opened again begins with the magic, and has no IDENTIFY."""
    if not self._failures:
        original(self, local)
        return
    self.send(names.MAGIC)
    self.node.state = State.IDLE
    self.is_ready = True
    self._user.handle_ready()


@missing("client.identify-verified")
def identify_unread() -> Change:
    """The answer to IDENTIFY is not waited for."""
    return (
        _wait_at_most(0.0),
        SWALLOW,
    )


@boundary("client.identify-verified")
def identify_impatient() -> Change:
    """The answer to IDENTIFY is waited for 0.3 s, then the connection is used."""
    return (
        _wait_at_most(0.3),
        SWALLOW,
    )


@condition("client.identify-verified", around(link, "refuse_identity"))
def identify_refused(_: Original, link: Link, event: object) -> None:
    """A connection whose IDENTIFY is refused is used."""
    link.node.state = State.IDLE
    link.is_ready = True
    link._user.handle_ready()


@missing("client-connection.reconnect client-robust.recovery")
def consumer_gives_up() -> Change:
    """A consumer does not connect again."""
    return _never_reopened(Subscription)


@missing("client-connection.reconnect")
def producer_gives_up() -> Change:
    """A producer does not connect again."""
    return _never_reopened(Lane)


@extra("client-connection.undisturbed", around(Subscription, "handle_loss"))
def all_lost_with_one(original: Original, self: Subscription, reason: str) -> None:
    """When one connection is lost, a consumer renews all others."""
    original(self, reason)
    for other in tuple(self._consumer._subscriptions.values()):
        if other is not self and other._link.is_ready:
            other._link._drop()
            other._link.open()


@condition("client-connection.undisturbed", around(Subscription, "handle_loss"))
def all_stop_with_one(original: Original, self: Subscription, reason: str) -> None:
    """When one connection is lost, a consumer stops delivery on all others."""
    original(self, reason)
    self._consumer.ready._is_paused = True
    self._consumer.ready.share()


@condition("client-connection.error-code", around(NodeConnection, "_error"))
def refused_publish_text_is_code(
    original: Original, self: NodeConnection, code: str, text: str
) -> object:
    """A producer takes all of an error's text for its code."""
    return original(self, text.strip() if self.state is State.PUBLISHING else code, text)


FAULTS = list_faults(__name__)
