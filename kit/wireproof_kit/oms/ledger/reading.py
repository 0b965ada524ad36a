"""Reads the requests and answers of a transcript into entries and into events of groups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from wireproof_kit.ledger.entries import Entry, Fate, Place
from wireproof_kit.ledger.reading import RunReading
from wireproof_kit.oms.adapter.messages import Attributes, attributes_of
from wireproof_kit.oms.ledger.events import (
    Begun,
    Delivered,
    GroupEvent,
    Rejected,
    Settled,
    Unanswered,
)
from wireproof_kit.oms.ledger.sends import (
    Content,
    Transaction,
    is_well_formed,
    read_send,
    with_numbers,
)
from wireproof_kit.wire.transcript import Step
from wireproof_spec import strict_json
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_spec.wire_error import WireError

PREPARED: Final = "prepared"
"""What the way of a message can have besides the usual: sent within a transaction."""
_ENDS: Final = {"ack": Settled, "nack": Rejected}
"""What a consumer says of a delivery, by the operation."""
_NO_FIELDS: Final[Mapping[str, JsonValue]] = {}


@dataclass(slots=True)
class _Asked:
    """A request that waits for its answer."""

    fields: Attributes
    at: Place
    order: int
    entry: Entry[Content] | None = None

    @property
    def op(self) -> str:
        """The operation."""
        return self.text("op")

    def text(self, name: str) -> str:
        """Return the member of a name; empty if it is no string."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


@dataclass(slots=True)
class _Answer:
    """An answer; ``fields`` is None if the operation did not succeed, or nothing came."""

    at: Place
    order: int
    fields: Attributes | None
    is_refusal: bool


class Reading(RunReading[Content, GroupEvent]):
    """Reads the transcripts of the cases of one run."""

    def open_case(self, case: str) -> "_CaseReader":
        """Return what reads the steps of one run of a case."""
        return _CaseReader(case, self.orders)


@dataclass(slots=True)
class _CaseReader:
    """Reads one case, which waits for each answer before its next request."""

    case: str
    orders: Iterator[int]
    entries: list[Entry[Content]] = field(default_factory=list[Entry[Content]])
    events: list[GroupEvent] = field(default_factory=list[GroupEvent])
    _asked: _Asked | None = None
    _partitions: dict[str, int] = field(default_factory=dict[str, int])
    _receipts: dict[str, Delivered] = field(default_factory=dict[str, Delivered])
    _groups: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _transactions: dict[str, Transaction] = field(default_factory=dict[str, Transaction])

    def see(self, step: Step) -> None:
        """Read a step."""
        at, order = Place(self.case, step), next(self.orders)
        if step.kind == "request":
            self._give_up(order)
            self._asked = _Asked(_read_object(step.data), at, order)
            self._request(self._asked)
        elif step.kind == "response" and self._asked is not None:
            asked, self._asked = self._asked, None
            fields = _read_object(step.data).get("ok")
            told = fields if isinstance(fields, dict) else None
            self._conclude(asked, _Answer(at, order, told, is_refusal=told is None))

    def close(self) -> None:
        """Settle what has no answer."""
        self._give_up(next(self.orders))
        for entry in self.entries:
            entry.settle(Fate.POSSIBLE)

    def _give_up(self, order: int) -> None:
        if self._asked is not None:
            asked, self._asked = self._asked, None
            self._conclude(asked, _Answer(asked.at, order, None, is_refusal=False))

    def _request(self, asked: _Asked) -> None:
        if asked.op in ("send", "prepare"):
            asked.entry = self._entry(asked)
        elif asked.op == "commit":
            self._transaction(asked.text(names.TRANSACTION_ID)).commit_order = asked.order

    def _entry(self, asked: _Asked) -> Entry[Content] | None:
        document = with_numbers(asked.fields.get(names.MESSAGE))
        is_prepared = asked.op == "prepare"
        content = read_send(document, is_prepared=is_prepared)
        if content is None:
            return None
        content.partitions = self._partitions.get(content.destination)
        way = frozenset({PREPARED} if is_prepared else ())
        entry = Entry(content, content.destination, asked.at, way, order=asked.order)
        if not is_well_formed(document):
            entry.settle(Fate.FREE)
        self.entries.append(entry)
        return entry

    def _conclude(self, asked: _Asked, answer: _Answer) -> None:
        if asked.entry is not None:
            self._settle(asked.entry, answer)
        elif asked.op == "create_destination" and answer.fields is not None:
            count = asked.fields.get("partitions")
            if isinstance(count, int):
                self._partitions[asked.text("destination")] = count
        elif asked.op in ("commit", "rollback"):
            self._end(asked, answer)
        elif asked.op == "receive":
            self._receive(asked, answer)
        elif asked.op in _ENDS and answer.fields is not None:
            delivered = self._receipts.pop(asked.text("receipt"), None)
            if delivered is not None:
                place = delivered.destination, delivered.group
                event = _ENDS[asked.op](*place, answer.at, answer.order, delivered)
                self.events.append(event)

    def _settle(self, entry: Entry[Content], answer: _Answer) -> None:
        if answer.fields is None:
            fate = Fate.REFUSED if answer.is_refusal else Fate.POSSIBLE
            entry.settle(fate, answer.at if answer.is_refusal else None, answer.order)
            return
        document = with_numbers(answer.fields.get(names.MESSAGE))
        content = entry.content
        if isinstance(document, dict):
            content.answer = document
        used = attributes_of(content.answer).get(names.TRANSACTION_ID)
        if content.is_prepared and isinstance(used, str):
            content.transaction = self._transaction(used)
        entry.settle(Fate.ACCEPTED, answer.at, answer.order)

    def _transaction(self, name: str) -> Transaction:
        return self._transactions.setdefault(name, Transaction(name))

    def _end(self, asked: _Asked, answer: _Answer) -> None:
        transaction = self._transaction(asked.text(names.TRANSACTION_ID))
        if answer.fields is None:
            transaction.is_certain = False
        elif asked.op == "commit":
            transaction.committed_as = answer.fields.get(names.TRANSACTION_ID)
        else:
            transaction.rollback_order = answer.order

    def _receive(self, asked: _Asked, answer: _Answer) -> None:
        place = asked.text("destination"), asked.text("group")
        if place not in self._groups:
            self._groups.add(place)
            self.events.append(Begun(*place, answer.at, answer.order))
        messages = None if answer.fields is None else answer.fields.get("messages")
        if not isinstance(messages, list):
            self.events.append(Unanswered(*place, answer.at, answer.order))
            return
        for told in messages:
            delivered = _read_delivered(told, asked, answer)
            if delivered is not None:
                self._receipts[delivered.receipt] = delivered
                self.events.append(delivered)


def _read_delivered(told: JsonValue, asked: _Asked, answer: _Answer) -> Delivered | None:
    if not isinstance(told, dict):
        return None
    receipt, document = told.get("receipt"), with_numbers(told.get(names.MESSAGE))
    partition = told.get(names.PARTITION)
    if not isinstance(receipt, str) or not isinstance(document, dict):
        return None
    return Delivered(
        asked.text("destination"),
        asked.text("group"),
        answer.at,
        answer.order,
        asked_us=asked.at.step.at_us,
        receipt=receipt,
        document=document,
        partition=partition if isinstance(partition, int) else None,
    )


def _read_object(data: bytes) -> Attributes:
    try:
        value = strict_json.read(data).value
    except WireError:
        return _NO_FIELDS
    return value if isinstance(value, dict) else _NO_FIELDS
