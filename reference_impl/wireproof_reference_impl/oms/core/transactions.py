"""Transactions: messages that are prepared, and then committed or rolled back."""

from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.refusal import NOT_FOUND, Refusal


class Transactions:
    """The open transactions and their messages, by transactionId."""

    def __init__(self) -> None:
        self._prepared: dict[str, list[Message]] = {}

    def prepare(self, transaction_id: str, message: Message) -> None:
        """Hold a message back until its transaction ends."""
        self._prepared.setdefault(transaction_id, []).append(message)

    def end(self, transaction_id: str) -> list[Message]:
        """End a transaction and return its messages in the order in which they were prepared.

        Raises:
            Refusal: no transaction with this id is open.
        """
        if transaction_id not in self._prepared:
            raise Refusal(NOT_FOUND, f"expected an open transaction, found {transaction_id!r}")
        return self._prepared.pop(transaction_id)
