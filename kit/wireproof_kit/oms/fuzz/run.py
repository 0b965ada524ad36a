"""One run of cases on a destination of its own, and what the system owes for them."""

import itertools
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.errors import ArrangementFailed, KitError, TargetSilent
from wireproof_kit.fuzz.case import Case
from wireproof_kit.fuzz.driver import ClientRunResult, Trouble
from wireproof_kit.fuzz.oracle.client_deaths import find_reason
from wireproof_kit.fuzz.oracle.client_rules import ENDED
from wireproof_kit.fuzz.oracle.rules import (
    CLOSED,
    DELIVERY,
    NO_ANSWER,
    NONSENSE,
    ROUND_TRIP,
    WRONG_ANSWER,
)
from wireproof_kit.oms.adapter.link import NotAnswered
from wireproof_kit.oms.adapter.messages import Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import Consumer, Destination, System, kit_ms
from wireproof_kit.oms.fuzz.frames import PREPARE, WITH_MESSAGE
from wireproof_kit.oms.fuzz.placeholders import BODY, DESTINATION, TRANSACTION, body, fill
from wireproof_kit.oms.fuzz.requests import Due, read_due, read_request
from wireproof_kit.runner.patience import PUSH, machine_load
from wireproof_spec import json_schema
from wireproof_spec.driver.lines import CLOSE, OPEN, Answer, Result
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

FUZZ_GROUP: Final = "wp_fuzz"
REST_S: Final = 1.0
"""Seconds that a message may come after a later one: those of other partitions do."""
LOG_LINES: Final = 12
_NUMBERS = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Breach:
    """A broken rule after which nothing more can be asked, with the last words of the program."""

    trouble: Trouble
    key: str = ""
    log: str = ""


