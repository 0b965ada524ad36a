"""The ways that a message may take: sent or committed, first or again, to which group."""

from collections.abc import Sequence
from dataclasses import dataclass

from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import Consumer, System
from wireproof_kit.runner.patience import PUSH, REDELIVERY
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import missing
from wireproof_suites.oms.test_transaction import NEEDS as COMMIT
from wireproof_suites.oms.test_transaction import commit, transaction_id


@dataclass(frozen=True, slots=True)
class MessageWay:
    """How a message is sent and delivered."""

    is_committed: bool = False
    comes_again: bool = False
    in_second_group: bool = False
    partitions: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Return what a system must claim for this way."""
        return (COMMIT if self.is_committed else ()) + (("nack",) if self.comes_again else ())

    def deliver(
        self, system: System, attributes: Attributes, properties: Attributes, body: bytes | None
    ) -> Delivery | Observation:
        """Send a message that takes this way; return its last delivery, or what was seen instead.

        ``body``: None for one of the kit's own.
        """
        own = self.partitions if system.claims("partitions") else None
        destination, consumer = system.warm_destination(partitions=own)
        if self.in_second_group:
            consumer = destination.new_consumer("wp_second_group")
        if self.is_committed:
            attributes = {**attributes, names.TRANSACTION_ID: f"{destination.name}-transaction"}
        sent = destination.send(
            attributes or NOTHING,
            properties=properties,
            body=body,
            op="prepare" if self.is_committed else "send",
        )
        if not sent.is_accepted:
            return observed("refused", note=sent.why)
        ended = commit(system, transaction_id(sent)) if self.is_committed else None
        if isinstance(ended, Observation):
            return ended
        if self.comes_again:
            return _take_second(consumer, sent)
        return consumer.take([sent]).get(sent.key) or missing()


def _take_second(consumer: Consumer, sent: Sent) -> Delivery | Observation:
    """Reject the first delivery of a message, and return the second."""
    patience = consumer.system.patience
    first = _find(consumer.receive(within=patience.seconds(PUSH)), sent)
    if first is None:
        return missing()
    if not consumer.reject(first):
        return observed("nack-refused")
    second = _find(consumer.receive(within=patience.seconds(REDELIVERY)), sent)
    if second is None:
        return missing()
    consumer.settle(second)
    return second


def _find(deliveries: Sequence[Delivery], sent: Sent) -> Delivery | None:
    return next((each for each in deliveries if each.key == sent.key), None)
