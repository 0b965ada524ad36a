"""What faults of the OpenMessaging server change: seams of its core."""

from collections.abc import Callable
from decimal import Decimal

from msgspec.structs import replace

from wireproof_reference_impl.oms.behaviour import Behaviour
from wireproof_reference_impl.oms.core import broker, documents, timing
from wireproof_reference_impl.oms.core.broker import Broker
from wireproof_reference_impl.oms.core.destination import Destination
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.group import Group
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.core.ready_queue import Arrival
from wireproof_reference_impl.oms.core.sent import Sent
from wireproof_reference_impl.overrides import Original, Override, around
from wireproof_spec.oms import names
from wireproof_spec.strict_json import JsonValue, fields_of

_LAST = 1 << 20
"""A number of arrival behind all others."""
PartChange = Callable[[JsonObject, Message, int], None]


def change_received(change: PartChange) -> Override:
    """Return an override that changes the extension header of messages that consumers get.

    `change` is given the header, the message, and how many times it was delivered, from 1.
    """
    return _change_delivered(names.EXTENSION_HEADER, change)


def change_properties(change: PartChange) -> Override:
    """Return an override that changes the user properties of messages that consumers get.

    `change` is given the properties, the message, and how many times it was delivered, from 1.
    """
    return _change_delivered(names.PROPERTIES, change)


def _change_delivered(part: str, change: PartChange) -> Override:
    def wrong(
        original: Original, message: Message, count: int, behaviour: Behaviour
    ) -> JsonObject:
        document: JsonObject = original(message, count, behaviour)
        change(part_of(document, part), message, count)
        return document

    return around(documents, "delivered_document", wrong)


def change_told(change: Callable[[JsonObject, Message], None]) -> Override:
    """Return an override that changes a message's extension header for senders and consumers."""

    def wrong(original: Original, message: Message, behaviour: Behaviour) -> JsonObject:
        attributes: JsonObject = original(message, behaviour)
        change(attributes, message)
        return attributes

    return around(documents, "attributes", wrong)


def change_header(change: Callable[[JsonObject, Message], None]) -> Override:
    """Return an override that changes a message's header for senders and consumers."""

    def wrong(original: Original, message: Message) -> JsonObject:
        header: JsonObject = original(message)
        change(header, message)
        return header

    return around(documents, "header", wrong)


def change_sent(change: Callable[[JsonObject], None]) -> Override:
    """Return an override that changes the extension header of a message before it is stored."""

    def wrong(original: Original, *arguments: object) -> Sent:
        sent: Sent = original(*arguments)
        attributes = dict(sent.extension_header)
        change(attributes)
        return replace(sent, extension_header=attributes)

    return around(broker, "read_sent", wrong)


def change_attribute(name: str, change: Callable[[JsonValue], JsonValue]) -> Override:
    """Return an override that changes an attribute that consumers get; None drops it."""

    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if name not in told:
            return
        value = change(told[name])
        if value is None:
            del told[name]
        else:
            told[name] = value

    return change_received(wrong)


def change_due(change: Callable[[int, int], int]) -> Override:
    """Return an override that changes due times; `change` is given the birth and the due time."""

    def wrong(original: Original, born: int, delay: int | None) -> int:
        return change(born, original(born, delay))

    return around(timing, "due_time", wrong)


def change_delay(change: Callable[[int | None], int | None]) -> Override:
    """Return an override that changes the delay of messages before due times are computed."""

    def wrong(original: Original, born: int, delay: int | None) -> object:
        return original(born, change(delay))

    return around(timing, "due_time", wrong)


def change_discard(change: Callable[[int, int | None, int | None], int | None]) -> Override:
    """Return an override that changes when messages are discarded.

    `change` is given the birth, the expireTime and the right time to discard the message.
    """

    def wrong(
        original: Original, born: int, due: int, expires: int | None, **named: bool
    ) -> int | None:
        right: int | None = original(born, due, expires, **named)
        return change(born, expires, right)

    return around(timing, "discard_time", wrong)


def change_stored(change: Callable[[Message], Message]) -> Override:
    """Return an override that changes messages as they are stored."""

    def wrong(original: Original, *arguments: object, **named: object) -> Message:
        return change(original(*arguments, **named))

    return around(Broker, "store", wrong)


def given_to_new_groups(kept: type, method: str) -> tuple[Override, ...]:
    """Return overrides by which a new group gets messages with which a method was called."""
    messages: list[Message] = []

    def keep(original: Original, owner: object, *arguments: object) -> object:
        messages.extend(argument for argument in arguments if isinstance(argument, Message))
        return original(owner, *arguments)

    def begin(original: Original, destination: Destination, name: str) -> object:
        before = destination.group_count
        group: Group = original(destination, name)
        if destination.group_count > before:
            own = [message for message in messages if message.sent.destination == destination.name]
            group.offer(Arrival(_LAST + number, each) for number, each in enumerate(own))
        return group

    return around(kept, method, keep), around(Destination, "group", begin)


class OfLast:
    """Remembers a value of the last message of each destination, to put it into the next one."""

    def __init__(self) -> None:
        self._by_destination: dict[str, int] = {}
        self._destination = ""

    def override(self) -> Override:
        """Return an override that notes to which destination a message is sent."""

        def wrong(original: Original, sender: Broker, sent: Sent, **named: object) -> object:
            self._destination = sent.destination
            return original(sender, sent, **named)

        return around(Broker, "store", wrong)

    def swap(self, value: int | None) -> int | None:
        """Return the value of this message, or else that of the message before."""
        before = self._by_destination.pop(self._destination, None)
        if value is not None:
            self._by_destination[self._destination] = value
        return before if value is None else value


def extension_header(document: JsonObject) -> JsonObject:
    """Return the extension header inside the document of a message."""
    return part_of(document, names.EXTENSION_HEADER)


def part_of(document: JsonObject, part: str) -> JsonObject:
    """Return a part of a message, itself and no copy, such as its header."""
    return fields_of(fields_of(document[names.MESSAGE])[part])


def number_of(value: JsonValue) -> int:
    """Return the number that an attribute of a type of numbers holds."""
    assert isinstance(value, int | Decimal)
    return int(value)


def wrap(number: int, bits: int) -> int:
    """Return a number as it wraps around in a signed integer of this many bits."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half
