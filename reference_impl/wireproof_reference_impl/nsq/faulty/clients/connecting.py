"""Faults of how a client's connections begin, and how they are renewed."""

# An override reaches into the core from outside, and is called with whatever the core has there.
# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from wireproof_reference_impl.nsq.client.core import commands, link
from wireproof_reference_impl.nsq.client.core.connection import (
    NodeConnection,
    State,
    Strange,
)
from wireproof_reference_impl.nsq.client.core.link import Link
from wireproof_reference_impl.nsq.client.core.producer import Lane
from wireproof_reference_impl.nsq.client.core.subscription import Subscription
from wireproof_reference_impl.nsq.faulty.clients.rows import (
    around,
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override
from wireproof_spec.nsq import names

_RECONNECTS = "client-connection.reconnect client-robust.recovery"


def _with_field(name: str, value: object) -> Override:
    def call(original: Original, identity: commands.Identity) -> object:
        fields = original(identity)
        assert isinstance(fields, dict)
        return {**fields, name: value}

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


def _identify_first_time(original: Original, self: Link, local: str) -> None:
    if not self._failures:
        original(self, local)
        return
    self.send(names.MAGIC)
    self.node.state = State.IDLE
    self.is_ready = True
    self._user.handle_ready()


def _code_is_all(original: Original, self: NodeConnection, code: str, text: str) -> object:
    return original(self, text.strip() if self.state is State.PUBLISHING else code, text)


def _go_on_refused(link: Link, event: object) -> None:
    link.node.state = State.IDLE
    link.is_ready = True
    link._user.handle_ready()


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


_SWALLOW = around(NodeConnection, "_response", _swallow)


def _never_reopened(of: type) -> Override:
    def call(original: Original, self: Link, reason: str) -> None:
        if isinstance(self._user, of):
            self._closed = True
            self._user.handle_loss(reason)
        else:
            original(self, reason)

    return around(Link, "_fail", call)


def _drop_others(original: Original, self: Subscription, reason: str) -> None:
    original(self, reason)
    for other in tuple(self._consumer._subscriptions.values()):
        if other is not self and other._link.is_ready:
            other._link._drop()
            other._link.open()


def _pause_others(original: Original, self: Subscription, reason: str) -> None:
    original(self, reason)
    self._consumer.ready._is_paused = True
    self._consumer.ready.share()


FAULTS = (
    wrong_value(
        "heartbeat-text",
        "IDENTIFY has heartbeat_interval as a text.",
        "client-connection.identify-fields",
        _with_field("heartbeat_interval", "30s"),
    ),
    boundary(
        "heartbeat-short",
        "IDENTIFY asks for a heartbeat each 999 ms.",
        "client-connection.identify-fields",
        _with_field("heartbeat_interval", 999),
    ),
    extra(
        "nop-first",
        "A connection begins with NOP, before IDENTIFY.",
        "client.handshake client.order-handshake",
        _begin_with(commands.NOP),
    ),
    extra(
        "rdy-first",
        "A connection begins with RDY, before IDENTIFY.",
        "client.handshake client.order-handshake",
        _begin_with(b"RDY 1\n"),
        may="client-connection.first-ready client.ready",
    ),
    condition(
        "nop-first-ordered",
        "A connection for messages in order begins with NOP.",
        "client.order-handshake",
        _begin_with(commands.NOP, ordered=True),
    ),
    condition(
        "identify-once",
        "A connection that is opened again begins with the magic, and has no IDENTIFY.",
        "client.handshake client.order-handshake",
        around(Link, "connected", _identify_first_time),
    ),
    missing(
        "identify-unread",
        "The answer to IDENTIFY is not waited for.",
        "client.identify-verified",
        _wait_at_most(0.0),
        _SWALLOW,
    ),
    boundary(
        "identify-impatient",
        "The answer to IDENTIFY is waited for 0.3 s, then the connection is used.",
        "client.identify-verified",
        _wait_at_most(0.3),
        _SWALLOW,
    ),
    condition(
        "identify-refused",
        "A connection whose IDENTIFY is refused is used.",
        "client.identify-verified",
        around(link, "refuse_identity", lambda _, *args: _go_on_refused(*args)),
    ),
    missing(
        "consumer-gives-up",
        "A consumer does not connect again.",
        _RECONNECTS,
        _never_reopened(Subscription),
        may="client-connection.undisturbed client-robust.loop ext.client-header.no-loop",
    ),
    missing(
        "producer-gives-up",
        "A producer does not connect again.",
        "client-connection.reconnect",
        _never_reopened(Lane),
        may="client-robust.frame client-publish.unanswered",
    ),
    extra(
        "all-lost-with-one",
        "When one connection is lost, a consumer renews all others.",
        "client-connection.undisturbed",
        around(Subscription, "handle_loss", _drop_others),
    ),
    condition(
        "all-stop-with-one",
        "When one connection is lost, a consumer stops delivery on all others.",
        "client-connection.undisturbed",
        around(Subscription, "handle_loss", _pause_others),
        may="client-connection.reconnect",
    ),
    condition(
        "refused-publish-text-is-code",
        "A producer takes all of an error's text for its code.",
        "client-connection.error-code",
        around(NodeConnection, "_error", _code_is_all),
        may="client-publish.retry",
    ),
)
