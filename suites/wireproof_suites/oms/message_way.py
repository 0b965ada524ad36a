"""The ways that a message may take: sent or committed, first or again, to which group."""

import time
from dataclasses import dataclass

from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import Consumer, Destination, System
from wireproof_kit.runner.patience import PUSH, REDELIVERY
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import missing
from wireproof_suites.oms.test_transaction import NEEDS as COMMIT
from wireproof_suites.oms.test_transaction import commit, transaction_id

BESIDE, UNSETTLED = "beside-others", "unsettled"
EMPTY_S = 0.05


@dataclass(frozen=True, slots=True)
class MessageWay:
    """How a message is sent and delivered.

    ``beside``: messages with other contents are sent before and after (`BESIDE`), or a message that was
    delivered is not settled yet when this one is sent (`UNSETTLED`).
    """

    is_committed: bool = False
    comes_again: bool = False
    in_second_group: bool = False
    partitions: int | None = None
    beside: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Return what a system must claim for this way."""
        return (COMMIT if self.is_committed else ()) + (("nack",) if self.comes_again else ())

    def deliver(
        self,
        system: System,
        attributes: Attributes,
        properties: Attributes,
        body: bytes | None,
        *,
        header: Attributes = NOTHING,
    ) -> Delivery | Observation:
        """Send a message that takes this way; return its last delivery, or what was seen instead.

        ``body``: None for one of the kit's own.
        """
        own = self.partitions if system.claims("partitions") else None
        destination, consumer = system.warm_destination(partitions=own)
        if self.in_second_group:
            consumer = destination.new_consumer("wp_second_group")
        before = _hold(destination, consumer) if self.beside == UNSETTLED else None
        if self.beside == BESIDE:
            _send_other(destination, attributes, "before")
        with_id = attributes
        if self.is_committed:
            used = f"{destination.name}-Transaction"
            with_id = {**attributes, names.TRANSACTION_ID: used}
        sent = destination.send(
            with_id or NOTHING,
            header=header,
            properties=properties,
            body=body,
            op="prepare" if self.is_committed else "send",
        )
        if not sent.is_accepted:
            return observed("refused", note=sent.why)
        ended = commit(system, transaction_id(sent)) if self.is_committed else None
        if isinstance(ended, Observation):
            return ended
        if self.beside == BESIDE:
            _send_other(destination, attributes, "behind")
        if before is not None:
            consumer.settle(before)
        if self.comes_again:
            return _take_second(consumer, sent)
        return consumer.take([sent]).get(sent.key) or missing()


def _hold(destination: Destination, consumer: Consumer) -> Delivery | None:
    """Return a message that was delivered and is not settled; no other one is there."""
    held = _find(consumer, destination.send(), PUSH)
    consumer.receive(within=EMPTY_S)
    return held


def _send_other(destination: Destination, attributes: Attributes, word: str) -> None:
    """Send a message with the same attributes, of which the texts are others."""
    others = {
        name: f"wp-{word}" if isinstance(value, str) else value
        for name, value in attributes.items()
    }
    destination.send(others or NOTHING, properties={"wp-name": word})


def _take_second(consumer: Consumer, sent: Sent) -> Delivery | Observation:
    """Reject the first delivery of a message, and return the second."""
    first = _find(consumer, sent, PUSH)
    if first is None:
        return missing()
    if not consumer.reject(first):
        return observed("nack-refused")
    second = _find(consumer, sent, REDELIVERY)
    if second is None:
        return missing()
    consumer.settle(second)
    return second


def _find(consumer: Consumer, sent: Sent, kind: str) -> Delivery | None:
    """Receive until a message comes, and settle all others; None if it does not come in time.

    A copy is not settled: that might be taken for a success of the message itself.
    """
    deadline = time.monotonic() + consumer.system.patience.seconds(kind)
    found: Delivery | None = None
    while found is None and (left := deadline - time.monotonic()) > 0:
        for delivery in consumer.receive(within=left):
            if delivery.key != sent.key:
                consumer.settle(delivery)
            elif found is None:
                found = delivery
    return found
