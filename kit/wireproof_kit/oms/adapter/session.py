"""A session with a system behind an adapter: greeting, clock, a first message, then the cases."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

from wireproof_kit.decoding.json_text import json_line
from wireproof_kit.drivers.check import UNKNOWN_OPERATION
from wireproof_kit.drivers.driver import ANSWER_WITHIN_S
from wireproof_kit.errors import ArrangementFailed, TargetSilent, TargetUnreachable, UsageFault
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.exchange import Exchange, describe
from wireproof_kit.oms.adapter.link import Link, open_link
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes, Sent
from wireproof_kit.oms.adapter.system import (
    GROUP,
    Destination,
    Naming,
    ServerClock,
    System,
    kit_ms,
)
from wireproof_kit.oms.capture import Capture
from wireproof_kit.oms.captured import RECEIVED, CapturedDocument
from wireproof_kit.oms.ledger.ledger import OmsLedger
from wireproof_kit.oms.ledger.times import RunClock
from wireproof_kit.runner.patience import Patience
from wireproof_kit.targets.session import Control, Probe, SessionOptions, control_round_trip
from wireproof_kit.targets.target import Target
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.driver.lines import Hello, Result, Unsupported
from wireproof_spec.oms import names
from wireproof_spec.oms.names import Kind
from wireproof_spec.strict_json import JsonValue

SYSTEM = "system"
CAPTURE = "capture"
DOCUMENT_NAME = "document_name"
CLOCK = "clock"
CLAIMED, NOT_CLAIMED = "claimed", "not-claimed"
ROUND_TRIPS = 5
ANSWER_LEAST, ANSWER_MOST, ANSWER_FACTOR = 1.0, 5.0, 20
# A first message took 0.01 s (in memory) to 10 s and more (a broker that assigns queues first).
PUSH_LEAST, PUSH_MOST, PUSH_FACTOR = 6.0, 30.0, 5
# RocketMQ gave a message back after 18.9 s.
REDELIVERY = 40.0
WARM_UP_S = 60.0
SAMPLE: Mapping[str, JsonValue] = {
    names.CORRELATION_ID: "wp-correlation",
    names.MESSAGE_KEY: "wp-key",
    names.TRACE_ID: "wp-trace",
    names.PRIORITY: 7,
}
"""Attributes of the message that is tested as a document, if the adapter claims them."""
WORDS: Mapping[str, str] = {
    "store-timestamp": names.STORE_TIMESTAMP,
    "store-host": names.STORE_HOST,
    "correlation-id": names.CORRELATION_ID,
    "message-key": names.MESSAGE_KEY,
    "delay-time": names.DELAY_TIME,
    "expire-time": names.EXPIRE_TIME,
    "trace-id": names.TRACE_ID,
    "transaction-id": names.TRANSACTION_ID,
    "delivery-count": names.DELIVERY_COUNT,
    "priority": names.PRIORITY,
    "partition": names.PARTITION,
    "partitions": "partitions",
    "transaction": "transaction",
    "nack": "nack",
    "hold": "hold",
    "compression": "compression",
}
"""For each capability, the name under which an adapter claims it."""


class AdapterSession:
    """An open session with the system behind an adapter; thread-safe."""

    def __init__(self, link: Link, options: SessionOptions) -> None:
        self._link = link
        self._naming = Naming(options.run_token)
        self._clock = ServerClock()
        self._document: CapturedDocument | None = None
        self._plain: Attributes | None = NOTHING
        self._fixed = options.timeout
        seconds = options.timeout or WARM_UP_S
        self.patience = Patience(answer=seconds, push=seconds, redelivery=seconds)

    def meet(self) -> None:
        """Check the adapter, measure the server's clock, and wait until a first message arrives.

        Raises:
            TargetUnreachable: the adapter breaks the protocol.
            TargetSilent: the adapter does not answer, or the message does not arrive.
        """
        exchange = Exchange(self._link, Transcript())
        answer = exchange.ask(UNKNOWN_OPERATION)
        if not isinstance(answer, Unsupported):
            raise TargetUnreachable(
                f"`{self._link.name}` answers an unknown operation with {describe(answer)}; "
                'expected the answer "unsupported" (see `wireproof adapter check`)'
            )
        slowest = self._measure_clock(exchange)
        arrived = self._warm_up()
        if self._fixed is None:
            answer_s = min(max(ANSWER_FACTOR * slowest, ANSWER_LEAST), ANSWER_MOST)
            push_s = min(max(PUSH_FACTOR * arrived, PUSH_LEAST), PUSH_MOST)
            self.patience = Patience(answer=answer_s, push=push_s, redelivery=REDELIVERY)

    def begin(self, kinds: Counter[str]) -> None:
        """Do nothing: each case creates its destinations."""

    def probe_capability(self, name: str) -> Probe:
        """Return whether the adapter claims a capability, or the first message shows it."""
        return Probe(self._probe(name), Transcript())

    def probe_reading(self, name: str) -> Probe:
        """Return no reading: the cases themselves show which one the system follows."""
        note = f"{name} shows in the cases that are about it"
        return Probe(observed("unavailable", note=note), Transcript())

    def bind(self, readings: Mapping[str, str | None]) -> None:
        """Do nothing: no reading changes what a case sends."""

    def prepare(self, kinds: Counter[str]) -> None:
        """Do nothing: each case creates its destinations."""

    def arguments(self, names: Sequence[str], transcript: Transcript) -> dict[str, object]:
        """Return the kit objects that a case asks for by argument name, new for one run of it."""
        arguments: dict[str, object] = {}
        if SYSTEM in names:
            arguments[SYSTEM] = self.system(transcript)
        if CAPTURE in names:
            known = {} if self._document is None else {RECEIVED: self._document}
            arguments[CAPTURE] = Capture(known, Kind.MESSAGE, transcript)
        if DOCUMENT_NAME in names:
            arguments[DOCUMENT_NAME] = RECEIVED
        return arguments

    def release(self, arguments: Mapping[str, object]) -> None:
        """Do nothing: requests leave nothing open."""

    def control(self) -> Control:
        """Measure a round trip: request an operation that does not exist."""

        def trip(seconds: float) -> float:
            started = time.monotonic()
            self._link.request(UNKNOWN_OPERATION, {}, within=seconds)
            return time.monotonic() - started

        return control_round_trip(trip, self.patience)

    def is_alive(self) -> bool:
        """Return True if the adapter runs and has not broken the protocol."""
        return self._link.is_alive()

    def fingerprint(self) -> dict[str, str]:
        """Return what the adapter reports about itself, and the offset of the server's clock."""
        hello, clock = self._link.hello, self._clock
        return {
            "name": hello.name,
            "version": hello.version,
            "claims": " ".join(hello.claims),
            "clock": f"{clock.ahead_ms:+.0f} ms, {clock.uncertain_ms:.0f} ms uncertain",
        }

    def open_ledger(self) -> OmsLedger:
        """Return what judges the messages of all cases, by the clocks that were measured."""
        clock = self._clock
        run = RunClock(kit_ms(), clock.ahead_ms, clock.uncertain_ms)
        return OmsLedger(frozenset(self._link.hello.claims), run)

    def close(self) -> None:
        """Close the adapter, and end it if the kit has started it."""
        self._link.close()

    @property
    def hello(self) -> Hello:
        """The greeting of the adapter."""
        return self._link.hello

    def system(self, transcript: Transcript, *, within_s: float = ANSWER_WITHIN_S) -> System:
        """Return the system, with the seconds in which it must answer."""
        exchange = Exchange(self._link, transcript, within_s=within_s)
        return System(exchange, self.patience, self._clock, self._naming, self._plain)

    def _probe(self, name: str) -> Observation:
        if name in ("adapter", "message"):
            return observed("ok")
        if name == "extension-header":
            sample = self._document
            has_one = sample is not None and b'"extensionHeader":{}' not in sample.data
            return observed("ok" if has_one else "none")
        word = WORDS.get(name, name)
        return observed(CLAIMED if word in self._link.hello.claims else NOT_CLAIMED)

    def _measure_clock(self, exchange: Exchange) -> float:
        """Measure the server's clock by the quickest of some round trips; return the slowest."""
        has_clock = CLOCK in self._link.hello.operations
        trips: list[tuple[float, float]] = []
        for _ in range(ROUND_TRIPS):
            before = kit_ms()
            answer = exchange.ask(CLOCK, schema="oms/adapter-clock")
            after = kit_ms()
            if has_clock and not isinstance(answer, Result):
                raise TargetUnreachable(f"`{self._link.name}`: clock: {describe(answer)}")
            told = answer.fields["now_ms"] if isinstance(answer, Result) else (before + after) / 2
            trips.append((after - before, float(str(told)) - (before + after) / 2))
        quickest, ahead = min(trips)
        if has_clock:
            self._clock = ServerClock(ahead, quickest / 2 + 1)
        return max(trips)[0] / 1000

    def _warm_up(self) -> float:
        """Send a first message and keep it; return the seconds until it arrived.

        The first one has no attribute if the system accepts that: which attributes it refuses, and
        that it refuses a message without any, is judged by the cases. The document that is kept
        has the attributes, if a message with them arrives.
        """
        claims = self._link.hello.claims
        destination = self.system(Transcript()).new_destination()
        consumer = destination.new_consumer(GROUP)
        attributes = {name: SAMPLE[name] for name in SAMPLE if name in claims}
        sent = self._send_first(destination, ({}, None, attributes))
        delivery = consumer.take([sent]).get(sent.key)
        if delivery is None:
            raise TargetSilent(
                f"`{self._link.name}`: the first message did not arrive within "
                f"{self.patience.push:g} s; a message sent to a destination must come to its "
                "consumer before anything can be judged"
            )
        sample = destination.send(attributes)
        found = consumer.take([sample]).get(sample.key) if sample.is_accepted else None
        text = json_line(dict((found or delivery).document))
        self._document = CapturedDocument(RECEIVED, text.encode())
        return delivery.at - sent.called

    def _send_first(self, destination: Destination, headers: Sequence[Attributes | None]) -> Sent:
        """Send a message with the first of these extension headers that the system accepts."""
        reasons: list[str] = []
        for self._plain in headers:
            sent = destination.send(self._plain)
            if sent.is_accepted:
                return sent
            reasons += [sent.why] if sent.why not in reasons else []
        why = "; ".join(reasons)
        raise ArrangementFailed(f"`{self._link.name}` refuses the first message: {why}")


def open_session(target: Target, options: SessionOptions) -> AdapterSession:
    """Open a session with the system behind an adapter.

    Raises:
        UsageFault: an option does not apply to adapters, or the command cannot be started.
        TargetUnreachable: the adapter breaks the protocol or cannot be reached.
        TargetSilent: the adapter does not answer, or a first message does not arrive.
    """
    if options.topics:
        raise UsageFault("--topic cannot be used with an adapter; leave it out")
    session = AdapterSession(open_link(target), options)
    try:
        session.meet()
    except BaseException:
        session.close()
        raise
    return session
