"""The adapter: a broker behind the operations of the adapter protocol."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from wireproof_reference_impl.oms.adapter import requests
from wireproof_reference_impl.oms.adapter.pending import PendingReceive, PendingReceives
from wireproof_reference_impl.oms.adapter.requests import (
    Caller,
    Request,
    Unsupported,
    read_request,
)
from wireproof_reference_impl.oms.clock import MILLISECOND_NS, ServerClock
from wireproof_reference_impl.oms.core.broker import Broker, Received
from wireproof_reference_impl.oms.core.due_queue import DueQueue
from wireproof_reference_impl.oms.core.refusal import Refusal
from wireproof_spec.driver.lines import CLOSE, NAME, OPEN, VERSION
from wireproof_spec.oms.names import ATTRIBUTES
from wireproof_spec.strict_json import JsonValue

Fields = Mapping[str, JsonValue]

REFERENCE: Final = "wireproof reference"
CAPABILITIES: Final = ("partitions", "transaction", "nack", "advance", "hold", "compression")

_MOST_TIMEOUT_MS = 600_000
_MOST_MESSAGES = 1_000
"""As many as the schema of an answer allows."""


class Deferred(Struct, frozen=True):
    """A request that is carried out later: its action returns the answer, or None if not yet."""

    id: int
    caller: Caller
    act: "Callable[[int], Fields | None]"


class Adapter:
    """The OpenMessaging reference as an adapter: carries out requests of the kit on a broker.

    Times are those of the wall clock, in nanoseconds.
    """

    def __init__(self, broker: Broker, *, version: str) -> None:
        self._broker = broker
        self._version = version
        self._clock = ServerClock()
        self._receives = PendingReceives(broker, self._clock)
        self._held = DueQueue[Deferred]()

    @property
    def next_due_ns(self) -> int | None:
        """Return when to call `look` again; None if no request waits."""
        times = (self._receives.next_due_ns, self._held.next_due)
        return min((time for time in times if time is not None), default=None)

    def hello(self) -> dict[str, JsonValue]:
        """Return the greeting of the adapter: its name, and what it claims."""
        return {
            "hello": NAME,
            "versions": [VERSION],
            "name": REFERENCE,
            "version": self._version,
            "operations": [*OPERATIONS],
            "claims": [*ATTRIBUTES, *CAPABILITIES],
        }

    def ask(self, data: bytes, caller: Caller, now_ns: int) -> None:
        """Carry out a request; the caller is answered at once or when a message is there.

        Raises:
            Malformed: the text is no request.
        """
        request = read_request(data)
        handle = OPERATIONS.get(request.op)

        def act(then_ns: int) -> Fields | None:
            if handle is None:
                raise Unsupported(request.op)
            return handle(self, request, caller, then_ns)

        _carry_out(Deferred(request.id, caller, act), now_ns)
        self.look(now_ns)

    def look(self, now_ns: int) -> None:
        """Send messages held until now, and answer requests for messages that have come."""
        for deferred in self._held.take_due(now_ns):
            _carry_out(deferred, now_ns)
        self._receives.look(now_ns)

    def forget(self, caller: Caller) -> None:
        """Drop the waiting requests of a caller who is gone: no message must be lost to them."""
        self._receives.forget(caller)

    def greet(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request for the greeting, which clients over HTTP send."""
        return self.hello()

    def open(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request to open; the reference needs no settings."""
        return {}

    def close(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request to close; the process ends with its input or by a signal."""
        return {}

    def create_destination(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request that creates a queue or topic."""
        request.check_known("destination", "partitions")
        partitions = request.number("partitions", 1)
        self._broker.create_destination(request.text("destination"), partitions)
        return {}

    def send(self, request: Request, caller: Caller, now_ns: int) -> Fields | None:
        """Handle the request that sends a message; a held one is created now and sent later."""
        request.check_known("message", "hold_ms")
        document, born = request.message("message"), self._clock.now(now_ns)

        def hand_over(then_ns: int) -> Fields:
            now = self._clock.now(then_ns)
            message = self._broker.send(document, client=caller.client, now=now, born=born)
            return {"message": message}

        hold_ms = request.number("hold_ms", 0)
        if not hold_ms:
            return hand_over(now_ns)
        due_ns = now_ns + min(hold_ms, _MOST_TIMEOUT_MS) * MILLISECOND_NS
        self._held.add(due_ns, Deferred(request.id, caller, hand_over))
        return None

    def prepare(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request that sends a message within a transaction."""
        request.check_known("message")
        document, now = request.message("message"), self._clock.now(now_ns)
        return {"message": self._broker.prepare(document, client=caller.client, now=now)}

    def commit(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request that commits a transaction."""
        request.check_known("transactionId")
        transaction_id = request.text("transactionId")
        self._broker.commit(transaction_id)
        return {"transactionId": transaction_id}

    def roll_back(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request that rolls a transaction back."""
        request.check_known("transactionId")
        transaction_id = request.text("transactionId")
        self._broker.roll_back(transaction_id)
        return {"transactionId": transaction_id}

    def receive(self, request: Request, caller: Caller, now_ns: int) -> Fields | None:
        """Handle the request for messages; the answer waits for one until the time is over."""
        request.check_known("destination", "group", "max", "timeout_ms")
        timeout_ms = min(request.number("timeout_ms", 0), _MOST_TIMEOUT_MS)

        def deliver(found: Sequence[Received], then_ns: int) -> None:
            messages: list[JsonValue] = [
                {
                    "receipt": each.receipt,
                    "partition": each.partition,
                    "message": each.document,
                }
                for each in found
            ]
            caller.answer(requests.result(request.id, {"messages": messages}), then_ns)

        receive = PendingReceive(
            destination=request.text("destination"),
            group=request.text("group"),
            most=min(request.number("max", 1), _MOST_MESSAGES),
            until_ns=now_ns + timeout_ms * MILLISECOND_NS,
            deliver=deliver,
            caller=caller,
        )
        self._receives.add(receive, now_ns)
        return None

    def acknowledge(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request that acknowledges a delivery."""
        request.check_known("receipt")
        self._broker.acknowledge(request.text("receipt"))
        return {}

    def reject(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request that says that a delivered message could not be consumed."""
        request.check_known("receipt")
        self._broker.reject(request.text("receipt"), self._clock.now(now_ns))
        return {}

    def tell_time(self, request: Request, caller: Caller, now_ns: int) -> Fields:
        """Handle the request for the server's time; move the clock ahead first, if requested."""
        request.check_known("advance_ms")
        self._clock.advance(request.number("advance_ms", 0))
        return {"now_ms": self._clock.now(now_ns)}


def _carry_out(deferred: Deferred, now_ns: int) -> None:
    """Do what a request asks for, and answer it."""
    try:
        fields = deferred.act(now_ns)
        if fields is not None:
            deferred.caller.answer(requests.result(deferred.id, fields), now_ns)
    except Refusal as refusal:
        deferred.caller.answer(requests.failure(deferred.id, refusal), now_ns)
    except Unsupported as unknown:
        deferred.caller.answer(requests.unsupported(deferred.id, unknown.what), now_ns)


Handler = Callable[[Adapter, Request, Caller, int], Fields | None]
"""Carries out a request, and returns the fields of its answer; None if the answer comes later."""

OPERATIONS: Final[Mapping[str, Handler]] = {
    "hello": Adapter.greet,
    OPEN: Adapter.open,
    "create_destination": Adapter.create_destination,
    "send": Adapter.send,
    "prepare": Adapter.prepare,
    "commit": Adapter.commit,
    "rollback": Adapter.roll_back,
    "receive": Adapter.receive,
    "ack": Adapter.acknowledge,
    "nack": Adapter.reject,
    "clock": Adapter.tell_time,
    CLOSE: Adapter.close,
}
