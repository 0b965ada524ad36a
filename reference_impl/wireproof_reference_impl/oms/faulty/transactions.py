"""Faults of transactions."""

from collections.abc import Callable

from msgspec.structs import replace

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.destination import Destination
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.refusal import Refusal
from wireproof_reference_impl.oms.core.transactions import Transactions
from wireproof_reference_impl.oms.faulty.effect import (
    change_received,
    extension_header,
    given_to_new_groups,
)
from wireproof_reference_impl.oms.faulty.ways import (
    boundary,
    condition,
    extra,
    late,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document

_LATE_MS = 3000


def _told(change: Callable[[str], str | None]) -> Override:
    """Return an override by which consumers are told another transactionId of a transaction."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if message.transaction_id is None:
            return
        changed = change(message.transaction_id)
        if changed is None:
            del told[names.TRANSACTION_ID]
        else:
            told[names.TRANSACTION_ID] = changed

    return change_received(wrong)


@missing("transaction.same-id", _told)
def transaction_id_dropped(told: str) -> str | None:
    """The consumer of a committed message gets no transactionId."""
    return None


@wrong_value("transaction.same-id", _told)
def transaction_id_new(told: str) -> str | None:
    """The consumer of a committed message gets a transactionId of the server."""
    return f"server-{told}"


@boundary("transaction.same-id", _told)
def transaction_id_cut(told: str) -> str | None:
    """The consumer of a committed message gets the first 16 characters of the transactionId."""
    return told[:16]


@extra("transaction.rolled-back", around(Broker, "roll_back"))
def rolled_back_delivered(original: Original, broker: Broker, transaction_id: str) -> None:
    """A message that was rolled back is delivered."""
    broker.commit(transaction_id)


@late("transaction.rolled-back")
def rolled_back_delivered_late() -> Change:
    """A message that was rolled back is delivered 3 s later."""
    rolling_back: list[str] = []

    def roll_back(original: Original, broker: Broker, transaction_id: str) -> None:
        rolling_back.append(transaction_id)
        broker.commit(transaction_id)
        rolling_back.clear()

    def add(original: Original, destination: Destination, message: Message) -> None:
        original(
            destination,
            replace(message, due=message.due + _LATE_MS) if rolling_back else message,
        )

    return around(Broker, "roll_back", roll_back), around(Destination, "add", add)


@condition("transaction.prepared")
def prepared_delivered() -> Change:
    """A message is delivered before its transaction is committed."""

    def prepare(original: Original, broker: Broker, document: Document, **named: object) -> object:
        document_sent: JsonObject = original(broker, document, **named)
        broker.commit(str(extension_header(document_sent)[names.TRANSACTION_ID]))
        return document_sent

    def end(original: Original, transactions: Transactions, transaction_id: str) -> object:
        try:
            return original(transactions, transaction_id)
        except Refusal:
            return []

    return around(Broker, "prepare", prepare), around(Transactions, "end", end)


@missing("transaction.same-id", around(Broker, "commit"))
def committed_lost(original: Original, broker: Broker, transaction_id: str) -> None:
    """A message that was committed is not delivered."""
    broker.roll_back(transaction_id)


@wrong_value("transaction.same-id", _told)
def transaction_id_lower_case(told: str) -> str | None:
    """The consumer of a committed message gets the transactionId in lower case."""
    return told.lower()


@missing("transaction.several", around(Transactions, "end"))
def first_committed_alone(
    original: Original, transactions: Transactions, transaction_id: str
) -> object:
    """Of several messages of a transaction the first one alone is delivered."""
    return original(transactions, transaction_id)[:1]


@extra("transaction.several")
def second_delivered_by_rollback() -> Change:
    """Of several messages of a transaction all but the first are delivered by a rollback."""
    rolling_back: list[str] = []

    def roll_back(original: Original, broker: Broker, transaction_id: str) -> None:
        rolling_back.append(transaction_id)
        broker.commit(transaction_id)
        rolling_back.clear()

    def end(original: Original, transactions: Transactions, transaction_id: str) -> object:
        messages: list[Message] = original(transactions, transaction_id)
        return messages[1:] if rolling_back else messages

    return around(Broker, "roll_back", roll_back), around(Transactions, "end", end)


@condition("transaction.prepared")
def prepared_given_to_new_groups() -> Change:
    """A group that begins gets prepared messages."""
    return given_to_new_groups(Transactions, "prepare")


FAULTS = list_faults(__name__)
