"""Faults of user properties, and of attributes that displace each other."""

from collections.abc import Callable
from decimal import Decimal
from urllib.parse import unquote_plus

from wireproof_reference_impl.faults import Change, list_faults
from wireproof_reference_impl.oms.core.documents import JsonObject
from wireproof_reference_impl.oms.core.message import Message
from wireproof_reference_impl.oms.faulty.effect import change_properties, change_received
from wireproof_reference_impl.oms.faulty.ways import (
    boundary,
    condition,
    extra,
    missing,
    wrong_value,
)
from wireproof_reference_impl.overrides import Override
from wireproof_spec.oms import names

PROPERTIES = "round-trip.properties"
_LONGEST = (1 << 15) - 1
_MOST = 64


def _texts(change: Callable[[str], str]) -> Override:
    def wrong(told: JsonObject, message: Message, count: int) -> None:
        for name, value in told.items():
            if isinstance(value, str):
                told[name] = change(value)

    return change_properties(wrong)


def _each_name(change: Callable[[str], str]) -> Override:
    def wrong(told: JsonObject, message: Message, count: int) -> None:
        renamed = {change(name): value for name, value in told.items()}
        told.clear()
        told.update(renamed)

    return change_properties(wrong)


def _dropped_if(is_so: Callable[[Message, int], bool]) -> Override:
    def wrong(told: JsonObject, message: Message, count: int) -> None:
        if is_so(message, count):
            told.clear()

    return change_properties(wrong)


@missing(f"{PROPERTIES} {PROPERTIES}-numbers")
def user_properties_dropped() -> Change:
    """User properties do not arrive."""
    return _dropped_if(lambda message, count: True)


@condition(PROPERTIES)
def properties_dropped_again() -> Change:
    """User properties do not arrive when a message is delivered again."""
    return _dropped_if(lambda message, count: count > 1)


@condition(PROPERTIES)
def properties_dropped_by_commit() -> Change:
    """User properties of a message that was prepared do not arrive."""
    return _dropped_if(
        lambda message, count: names.TRANSACTION_ID in message.sent.extension_header
    )


@boundary(PROPERTIES, _texts)
def properties_cut(text: str) -> str:
    """Of a user property, at most 32767 characters arrive."""
    return text[:_LONGEST]


@wrong_value(PROPERTIES, _texts)
def properties_stripped(text: str) -> str:
    """Blanks around user properties do not arrive."""
    return text.strip()


@wrong_value(PROPERTIES, _texts)
def properties_end_at_separator(text: str) -> str:
    """A user property ends at its first semicolon."""
    return text.partition(";")[0]


@wrong_value(PROPERTIES, _each_name)
def property_names_lower_case(name: str) -> str:
    """The names of user properties arrive in lower case."""
    return name.lower()


@wrong_value(PROPERTIES, _each_name)
def property_names_ascii(name: str) -> str:
    """Characters outside ASCII in the names of user properties arrive as question marks."""
    return name.encode("ascii", "replace").decode()


@boundary(PROPERTIES, change_properties)
def few_properties(told: JsonObject, message: Message, count: int) -> None:
    """At most 64 user properties arrive."""
    for name in list(told)[_MOST:]:
        del told[name]


@condition(PROPERTIES, change_properties)
def empty_property_dropped(told: JsonObject, message: Message, count: int) -> None:
    """A user property without a character does not arrive."""
    for name in [name for name, value in told.items() if value == ""]:
        del told[name]


@condition(PROPERTIES, change_properties)
def property_named_as_attribute_dropped(told: JsonObject, message: Message, count: int) -> None:
    """A user property that has the name of an attribute does not arrive."""
    for name in (names.TRACE_ID, names.MESSAGE_KEY, names.CORRELATION_ID):
        told.pop(name, None)


@condition("round-trip.unchanged", change_received)
def property_displaces_attribute(told: JsonObject, message: Message, count: int) -> None:
    """A user property that has the name of an attribute arrives as that attribute."""
    properties = message.sent.properties
    told.update({name: properties[name] for name in told if name in properties})


@condition("round-trip.unchanged", change_received)
def key_dropped_with_priority(told: JsonObject, message: Message, count: int) -> None:
    """A messageKey does not arrive if the message has a priority as well."""
    if names.PRIORITY in message.sent.extension_header:
        told.pop(names.MESSAGE_KEY, None)


@condition("round-trip.unchanged", change_received)
def trace_id_dropped_by_commit(told: JsonObject, message: Message, count: int) -> None:
    """A traceId does not arrive with a message that was prepared."""
    if names.TRANSACTION_ID in message.sent.extension_header:
        told.pop(names.TRACE_ID, None)


@wrong_value("round-trip.properties-numbers", change_properties)
def numbers_are_texts(told: JsonObject, message: Message, count: int) -> None:
    """User properties that are numbers arrive as texts."""
    told.update({name: str(each) for name, each in told.items() if isinstance(each, int)})


@missing("round-trip.properties-numbers", change_properties)
def numbers_dropped(told: JsonObject, message: Message, count: int) -> None:
    """User properties that are numbers do not arrive."""
    for name in [name for name, each in told.items() if isinstance(each, int)]:
        del told[name]


@extra("round-trip.nothing-added", change_properties)
def property_added(told: JsonObject, message: Message, count: int) -> None:
    """A user property arrives that the sender did not set."""
    told["__BORNHOST"] = "127.0.0.1"


@extra("round-trip.nothing-added", change_properties)
def attributes_are_properties(told: JsonObject, message: Message, count: int) -> None:
    """The extension header arrives among the user properties as well."""
    told.update(message.sent.extension_header)
    told.setdefault("bornTimestamp", 1)


@wrong_value(PROPERTIES, _texts)
def properties_decoded(text: str) -> str:
    """Percent signs and plus signs of a user property are decoded as in a query."""
    return unquote_plus(text)


@boundary("round-trip.properties-numbers", change_properties)
def fractions_cut(told: JsonObject, message: Message, count: int) -> None:
    """User properties that are fractions arrive as whole numbers."""
    for name, value in told.items():
        if isinstance(value, float | Decimal):
            told[name] = int(value)


FAULTS = list_faults(__name__)
