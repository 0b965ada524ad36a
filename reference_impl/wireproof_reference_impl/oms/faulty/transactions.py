"""Faults of transactions."""

from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.destination import Destination
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.refusal import Refusal
from wireproof_reference_impl.oms.core.transactions import Transactions
from wireproof_reference_impl.oms.faulty.effect import (
    boundary,
    change_received,
    condition,
    extension_header,
    extra,
    late,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_reference_impl.preset import Preset
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document

SAME = "transaction.same-id"
ROLLED_BACK = "transaction.rolled-back"
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


def _commit_instead(original: Original, broker: Broker, transaction_id: str) -> None:
    broker.commit(transaction_id)


def _commit_nothing(original: Original, broker: Broker, transaction_id: str) -> None:
    broker.roll_back(transaction_id)


def _deliver_prepared() -> tuple[Override, ...]:
    """Return overrides by which a transaction is committed as soon as it is prepared.

    To end it a second time is no error then.
    """

    def prepare(original: Original, broker: Broker, document: Document, **named: object) -> object:
        told = cast(JsonObject, original(broker, document, **named))
        broker.commit(cast(str, extension_header(told)[names.TRANSACTION_ID]))
        return told

    def end(original: Original, transactions: Transactions, transaction_id: str) -> object:
        try:
            return original(transactions, transaction_id)
        except Refusal:
            return []

    return around(Broker, "prepare", prepare), around(Transactions, "end", end)


def _commit_later() -> tuple[Override, ...]:
    """Return overrides by which a transaction that is rolled back is delivered 3 s later."""
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


FAULTS: tuple[Preset, ...] = (
    missing(
        "transaction-id-dropped",
        "the consumer of a committed message gets no transactionId",
        _told(lambda told: None),
        breaks=SAME,
    ),
    wrong_value(
        "transaction-id-new",
        "the consumer of a committed message gets a transactionId of the server",
        _told(lambda told: f"server-{told}"),
        breaks=SAME,
    ),
    boundary(
        "transaction-id-cut",
        "the consumer of a committed message gets the first 16 characters of the transactionId",
        _told(lambda told: told[:16]),
        breaks=SAME,
    ),
    extra(
        "rolled-back-delivered",
        "a message that was rolled back is delivered",
        around(Broker, "roll_back", _commit_instead),
        breaks=ROLLED_BACK,
    ),
    late(
        "rolled-back-delivered-late",
        "a message that was rolled back is delivered 3 s later",
        *_commit_later(),
        breaks=ROLLED_BACK,
    ),
    condition(
        "prepared-delivered",
        "a message is delivered before its transaction is committed",
        *_deliver_prepared(),
        breaks="transaction.prepared",
        may_break=ROLLED_BACK,
    ),
    missing(
        "committed-lost",
        "a message that was committed is not delivered",
        around(Broker, "commit", _commit_nothing),
        breaks=SAME,
    ),
)
