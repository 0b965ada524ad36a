"""Steps and observations that the cases on systems share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wireproof_kit.decoding.printable import clip
from wireproof_kit.observation import Difference, Observation, observed
from wireproof_kit.oms.adapter.messages import NOTHING, Attributes, Delivery, Sent
from wireproof_kit.oms.adapter.system import System
from wireproof_kit.runner.patience import PUSH, REDELIVERY
from wireproof_spec.strict_json import JsonValue

TOLERANCE_MS = 50.0
"""How much two readings of one clock may differ, by rounding and by a thread that must wait."""
REST_S = 0.3
"""How long to go on receiving when the control message is there, for what must not come."""
LATE_S = 3.5
"""The same where a system may deliver late what it must not deliver."""
TEXTS: Mapping[str, str] = {
    "short": "a",
    "long": "0123456789abcdef" * 32,
    "digits": "00420",
    "letter-case": "aBcDeF",
    "blanks": " a  b ",
    "decomposed": "e\u0301a\u030a",
    "beyond-ascii": "ß\u00a0中",
    "beyond-16-bits": "\U0001f600",
    "quotes": "\"'\\/<&>{}",
    "separators": "a=b;c,d:e|f&g",
    "percent": "%41+b%",
    "word": "null",
}
"""Printable strings that a careless system changes."""
ODD = f" {''.join(text for name, text in TEXTS.items() if name != 'long')} "
"""All of them in one, but for the long one."""
UNCHANGED, CHANGED, DROPPED = "unchanged", "changed", "dropped"


@dataclass(frozen=True, slots=True)
class Trip:
    """A message that was sent, with the answer to sending it, and its delivery if it arrived."""

    sent: Sent
    delivery: Delivery | None

    def failure(self) -> Observation | None:
        """Return what was seen if the message was refused or did not arrive."""
        if not self.sent.is_accepted:
            return observed("refused", note=self.sent.why)
        return missing() if self.delivery is None else None


def missing() -> Observation:
    """Return the observation of a message that was due and did not arrive."""
    return observed("missing", overdue=True)


def travel(
    system: System,
    attributes: Attributes = NOTHING,
    *,
    header: Attributes = NOTHING,
    body: bytes | None = None,
) -> Trip:
    """Send a message to a destination of its own, receive it, and return both."""
    destination, consumer = system.warm_destination()
    sent = destination.send(attributes, header=header, body=body)
    return Trip(sent, consumer.take([sent]).get(sent.key) if sent.is_accepted else None)


def compare(found: Attributes, sent: Attributes) -> Observation:
    """Compare attributes with the sent ones, by value and type: unchanged, or what differs."""
    for name, value in sent.items():
        if name not in found:
            return observed(DROPPED, difference=Difference(name, None, _shown(value), "nothing"))
        other = found[name]
        if type(other) is not type(value) or other != value:
            difference = Difference(name, None, _shown(value), _shown(other))
            return observed(CHANGED, difference=difference)
    return observed(UNCHANGED)


def compare_trip(system: System, attributes: Attributes) -> Observation:
    """Send a message with attributes and return whether they arrived unchanged."""
    trip = travel(system, attributes)
    if trip.delivery is None:
        return trip.failure() or missing()
    return compare(trip.delivery.attributes, attributes)


def take_again(
    system: System, times: int, attributes: Attributes = NOTHING
) -> Sequence[Delivery] | Observation:
    """Return the deliveries of a message whose consumption fails each time but the last.

    There are more than ``times`` if copies come.
    """
    destination, consumer = system.warm_destination()
    sent = destination.send(attributes)
    if not sent.is_accepted:
        return observed("refused", note=sent.why)
    deliveries: list[Delivery] = []
    while len(deliveries) < times:
        within = system.patience.seconds(REDELIVERY if deliveries else PUSH)
        found = [each for each in consumer.receive(within=within) if each.key == sent.key]
        if not found:
            return missing()
        deliveries += found  # no text forbids a copy
        if len(deliveries) >= times:
            consumer.settle(found[-1])
        elif not consumer.reject(found[-1]):
            return observed("nack-refused")
    return deliveries


def is_integer(value: JsonValue) -> bool:
    """Return True for a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: JsonValue) -> str:
    return clip(repr(value), 80)
