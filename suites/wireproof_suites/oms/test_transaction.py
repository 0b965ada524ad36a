"""Transactions in two phases."""

from collections.abc import Sequence

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.exchange import describe
from wireproof_kit.oms.adapter.messages import Sent, attributes_of
from wireproof_kit.oms.adapter.system import GROUP, Consumer, Destination, System
from wireproof_spec.driver.lines import Result
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue
from wireproof_suites.oms.steps import LATE_S, REST_S, missing

NEEDS = ("transaction", "transaction-id")
SAME_ID, ROLLED_BACK = "oms.transaction.same-id", "oms.transaction.rolled-back"
PREPARED, SEVERAL = "oms.transaction.prepared", "oms.transaction.several"
ABSENT = "absent"


@case("oms/transaction/committed", clause=SAME_ID, needs=NEEDS, waiting=True)
def test_committed(system: System) -> Observation:
    """A message has the same transactionId when prepared, when committed and at the consumer."""
    destination, consumer = system.warm_destination()
    prepared = prepare(destination)
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
    prepared = prepare(destination)
    if not prepared.is_accepted:
        return observed("refused", note=prepared.why)
    control = destination.send()
    found = consumer.take([control], rest=LATE_S)
    if control.key not in found:
        return observed("no-control", overdue=True)
    return observed("delivered" if prepared.key in found else ABSENT)


@case("oms/transaction/rolled-back", clause=ROLLED_BACK, needs=NEEDS, waiting=True)
def test_rolled_back(system: System) -> Observation:
    """A message that was rolled back is not delivered."""
    destination, consumer = system.warm_destination()
    prepared = prepare(destination)
    if not prepared.is_accepted:
        return observed("refused", note=prepared.why)
    ended = system.exchange.ask("rollback", {names.TRANSACTION_ID: transaction_id(prepared)})
    if not isinstance(ended, Result):
        return observed("rollback-refused", note=describe(ended))
    control = destination.send()
    found = consumer.take([control], rest=LATE_S)
    if control.key not in found:
        return observed("no-control", overdue=True)
    return observed("delivered" if prepared.key in found else ABSENT)


@case("oms/transaction/prepared/new-group", clause=PREPARED, needs=NEEDS, waiting=True)
def test_prepared_for_new_group(system: System) -> Observation:
    """A prepared message is not delivered to a group that begins before the commit."""
    destination = system.new_destination()
    prepared = prepare(destination)
    if not prepared.is_accepted:
        return observed("refused", note=prepared.why)
    newcomer = Consumer(system, destination.name, GROUP)
    newcomer.receive(within=0)
    control = destination.send()
    found = newcomer.take([control], rest=REST_S)
    if control.key not in found:
        return observed("no-control", overdue=True)
    return observed("delivered" if prepared.key in found else ABSENT)


@case("oms/transaction/several/committed", clause=SEVERAL, needs=NEEDS, waiting=True)
def test_several_committed(system: System) -> Observation:
    """All messages of a transaction are delivered once it is committed, none before."""
    several = _prepare_several(system)
    if isinstance(several, Observation):
        return several
    before = _take_beside_control(several)
    if before != ABSENT:
        return observed(before)
    ended = commit(system, _id_of(several))
    if isinstance(ended, Observation):
        return ended
    found = {key for consumer, prepared in several for key in consumer.take(prepared)}
    is_whole = found >= {each.key for _, prepared in several for each in prepared}
    return observed("all") if is_whole else observed("some-missing", overdue=True)


@case("oms/transaction/several/rolled-back", clause=SEVERAL, needs=NEEDS, waiting=True)
def test_several_rolled_back(system: System) -> Observation:
    """No message of a transaction is delivered once it is rolled back."""
    several = _prepare_several(system)
    if isinstance(several, Observation):
        return several
    used = {names.TRANSACTION_ID: _id_of(several)}
    ended = system.exchange.ask("rollback", used)
    if not isinstance(ended, Result):
        return observed("rollback-refused", note=describe(ended))
    return observed(_take_beside_control(several))


_Several = Sequence[tuple[Consumer, Sequence[Sent]]]
"""The messages of a transaction, by the consumer of their destination."""


def _prepare_several(system: System) -> _Several | Observation:
    """Prepare messages of one transaction for two destinations, two for each."""
    places = [system.warm_destination() for _ in range(2)]
    wanted = {names.TRANSACTION_ID: f"{places[0][0].name}-Transaction"}
    several = [
        (consumer, [destination.send(wanted, op="prepare") for _ in range(2)])
        for destination, consumer in places
    ]
    every = [each for _, prepared in several for each in prepared]
    refused = next((each for each in every if not each.is_accepted), None)
    if refused is not None:  # no text says that a transaction has several messages
        return observed("unsupported:refused", note=refused.why)
    if len({transaction_id(each) for each in every}) > 1:
        return observed("unsupported:own-ids", note="each message has a transaction of its own")
    return several


def _id_of(several: _Several) -> str:
    return transaction_id(several[0][1][0])


def _take_beside_control(several: _Several) -> str:
    """Return whether one of these messages comes with a control message."""
    for consumer, prepared in several:
        control = Destination(consumer.system, consumer.destination).send()
        found = consumer.take([control], rest=REST_S)
        if any(each.key in found for each in prepared):
            return "delivered"
        if control.key not in found:
            return "no-control"
    return ABSENT


def prepare(destination: Destination, **attributes: JsonValue) -> Sent:
    """Prepare a message; its transactionId is longer than many systems' own."""
    wanted = f"{destination.system.naming.next()}-Transaction-0123456789:a=b;%41"
    return destination.send({**attributes, names.TRANSACTION_ID: wanted}, op="prepare")


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
