"""The transcript of a conversation with an adapter whose system does everything right."""

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from wireproof_kit.decoding.json_text import json_line
from wireproof_kit.oms.adapter.messages import Attributes, make_document
from wireproof_kit.oms.adapter.session import WORDS
from wireproof_kit.oms.adapter.system import GROUP
from wireproof_kit.oms.ledger.ledger import OmsLedger
from wireproof_kit.oms.ledger.times import RunClock
from wireproof_kit.wire.transcript import Step
from wireproof_spec.driver.lines import in_base64
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue

Document = dict[str, dict[str, dict[str, JsonValue]]]

CASE_STARTED_MS = 1_800_000_001_000
PLACE = "wp_1a_1"
ROUND_TRIP_US = 10_000


@dataclass(slots=True)
class Conversation:
    """Requests with their answers; what a test edits in a delivered document is told so."""

    now_us: int = 0
    steps: list[Step] = field(default_factory=list[Step])
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @property
    def now_ms(self) -> int:
        """The time in milliseconds since 1970."""
        return CASE_STARTED_MS + self.now_us // 1000

    def ask(self, op: str, fields: Attributes, answer: JsonValue) -> None:
        """Add a request and its answer; None for no answer."""
        self._add("request", {"op": op, **fields})
        self.now_us += ROUND_TRIP_US
        if answer is not None:
            self._add("response", answer)

    def create(self, partitions: int = 1) -> None:
        """Create the destination."""
        self.ask(
            "create_destination", {"destination": PLACE, "partitions": partitions}, {"ok": {}}
        )

    def send(
        self,
        attributes: Attributes | None = None,
        *,
        header: Attributes | None = None,
        body: bytes | None = None,
        op: str = "send",
        answer: JsonValue = True,
        edit_answer: "Edit | None" = None,
    ) -> Document:
        """Send a message and return it as it should be delivered first.

        ``edit_answer`` edits the message as its sender has it after the call.
        """
        number = next(self._numbers)
        sent = make_document(
            PLACE, attributes or {}, header or {}, body or f"wp_1a_{number}".encode()
        )
        told = cast(Document, copy.deepcopy(sent))[names.MESSAGE]
        told[names.HEADER] |= {
            names.MESSAGE_ID: f"ID:{number}",
            names.BORN_TIMESTAMP: self.now_ms + 1,
            names.BORN_HOST: "client:1",
        }
        after = copy.deepcopy(told)
        if edit_answer is not None:
            edit_answer({names.MESSAGE: after})
        told[names.EXTENSION_HEADER] |= {
            names.STORE_TIMESTAMP: self.now_ms + 2,
            names.STORE_HOST: "server:1",
            names.DELIVERY_COUNT: 1,
        }
        is_right = answer is True
        right: JsonValue = {"ok": {"message": {"message": cast(JsonValue, after)}}}
        self.ask(op, {"message": sent}, right if is_right else answer)
        return {names.MESSAGE: told}

    def receive(self, *documents: Document, group: str = GROUP, partition: int = 0) -> None:
        """Receive messages; their receipts are r0, r1, …"""
        messages: list[JsonValue] = [
            {"receipt": f"r{index}", "partition": partition, "message": cast(JsonValue, document)}
            for index, document in enumerate(documents)
        ]
        self.ask("receive", {"destination": PLACE, "group": group}, {"ok": {"messages": messages}})

    def reject(self) -> None:
        """Reject the first message of the latest answer."""
        self.ask("nack", {"receipt": "r0"}, {"ok": {}})

    def settle(self) -> None:
        """Acknowledge the first message of the latest answer."""
        self.ask("ack", {"receipt": "r0"}, {"ok": {}})

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now_us += int(seconds * 1_000_000)

    def _add(self, kind: str, value: JsonValue) -> None:
        data = json_line(value).encode()
        self.steps.append(Step(self.now_us, "adapter", kind, data, index=len(self.steps)))


def header_of(document: Document) -> dict[str, JsonValue]:
    """Return the header of a delivered document."""
    return document[names.MESSAGE][names.HEADER]


def attributes_of(document: Document) -> dict[str, JsonValue]:
    """Return the extension header of a delivered document."""
    return document[names.MESSAGE][names.EXTENSION_HEADER]


ALL = frozenset(WORDS.values())
RUN_STARTED_MS = CASE_STARTED_MS - 1000
HOUR_MS = 3_600_000
Edit = Callable[[Document], None]
CLAIMED = {"oms.round-trip.claimed": "dropped"}


def judge(
    talk: Conversation,
    *,
    claims: frozenset[str] = ALL,
    started_ms: float | None = None,
    ahead_ms: float = 0.0,
) -> OmsLedger:
    ledger = OmsLedger(claims, RunClock(RUN_STARTED_MS, ahead_ms))
    ledger.read("case", talk.steps, started_ms)
    ledger.conclude()
    return ledger


def broken(talk: Conversation, *, claims: frozenset[str] = ALL) -> dict[str, str]:
    outcomes = judge(talk, claims=claims).outcomes
    return {each.clause: each.finding.value for each in outcomes if each.finding is not None}


def set_attribute(name: str, value: JsonValue) -> Edit:
    return lambda document: attributes_of(document).update({name: value})


def set_header(name: str, value: JsonValue) -> Edit:
    return lambda document: header_of(document).update({name: value})


def drop_attribute(name: str) -> Edit:
    return lambda document: attributes_of(document).__delitem__(name)


def drop_header(name: str) -> Edit:
    return lambda document: header_of(document).__delitem__(name)


def set_body(document: Document) -> None:
    document[names.MESSAGE][names.DATA] = in_base64(b"other")  # type: ignore[assignment]  # a text
