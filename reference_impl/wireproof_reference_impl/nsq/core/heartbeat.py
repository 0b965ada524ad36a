"""Heartbeats for a client, and the limit on its silence."""

from typing import Protocol

from wireproof_reference_impl.nsq.delivery.timers import Timer, Timers
from wireproof_reference_impl.nsq.wire.identity import MILLISECOND, Identity
from wireproof_spec.nsq.limits import HEARTBEATS_MISSED
from wireproof_spec.nsq.names import HEARTBEAT


class Alive(Protocol):
    """The interface of a connection that has heartbeats."""

    identity: Identity
    last_read_ns: int

    def respond(self, data: bytes) -> None:
        """Send a response frame."""

    def drop(self) -> None:
        """Close the connection without an answer."""


class Heartbeat:
    """Sends heartbeats at the client's interval, and drops a connection that stays silent.

    A client may miss several heartbeats, so silence is measured from the first heartbeat on.
    """

    def __init__(self, connection: Alive, timers: Timers, now_ns: int) -> None:
        self._connection: Alive | None = connection
        self._timers = timers
        self._heartbeat: Timer | None = None
        self._silence: Timer | None = None
        self._armed_ms: int | None = None
        self._arm(now_ns)

    def start_anew(self, now_ns: int) -> None:
        """Start heartbeats at the interval that the client requested, unless already used."""
        if self._interval_ms == self._armed_ms:
            return
        self._arm(now_ns)
        self._timers.cancel(self._silence)
        self._silence = None

    def stop(self) -> None:
        """Stop all heartbeats, and release the reference to the connection."""
        self._timers.cancel(self._heartbeat)
        self._timers.cancel(self._silence)
        self._connection = None

    def _arm(self, now_ns: int) -> None:
        self._timers.cancel(self._heartbeat)
        interval_ms = self._armed_ms = self._interval_ms
        if interval_ms is not None:
            self._heartbeat = self._timers.at(now_ns + interval_ms * MILLISECOND, self._beat)

    @property
    def _interval_ms(self) -> int | None:
        return None if self._connection is None else self._connection.identity.heartbeat_ms

    def _beat(self, now_ns: int) -> None:
        if self._connection is not None:
            self._connection.respond(HEARTBEAT)
            self._arm(now_ns)
            if self._silence is None:
                self._check_silence(now_ns)

    def _listen_until(self, when_ns: int) -> None:
        self._timers.cancel(self._silence)
        self._silence = self._timers.at(when_ns, self._check_silence)

    def _check_silence(self, now_ns: int) -> None:
        interval_ms = self._interval_ms
        if self._connection is None or interval_ms is None:
            return
        limit_ns = HEARTBEATS_MISSED * interval_ms * MILLISECOND
        if now_ns - self._connection.last_read_ns >= limit_ns:
            self._connection.drop()
        else:
            self._listen_until(self._connection.last_read_ns + limit_ns)
