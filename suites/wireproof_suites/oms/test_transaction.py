"""Transactions in two phases."""

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.exchange import describe
from wireproof_kit.oms.adapter.messages import Sent, attributes_of
from wireproof_kit.oms.adapter.system import Destination, System
from wireproof_spec.driver.lines import Result
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import LATE_S, missing

NEEDS = ("transaction", "transaction-id")
SAME_ID, ROLLED_BACK = "oms.transaction.same-id", "oms.transaction.rolled-back"
PREPARED = "oms.transaction.prepared"


@case("oms/transaction/committed", clause=SAME_ID, needs=NEEDS, waiting=True)
def test_committed(system: System) -> Observation:
    """A message has the same transactionId when prepared, when committed and at the consumer."""
    destination, consumer = system.warm_destination()
    prepared = _prepare(destination)
    if not prepared.is_accepted:
        return observed("refused", note=prepared.why)
    used = transaction_id(prepared)
    ended = commit(system, used)
    if isinstance(ended, Observation):
        return ended
    delivery = consumer.take([prepared]).get(prepared.key)
    if delivery is None:
        return missing()
    told = {
        "commit": ended.fields[names.TRANSACTION_ID],
        "consumer": delivery.attributes.get(names.TRANSACTION_ID),
    }
    other = [f"{who} has {value!r}" for who, value in told.items() if value != used]
    return observed("other-id" if other else "same-id", note="; ".join(other))


@case("oms/transaction/prepared", clause=PREPARED, needs=NEEDS, waiting=True)
def test_prepared(system: System) -> Observation:
    """A prepared message is not delivered before its transaction is committed."""
    destination, consumer = system.warm_destination()
    prepared = _prepare(destination)
    if not prepared.is_accepted:
        return observed("refused", note=prepared.why)
    control = destination.send()
    found = consumer.take([control], rest=LATE_S)
    if control.key not in found:
        return observed("no-control", overdue=True)
    return observed("delivered" if prepared.key in found else "absent")


@case("oms/transaction/rolled-back", clause=ROLLED_BACK, needs=NEEDS, waiting=True)
def test_rolled_back(system: System) -> Observation:
    """A message that was rolled back is not delivered."""
    destination, consumer = system.warm_destination()
    prepared = _prepare(destination)
    if not prepared.is_accepted:
        return observed("refused", note=prepared.why)
    ended = system.exchange.ask("rollback", {names.TRANSACTION_ID: transaction_id(prepared)})
    if not isinstance(ended, Result):
        return observed("rollback-refused", note=describe(ended))
    control = destination.send()
    found = consumer.take([control], rest=LATE_S)
    if control.key not in found:
        return observed("no-control", overdue=True)
    return observed("delivered" if prepared.key in found else "absent")


def _prepare(destination: Destination) -> Sent:
    """Prepare a message; its transactionId is longer than many systems' own."""
    wanted = f"{destination.name}-transaction-0123456789"
    return destination.send({names.TRANSACTION_ID: wanted}, op="prepare")


def transaction_id(prepared: Sent) -> str:
    """Return the id that the prepare message has after the call: the system may have set it."""
    return str(attributes_of(prepared.document).get(names.TRANSACTION_ID))


def commit(system: System, used: str) -> Result | Observation:
    """Commit a transaction; return the answer, or what was seen if the adapter refused."""
    ended = system.exchange.ask(
        "commit", {names.TRANSACTION_ID: used}, schema="oms/adapter-transaction"
    )
    if isinstance(ended, Result):
        return ended
    return observed("commit-refused", note=describe(ended))