@dataclass(slots=True)
class SystemRun:
    """A run of cases; ``is_broken``: the adapter cannot be used any more.

    ``carried`` are the types of properties that the system carries. ``left`` are the cases that
    must be tried again, since the run broke off.
    """

    system: System
    cases: Sequence[Case]
    carried: Collection[type]
    is_stopped: Callable[[], bool]
    is_broken: bool = False
    left: Sequence[Case] = ()
    _owed: list[tuple[Case, Due]] = field(default_factory=list[tuple[Case, Due]])
    _values: dict[str, str] = field(default_factory=dict[str, str])

    def play(self) -> Iterator[ClientRunResult]:
        """Send the cases, then see that all that is due arrives; yield what is wrong."""
        try:
            destination = self.system.new_destination()
            consumer = destination.new_consumer(FUZZ_GROUP)
        except KitError as error:
            yield self._break(self.cases, error)
            return
        self._values[DESTINATION] = destination.name
        for number, case in enumerate(self.cases):
            if self.is_stopped():
                return
            try:
                trouble = self._send(case)
            except KitError as error:
                yield self._break(self.cases[: number + 1], error)
                self.left = (*self.cases[:number], *self.cases[number + 1 :])
                return
            if trouble is not None:
                yield ClientRunResult((case,), trouble)
        try:
            yield from self._see_arrivals(destination, consumer)
        except KitError as error:
            yield self._break(self.cases, error)

    def _break(self, cases: Sequence[Case], error: KitError) -> ClientRunResult:
        self.is_broken = True
        breach = _breach(self.system, error)
        return ClientRunResult(tuple(cases), breach.trouble, breach.key, breach.log)

    def _send(self, case: Case) -> Trouble | None:
        """Send the requests of a case; return what is wrong with an answer."""
        for step in case.steps:
            self._values[BODY] = body(next(_NUMBERS))
            self._values[TRANSACTION] = f"wp_fuzz_transaction{next(_NUMBERS)}"
            data = fill(step.data, self._values)
            request = read_request(data) if data else None
            if request is None:
                continue
            op = str(request["op"])
            answer = self.system.exchange.ask(op, data)
            if (trouble := self._judge(case, request, data, answer)) is not None:
                return trouble
        return None

    def _judge(
        self, case: Case, request: Attributes, data: bytes, answer: Answer
    ) -> Trouble | None:
        op, hello = request["op"], self.system.exchange.link.hello
        if not isinstance(answer, Result):
            return None
        if op not in (*hello.operations, OPEN, CLOSE):
            words = f"expected unsupported, since there is no operation {op!r}; received ok"
            return Trouble(WRONG_ANSWER, words)
        due = None
        if op in WITH_MESSAGE:
            own = self._values[DESTINATION]
            due = read_due(request, data, hello.claims, self.carried, own, kit_ms())
        if due is None:
            return None
        for fault in json_schema.check("oms/adapter-sent", answer.fields):
            return Trouble(NONSENSE, f"the answer to {op}: {fault.pointer}: {fault.text}")
        if op != PREPARE or self._commit():
            self._owed.append((case, due))
        return None

    def _commit(self) -> bool:
        fields: Attributes = {names.TRANSACTION_ID: self._values[TRANSACTION]}
        return isinstance(self.system.exchange.ask("commit", fields), Result)

    def _see_arrivals(
        self, destination: Destination, consumer: Consumer
    ) -> Iterator[ClientRunResult]:
        """Yield for each message that is due what became of it, if it did not arrive as sent."""
        control = destination.send()
        if not control.is_accepted:
            raise ArrangementFailed(f"a plain message was refused: {control.why}")
        deliveries = self._collect(consumer, control)
        if control.key not in deliveries and not self.is_stopped():
            raise ArrangementFailed("a plain message did not arrive")
        for case, due in self._owed:
            delivery = deliveries.get(due.key)
            wrong = "" if self.is_stopped() else "it did not arrive, and a later message did"
            if delivery is not None:
                wrong = due.find_change(delivery)
            if wrong:
                yield ClientRunResult((case,), Trouble(DELIVERY, wrong))

    def _collect(self, consumer: Consumer, control: Sent) -> dict[str, Delivery]:
        """Return the first delivery of each body, as soon as all that is due is there."""
        due = {each.key for _, each in self._owed}
        deliveries: dict[str, Delivery] = {}
        until = time.monotonic() + self.system.patience.seconds(PUSH)
        while (now := time.monotonic()) < until and not self.is_stopped():
            for delivery in self._receive(consumer, until - now):
                deliveries.setdefault(delivery.key, delivery)
                consumer.settle(delivery)
            if control.key in deliveries:
                if due <= deliveries.keys():
                    break
                until = min(until, time.monotonic() + REST_S * machine_load())
        return deliveries

    def _receive(self, consumer: Consumer, within_s: float) -> Iterator[Delivery]:
        """Yield deliveries, also of messages that are in no right form."""
        fields: dict[str, JsonValue] = {
            "destination": consumer.destination,
            "group": consumer.group,
            "max": len(self.cases) + 1,
            "timeout_ms": int(min(within_s, REST_S) * 1000),
        }
        received = self.system.exchange.demand("receive", fields, waits=REST_S)
        at, at_ms = time.monotonic(), kit_ms()
        messages = received.get("messages")
        if not isinstance(messages, list):
            raise _NoAnswerOfTheProtocol("the answer to receive: /messages: expected an array")
        for each in messages:
            receipt = each.get("receipt") if isinstance(each, dict) else None
            message = each.get("message") if isinstance(each, dict) else None
            if not isinstance(receipt, str):
                raise _NoAnswerOfTheProtocol("the answer to receive: a message has no receipt")
            document = message if isinstance(message, dict) else {}
            yield Delivery(receipt, document, None, at, at_ms)


class _NoAnswerOfTheProtocol(KitError):
    """An answer lacks what the protocol demands of it."""


def _breach(system: System, error: KitError) -> Breach:
    """Return the rule that an error shows to be broken."""
    words = str(error)
    if isinstance(error, ArrangementFailed):
        return Breach(Trouble(ROUND_TRIP, words))
    if isinstance(error, TargetSilent):
        return Breach(Trouble(NO_ANSWER, words))
    if ended := system.exchange.link.describe_end():
        first, _, written = ended.partition("\n")
        last = "\n".join(written.splitlines()[-LOG_LINES:])
        return Breach(Trouble(ENDED, first), find_reason(written), last)
    return Breach(Trouble(CLOSED if isinstance(error, NotAnswered) else NONSENSE, words))
