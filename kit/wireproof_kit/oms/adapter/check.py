"""Checks an adapter: first its lines, then that messages go through it as the protocol says."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from wireproof_kit.drivers.check import Finding, check_driver
from wireproof_kit.drivers.child import split_command
from wireproof_kit.errors import KitError
from wireproof_kit.oms.adapter.exchange import Exchange
from wireproof_kit.oms.adapter.link import ExecLink
from wireproof_kit.oms.adapter.session import CLOCK
from wireproof_kit.oms.adapter.system import (
    GROUP,
    Consumer,
    Destination,
    Naming,
    ServerClock,
    System,
    kit_ms,
)
from wireproof_kit.runner.patience import Patience
from wireproof_kit.wire.transcript import Transcript
from wireproof_spec.oms.names import ATTRIBUTES

NEEDED = ("create_destination", "send", "receive", "ack")
NEEDED_BY_CLAIM = {"nack": ("nack",), "transaction": ("prepare", "commit", "rollback")}
WORDS = (*ATTRIBUTES, "partitions", "transaction", "nack", "advance", "hold", "compression")
ARRIVES_WITHIN_S = 30.0
EMPTY_S = 1.0
ANSWER_S = 0.5
"""Seconds in which another request must be answered while a receive waits for `EMPTY_S`."""
DAY_MS = 86_400_000


def check_adapter(command: str) -> Iterator[Finding]:
    """Check an adapter and yield a finding for each rule of the adapter protocol.

    Rules that depend on a broken one are not checked.

    Raises:
        UsageFault: the adapter cannot be started.
    """
    wrong = False
    for finding in check_driver(split_command(command, "CMD")):
        wrong = wrong or bool(finding.wrong)
        yield finding
    if not wrong:
        with closing(ExecLink(command)) as link:
            yield from _check_greeting(link)
            yield from _check_messages(link)


def _check_greeting(link: ExecLink) -> Iterator[Finding]:
    known, claims = link.hello.operations, link.hello.claims
    missing = [op for op in NEEDED if op not in known]
    yield Finding("names the operations that every case needs", _lacking(missing))
    owed = [op for word in claims for op in NEEDED_BY_CLAIM.get(word, ()) if op not in known]
    yield Finding("names the operations that its claims need", _lacking(owed))
    unknown = [word for word in claims if word not in WORDS]
    told = f"claims {', '.join(unknown)}; known are {', '.join(WORDS)}" if unknown else ""
    yield Finding("claims attributes and capabilities by the words of the protocol", told)


def _check_messages(link: ExecLink) -> Iterator[Finding]:
    within_s = ARRIVES_WITHIN_S
    patience = Patience(answer=within_s, push=within_s, redelivery=within_s)
    exchange = Exchange(link, Transcript())
    token = f"check{time.time_ns() % 10**9}"
    system = System(exchange, patience, ServerClock(), Naming(token))
    if CLOCK in link.hello.operations:
        yield _find("clock tells milliseconds since 1970", lambda: _check_clock(exchange))
    rule = "a message that was sent is received, with its body, and can be acknowledged"
    try:
        destination = system.new_destination()
        consumer = destination.new_consumer(GROUP)
        yield Finding(rule, _check_delivery(destination, consumer))
    except KitError as error:
        yield Finding(rule, str(error))
        return
    yield _find(
        "a receive to which nothing comes is answered with no messages when its time is over",
        lambda: _check_empty(consumer),
    )
    yield _find(
        "other requests are answered while a receive waits",
        lambda: _check_waiting(exchange, consumer),
    )


def _find(rule: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(rule, look())
    except KitError as error:
        return Finding(rule, str(error))


def _lacking(missing: list[str]) -> str:
    return f"hello.operations lacks {', '.join(missing)}" if missing else ""


def _check_clock(exchange: Exchange) -> str:
    told = exchange.demand(CLOCK, schema="oms/adapter-clock")["now_ms"]
    now = kit_ms()
    if abs(int(str(told)) - now) > DAY_MS:
        return f"expected about {now:.0f}, found {told}"
    return ""


def _check_delivery(destination: Destination, consumer: Consumer) -> str:
    sent = destination.send()
    if not sent.is_accepted:
        return f"send: {sent.why}"
    deadline = time.monotonic() + ARRIVES_WITHIN_S
    while (left := deadline - time.monotonic()) > 0:
        for delivery in consumer.receive(within=left):
            settled = consumer.settle(delivery)
            if delivery.key == sent.key:
                return "" if settled else "ack was not answered with ok"
    return (
        f"no message with the body {sent.key} (base64) was received within {ARRIVES_WITHIN_S:g} s"
    )


def _check_empty(consumer: Consumer) -> str:
    started = time.monotonic()
    found = consumer.receive(within=EMPTY_S)
    took = time.monotonic() - started
    if found:
        return f"{len(found)} messages came of which none was sent"
    if took < EMPTY_S / 2:
        return f"timeout_ms was {EMPTY_S * 1000:.0f}, and the answer came after {took:.3f} s"
    return ""


def _check_waiting(exchange: Exchange, consumer: Consumer) -> str:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(consumer.receive, within=EMPTY_S)
        started = time.monotonic()
        exchange.ask(CLOCK)
        took = time.monotonic() - started
        waiting.result()
    if took > ANSWER_S:
        return f"clock was answered after {took:.1f} s, when the receive was over"
    return ""
