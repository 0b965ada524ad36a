"""The ways that a message may take: sent or committed, first or again, to which group."""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import MOST_AT_ONCE, Consumer, Destination, System
from wireproof_kit.runner.patience import PUSH, REDELIVERY, Wait
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import missing
from wireproof_suites.oms.test_transaction import NEEDS as COMMIT
from wireproof_suites.oms.test_transaction import commit, transaction_id

BESIDE, ONE_BY_ONE, UNSETTLED = "beside-others", "one-by-one", "unsettled"
EMPTY_S = 0.05


@dataclass(frozen=True, slots=True)
class MessageWay:
    """How a message is sent and delivered.

    ``beside``: messages with other contents are sent before and after (`BESIDE`), or messages with
    the same attributes, and each is settled before the next is received (`ONE_BY_ONE`), or a
    message that was delivered is not settled yet when this one is sent (`UNSETTLED`).
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
        with self._surrounded(destination, consumer, attributes):
            sent = self._send(destination, attributes, properties, body, header)
        return sent if isinstance(sent, Observation) else self._take(consumer, sent)

    @contextmanager
    def _surrounded(
        self, destination: Destination, consumer: Consumer, attributes: Attributes
    ) -> Generator[None]:
        """Arrange what else the consumer gets, before the message and after it."""
        if self.beside == UNSETTLED:
            held, _ = _find(consumer, destination.send(), PUSH)
            consumer.receive(within=EMPTY_S)
            yield
            if held is not None:
                consumer.settle(held)
        elif self.beside in (BESIDE, ONE_BY_ONE):
            others = attributes if self.beside == ONE_BY_ONE else _with_other_texts(attributes)
            destination.send(others or NOTHING, properties={"wp-name": "before"})
            yield
            destination.send(others or NOTHING, properties={"wp-name": "behind"})
        else:
            yield

    def _send(
        self,
        destination: Destination,
        attributes: Attributes,
        properties: Attributes,
        body: bytes | None,
        header: Attributes,
    ) -> Sent | Observation:
        """Send a message, or prepare and commit it."""
        if self.is_committed:
            used = f"{destination.name}-Transaction"
            attributes = {**attributes, names.TRANSACTION_ID: used}
        sent = destination.send(
            attributes or NOTHING,
            header=header,
            properties=properties,
            body=body,
            op="prepare" if self.is_committed else "send",
        )
        if not sent.is_accepted:
            return observed("refused", note=sent.why)
        ended = commit(destination.system, transaction_id(sent)) if self.is_committed else None
        return ended if isinstance(ended, Observation) else sent

    def _take(self, consumer: Consumer, sent: Sent) -> Delivery | Observation:
        """Receive a message, and if it comes again reject it first; the others are settled."""
        most = 1 if self.beside == ONE_BY_ONE else MOST_AT_ONCE
        found, others = _find(consumer, sent, PUSH, most)
        if found is not None and self.comes_again:
            if not consumer.reject(found):
                return observed("nack-refused")
            for other in others:
                consumer.settle(other)
            found, others = _find(consumer, sent, REDELIVERY, most)
        if found is None:
            return missing()
        for other in (found, *others):
            consumer.settle(other)
        return found


def _with_other_texts(attributes: Attributes) -> Attributes:
    return {
        name: "wp-other" if isinstance(value, str) else value for name, value in attributes.items()
    }


def _find(
    consumer: Consumer, sent: Sent, kind: Wait, most: int = MOST_AT_ONCE
) -> tuple[Delivery | None, Sequence[Delivery]]:
    """Receive until a message comes; return it, and the others that came with it.

    Those that came before are settled, but for copies of the message: that might be taken for a
    success of the message itself.
    """
    deadline = time.monotonic() + consumer.system.patience.seconds(kind)
    while (left := deadline - time.monotonic()) > 0:
        came = consumer.receive(within=left, most=most)
        others = [each for each in came if each.key != sent.key]
        found = next((each for each in came if each.key == sent.key), None)
        if found is not None:
            return found, others
        for other in others:
            consumer.settle(other)
    return None, ()
