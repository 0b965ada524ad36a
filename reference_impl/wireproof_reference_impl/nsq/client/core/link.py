"""A connection that is opened, identified, watched, and opened again when it is lost."""

import json
from typing import Protocol

from wireproof_reference_impl.nsq.client.core import commands
from wireproof_reference_impl.nsq.client.core.connection import (
    Answered,
    Event,
    NodeConnection,
    OutOfStep,
    Refused,
    State,
)
from wireproof_reference_impl.nsq.client.core.effects import Address
from wireproof_reference_impl.nsq.client.core.host import Alarm, Host
from wireproof_reference_impl.nsq.client.core.settings import Settings
from wireproof_spec.strict_json import members_of

_SILENT_INTERVALS = 2.5
"""A node that misses two heartbeats is gone, though the connection still seems open."""
_MOST_DOUBLINGS = 16


class User(Protocol):
    """The interface of the producer or consumer part that uses a link."""

    def identity(self) -> commands.Identity:
        """Return what to send with IDENTIFY."""
        ...

    def handle_ready(self) -> None:
        """Act on IDENTIFY being answered: the connection can be used."""
        ...

    def handle_event(self, event: Event) -> None:
        """Act on an event of the identified connection, such as a message."""
        ...

    def handle_loss(self, reason: str) -> None:
        """Act on the loss of the connection; the link opens it again by itself."""
        ...


class Link:
    """A connection to a node for one partition, which is opened again whenever it is lost."""

    def __init__(self, host: Host, settings: Settings, address: Address, user: User) -> None:
        self.address = address
        self.local = ""
        """The own IP address."""
        self.node = NodeConnection()
        self.features: dict[str, object] = {}
        """What the node answered to IDENTIFY; nothing if it answered OK."""
        self.is_ready = False
        self._host = host
        self._settings = settings
        self._user = user
        self._connection: int | None = None
        self._failures = 0
        self._closed = False
        self._watch: Alarm | None = None

    def open(self) -> None:
        """Open the connection, unless it is open or closed for good."""
        if self._closed or self._connection is not None:
            return
        self.node = NodeConnection()
        within = self._settings.connect_timeout_s
        self._connection = self._host.connect(self.address, self, within_s=within)

    def close(self) -> None:
        """Close the connection for good: it is not opened again."""
        self._closed = True
        self._drop()

    def reset(self, reason: str) -> None:
        """Close the connection, and open it again after a delay."""
        self._drop()
        self._fail(reason)

    def send(self, data: bytes) -> None:
        """Send bytes on the connection, if it is open."""
        if self._connection is not None:
            self._host.write(self._connection, data)

    def succeed(self) -> None:
        """Note that the connection served its purpose: the next loss counts as the first."""
        self._failures = 0

    def connected(self, local: str) -> None:
        """Send IDENTIFY on the opened connection; `local` is the client's own IP address."""
        self.local = local
        self.send(self.node.identify(self._user.identity()))
        self._watch_for(self._settings.identify_timeout_s)

    def received(self, data: bytes) -> None:
        """Process bytes received from the node."""
        self._watch_for(_SILENT_INTERVALS * self._settings.heartbeat_interval_ms / 1000)
        try:
            events, reply = self.node.receive(data)
        except OutOfStep as error:
            self.reset(str(error))
            return
        self.send(reply)
        for event in events:
            if self._connection is not None:
                self._take(event)

    def lost(self, reason: str) -> None:
        """Note that the connection is lost, and open it again after a delay."""
        self._connection = None
        self._drop()
        self._fail(reason)

    def _take(self, event: Event) -> None:
        if self.is_ready:
            self._user.handle_event(event)
        elif isinstance(event, Answered) and event.state is State.IDENTIFYING:
            self.is_ready = True
            self.features = read_features(event.data)
            self._user.handle_ready()
        elif isinstance(event, Refused) and event.state is State.IDENTIFYING:
            refuse_identity(self, event)

    def _watch_for(self, seconds: float) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._watch = self._host.after(seconds, lambda: self.reset("the node is silent"))

    def _drop(self) -> None:
        self.is_ready = False
        if self._watch is not None:
            self._watch.cancel()
        if self._connection is not None:
            self._host.disconnect(self._connection)
            self._connection = None

    def _fail(self, reason: str) -> None:
        if self._closed:
            return
        self._failures += 1
        host, port = self.address
        self._host.log(f"connection to {host}:{port} is lost: {reason}")
        self._host.after(reconnect_delay(self._settings, self._failures), self.open)
        self._user.handle_loss(reason)


def read_features(data: bytes) -> dict[str, object]:
    """Return the members of a JSON answer to IDENTIFY; an empty dict for any other answer."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return members_of(value)


def refuse_identity(link: Link, event: Refused) -> None:
    """Reset a connection on which IDENTIFY was refused: nothing else may be sent on it."""
    link.reset(f"IDENTIFY is refused: {event.text}")


def reconnect_delay(settings: Settings, failures: int) -> float:
    """Return the seconds before a connection is opened again after so many failures in a row."""
    doubled = settings.reconnect_s * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)
    return min(doubled, settings.reconnect_most_s)
