"""What a provider assigns to a message that is sent, and the body that arrives."""

from collections.abc import Callable, Mapping

import pytest

from wireproof_kit.case import case
from wireproof_kit.observation import Observation, observed
from wireproof_kit.oms.adapter.messages import Attributes
from wireproof_kit.oms.adapter.system import GROUP, System
from wireproof_spec.driver.lines import in_base64
from wireproof_spec.oms import names
from wireproof_suites.oms.steps import REST_S, TOLERANCE_MS, missing, take_again, travel

HOUR_MS = 3_600_000
IDS: Mapping[str, Attributes] = {"unset": {}, "set": {names.MESSAGE_ID: "wp-sender-s-own-id"}}


@case("oms/message/message-id-assigned", clause="oms.message.message-id-assigned", waiting=True)
@pytest.mark.parametrize("header", IDS.values(), ids=IDS)
def test_message_id(system: System, header: Attributes) -> Observation:
    """The server gives two messages different ids, neither empty nor set by the sender."""
    destination, consumer = system.warm_destination()
    sent = [destination.send(header=header) for _ in range(2)]
    for each in sent:
        if not each.is_accepted:
            return observed("refused", note=each.why)
    found = consumer.take(sent)
    if any(each.key not in found for each in sent):
        return missing()
    told = [found[each.key].header.get(names.MESSAGE_ID) for each in sent]
    if any(each is None for each in told):
        return observed("untold")
    if any(not isinstance(each, str) or not each for each in told):
        return observed("empty")
    if header.get(names.MESSAGE_ID) in told:
        return observed("senders")
    return observed("assigned" if told[0] != told[1] else "same-id", note=str(told[0]))


BIRTHS: Mapping[str, Callable[[int], int | None]] = {
    "unset": lambda now: None,
    "one": lambda now: 1,
    "an-hour-ago": lambda now: now - HOUR_MS,
}


@case(
    "oms/message/born-timestamp-assigned",
    clause="oms.message.born-timestamp-assigned",
    waiting=True,
)
@pytest.mark.parametrize("make", BIRTHS.values(), ids=BIRTHS)
def test_born_timestamp(system: System, make: Callable[[int], int | None]) -> Observation:
    """The bornTimestamp lies between the call and the return of send, whatever the sender set.

    It is the clock of the client, which runs with the kit or with the server.
    """
    by_sender = make(int(system.clock.now_ms()))
    trip = travel(system, header={} if by_sender is None else {names.BORN_TIMESTAMP: by_sender})
    if trip.delivery is None:
        return trip.failure() or missing()
    told = trip.delivery.header.get(names.BORN_TIMESTAMP)
    if not isinstance(told, int):
        return observed("untold" if told is None else "other-type")
    tolerance = TOLERANCE_MS + system.clock.uncertain_ms
    offsets = [told - trip.sent.called_ms - ahead for ahead in (0.0, system.clock.ahead_ms)]
    most = trip.sent.returned_ms - trip.sent.called_ms + tolerance
    note = f"{offsets[0]:.0f} ms after the call, which took {most - tolerance:.0f} ms"
    if any(-tolerance <= offset <= most for offset in offsets):
        return observed("during-send", note=note)
    return observed("senders" if told == by_sender else "other-time", note=note)


@case("oms/message/destination-received", clause="oms.message.destination-received", waiting=True)
def test_destination(system: System) -> Observation:
    """The destination of a received message is the one that it was sent to."""
    destination, consumer = system.warm_destination()
    sent = destination.send()
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    delivery = consumer.take([sent]).get(sent.key)
    if delivery is None:
        return missing()
    told = delivery.header.get(names.DESTINATION)
    if told is None:
        return observed("untold")
    return observed("same" if told == destination.name else "other", note=str(told))


@case(
    "oms/message/destination-received/long-name",
    clause="oms.message.destination-received",
    waiting=True,
)
def test_destination_of_long_name(system: System) -> Observation:
    """A message comes to its own destination alone, also if another has nearly the same name."""
    pair = [system.long_destination(letter) for letter in "ab"]
    if None in pair:
        return observed("unsupported:refused", note="a name of 60 letters is refused")
    places = [(each, each.new_consumer(GROUP)) for each in pair if each is not None]
    sent = [destination.send() for destination, _ in places]
    refused = next((each for each in sent if not each.is_accepted), None)
    if refused is not None:
        return observed("refused", note=refused.why)
    for own, (_, consumer) in zip(sent, places, strict=True):
        found = consumer.take([own], rest=REST_S)
        if own.key not in found:
            return missing()
        if any(each.key in found for each in sent if each is not own):
            return observed("other", note="the message of the other destination came")
    return observed("same")


BODIES: Mapping[str, bytes] = {
    "text": b"hello",
    "every-byte": bytes(range(256)) + b"\r\n\0\0",
    "repeated": b"wireproof " * 2000,
}
COMPRESSIONS = {"none": None, "gzip": "gzip", "zlib": "zlib"}
NEEDS_OF_COMPRESSION = {name: ("compression",) for name, value in COMPRESSIONS.items() if value}


@case(
    "oms/message/body-restored",
    clause="oms.message.body-restored",
    needs_of={f"{body}-{name}": ("compression",) for body in BODIES for name in ("gzip", "zlib")},
    waiting=True,
)
@pytest.mark.parametrize("compression", COMPRESSIONS.values(), ids=COMPRESSIONS)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_body(system: System, body: bytes, compression: str | None) -> Observation:
    """The consumer gets the body as it was sent, compressed on the way or not."""
    return _observe_body(system, body, compression)


@case(
    "oms/message/body-restored/empty",
    clause="oms.message.body-restored",
    needs_of=NEEDS_OF_COMPRESSION,
    waiting=True,
)
@pytest.mark.parametrize("compression", COMPRESSIONS.values(), ids=COMPRESSIONS)
def test_empty_body(system: System, compression: str | None) -> Observation:
    """An empty body arrives empty, compressed on the way or not, or the message is refused."""
    return _observe_body(system, b"", compression)


def _observe_body(system: System, body: bytes, compression: str | None) -> Observation:
    """Send a message with a body, and return whether the body that arrives is the same."""
    destination, consumer = system.warm_destination()
    header: Attributes = {} if compression is None else {names.COMPRESSION: compression}
    sent = destination.send(header=header, body=body)
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    found = consumer.take([sent])
    if not found:
        return missing()
    return observed("as-sent" if in_base64(body) in found else "changed")


@case("oms/message/qos-default/told", clause="oms.message.qos-default", waiting=True)
def test_qos_told(system: System) -> Observation:
    """A message without a qos arrives with qos 0, or without one."""
    trip = travel(system)
    if trip.delivery is None:
        return trip.failure() or missing()
    header = trip.delivery.header
    if names.QOS not in header:
        return observed("untold")
    return observed("default" if header[names.QOS] == 0 else "other", note=repr(header[names.QOS]))


@case(
    "oms/message/qos-default/again",
    clause="oms.message.qos-default",
    needs=("nack",),
    waiting=True,
)
def test_qos_again(system: System) -> Observation:
    """A message without a qos is delivered again if its consumption fails."""
    deliveries = take_again(system, 2)
    return deliveries if isinstance(deliveries, Observation) else observed("delivered")
