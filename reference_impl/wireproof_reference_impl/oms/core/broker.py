"""The broker: destinations, and what clients do with messages in them."""

from collections.abc import Callable

from msgspec import Struct

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import body, documents, partitioning, priority, timing
from wireproof_reference_impl.oms.core.destination import Destination
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.group import Delivery, Group
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.refusal import BAD_PARAMETER, NOT_FOUND, Refusal
from wireproof_reference_impl.oms.core.sent import Sent, read_sent
from wireproof_reference_impl.oms.core.transactions import Transactions
from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document

MOST_PARTITIONS = 1024


class BrokerEnvironment(Struct, frozen=True):
    """What the broker is given: its host name, and a source of new ids."""

    host: str
    new_id: Callable[[], str]


class Received(Struct, frozen=True):
    """A delivered message, and the receipt by which it is acknowledged or rejected.

    `partition` is where it was stored, in the numbers of senders.
    """

    receipt: str
    partition: int
    document: JsonObject


class Broker:
    """The OpenMessaging broker: destinations and open transactions.

    `now` is the time in milliseconds since 1970.
    """

    def __init__(self, behaviour: Behaviour, around: BrokerEnvironment) -> None:
        self.behaviour = behaviour
        self._around = around
        self._destinations: dict[str, Destination] = {}
        self._transactions = Transactions()
        self._receipts: dict[str, tuple[Group, Delivery]] = {}

    @property
    def next_due(self) -> int | None:
        """Return when the next message becomes ready for delivery, or None."""
        times = (destination.next_due for destination in self._destinations.values())
        return min((time for time in times if time is not None), default=None)

    def advance(self, now: int) -> None:
        """Make the messages ready that are due, in every destination."""
        for destination in self._destinations.values():
            destination.advance(now)

    def create_destination(self, name: str, partitions: int) -> None:
        """Create a destination, unless it exists with the same number of partitions.

        Raises:
            Refusal: the name is empty or taken, or the number is out of range.
        """
        if not name or not 1 <= partitions <= MOST_PARTITIONS:
            reason = f"expected a name and 1 to {MOST_PARTITIONS} partitions, found {partitions}"
            raise Refusal(BAD_PARAMETER, reason)
        known = self._destinations.get(name)
        if known is not None and known.partitions != partitions:
            reason = f"expected {known.partitions} partitions as {name!r} has, found {partitions}"
            raise Refusal(BAD_PARAMETER, reason)
        self._destinations[name] = known or Destination(
            name, self.behaviour, partitions=partitions
        )

    def send(
        self, document: Document, *, client: str, now: int, born: int | None = None
    ) -> JsonObject:
        """Store a message and return its document as the sender sees it afterwards.

        It was `born` when its sender created it, by default now.

        Raises:
            Refusal: the message is malformed, or its destination or partition does not exist.
        """
        sent = read_sent(document)
        message = self.store(sent, client=client, now=now, born=born)
        self._destination(sent.destination).add(message)
        return documents.sent_document(message, self.behaviour)

    def prepare(self, document: Document, *, client: str, now: int) -> JsonObject:
        """Store a message that is not delivered before its transaction is committed.

        Raises:
            Refusal: as `send`.
        """
        sent = read_sent(document)
        transaction_id = sent.text(names.TRANSACTION_ID) or self._around.new_id()
        message = self.store(sent, client=client, now=now, transaction_id=transaction_id)
        self._transactions.prepare(transaction_id, message)
        return documents.sent_document(message, self.behaviour)

    def commit(self, transaction_id: str) -> None:
        """Commit a transaction: its messages can be delivered from now on.

        Raises:
            Refusal: no transaction with this id is open.
        """
        for message in self._transactions.end(transaction_id):
            self._destination(message.sent.destination).add(message)

    def roll_back(self, transaction_id: str) -> None:
        """Roll a transaction back: its messages are dropped.

        Raises:
            Refusal: no transaction with this id is open.
        """
        self._transactions.end(transaction_id)

    def receive(self, destination: str, group: str, *, most: int, now: int) -> list[Received]:
        """Return the next messages for a group of consumers, at most `most`.

        Raises:
            Refusal: the destination does not exist.
        """
        place = self._destination(destination)
        place.advance(now)
        consumers, received = place.group(group), list[Received]()
        while len(received) < most and (delivery := consumers.take(now)) is not None:
            received.append(self._give(consumers, delivery))
        return received

    def acknowledge(self, receipt: str) -> None:
        """Note that a delivered message is processed and must not be delivered again.

        Raises:
            Refusal: the delivery is unknown, or not open any more.
        """
        group, delivery = self._open(receipt)
        if not group.settle(delivery):
            raise _not_open(receipt)

    def reject(self, receipt: str, now: int) -> None:
        """Note that a delivered message could not be consumed: it is delivered again.

        Raises:
            Refusal: the delivery is unknown, or not open any more.
        """
        group, delivery = self._open(receipt)
        if not group.reject(delivery, now):
            raise _not_open(receipt)

    def store(
        self,
        sent: Sent,
        *,
        client: str,
        now: int,
        born: int | None = None,
        transaction_id: str | None = None,
    ) -> Message:
        """Return a sent message as it is stored in its destination, but do not add it there yet.

        Raises:
            Refusal: its destination or partition does not exist, or its delay is refused.
        """
        born = now if born is None else born
        place = self._destination(sent.destination)
        self._check_delay(sent.number(names.DELAY_TIME))
        due = timing.due_time(born, sent.number(names.DELAY_TIME))
        return Message(
            id=self.behaviour.message_id_prefix + self._around.new_id(),
            sent=sent,
            data=body.pack(sent.data, sent.header.get(names.COMPRESSION)),
            partition=partitioning.choose_partition(
                sent,
                count=place.partitions,
                first=self.behaviour.first_partition,
                turn=place.next_turn(),
            ),
            priority=priority.effective_priority(sent.number(names.PRIORITY)),
            born=born,
            born_host=client,
            stored=now,
            store_host=self._around.host,
            due=due,
            discarded=timing.discard_time(
                born,
                due,
                timing.expire_time(
                    born,
                    sent.number(names.EXPIRE_TIME),
                    from_birth=self.behaviour.expires_from_birth,
                ),
                expires_in_gap=self.behaviour.expires_in_gap,
            ),
            transaction_id=transaction_id,
        )

    def _check_delay(self, delay: int | None) -> None:
        if delay is not None and delay < 0 and not self.behaviour.takes_negative_delay:
            raise Refusal(BAD_PARAMETER, f"expected a delayTime from 0 on, found {delay}")

    def _give(self, group: Group, delivery: Delivery) -> Received:
        receipt = self._around.new_id()
        self._receipts[receipt] = group, delivery
        document = documents.delivered_document(delivery.message, delivery.count, self.behaviour)
        partition = delivery.message.partition + self.behaviour.first_partition
        return Received(receipt, partition, document)

    def _open(self, receipt: str) -> tuple[Group, Delivery]:
        known = self._receipts.pop(receipt, None)
        if known is None:
            raise _not_open(receipt)
        return known

    def _destination(self, name: str) -> Destination:
        if name not in self._destinations:
            raise Refusal(NOT_FOUND, f"expected a destination that exists, found {name!r}")
        return self._destinations[name]


def _not_open(receipt: str) -> Refusal:
    return Refusal(NOT_FOUND, f"expected the receipt of an open delivery, found {receipt!r}")
