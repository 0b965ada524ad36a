"""Rules of the extension header: it is one dictionary, and its attributes have their types."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document, Gap, below
from wireproof_spec.oms.names import ATTRIBUTES, LIMITS, Kind, Type
from wireproof_spec.oms.rule_result import (
    DESCRIBED,
    UNREADABLE,
    UNSET,
    Breach,
    RuleResult,
    make_result,
)
from wireproof_spec.oms.types import (
    KEY_VALUE,
    literal,
    members,
    misfit,
    misfits,
    no_values,
)
from wireproof_spec.strict_json import JsonValue

LATEST = LIMITS[Type.LONG][1]
"""Due times stop here; a sum that wrapped around would lie in the past."""


class Expiry(Enum):
    """The effect of an expireTime; the text does not decide one between birth and due time."""

    NEVER = "never"
    UNDECIDED = "undecided"
    AT_ITS_TIME = "at-its-time"


@dataclass(frozen=True, slots=True)
class Timing:
    """The times at which a message is born, due and discarded, in milliseconds since 1970.

    `expires` is None if expireTime is not set. A negative delay counts as none.
    """

    born: int
    due: int
    expires: int | None

    @property
    def expiry(self) -> Expiry:
        """The effect of the message's expireTime; a time before its birth means never."""
        if self.expires is None or self.expires < self.born:
            return Expiry.NEVER
        later = self.expires > self.due
        return Expiry.AT_ITS_TIME if later else Expiry.UNDECIDED


def read_timing(header: Mapping[str, JsonValue], born: int) -> Timing:
    """Return the times of a message; an attribute that is no Long counts as not set."""
    delay = read_whole_number(header.get(names.DELAY_TIME), Type.LONG) or 0
    due = min(born + max(delay, 0), LATEST)
    return Timing(born, due, read_whole_number(header.get(names.EXPIRE_TIME), Type.LONG))


def effective_priority(header: Mapping[str, JsonValue]) -> int:
    """Return the priority in an extension header, or the default if unset or outside 1 to 10."""
    priority = read_whole_number(header.get(names.PRIORITY), Type.INTEGER)
    if priority is None or not names.LOWEST_PRIORITY <= priority <= names.HIGHEST_PRIORITY:
        return names.DEFAULT_PRIORITY
    return priority


def read_whole_number(value: JsonValue, wanted: Type) -> int | None:
    """Return a value as an int if it is of type Long or Integer (`wanted`), otherwise None."""
    if not isinstance(value, int | Decimal) or misfit(value, wanted) is not None:
        return None
    return int(value)


NEGATIVE = "negative"
BEFORE_BIRTH = "before-birth"
BETWEEN = "between-birth-and-due-time"
AFTER_DUE = "after-due-time"

FaultsOf = Callable[[str, str, JsonValue], Iterable[Breach]]
"""Returns the faults of one attribute, by its name, pointer and value."""


def dictionary(document: Document) -> RuleResult:
    """Check that the extension header of a document is one dictionary."""
    found = document.extension_header
    if found is Gap.ABSENT:
        return RuleResult(UNSET)
    if found is Gap.LOST and document.kind is Kind.MESSAGE:
        return RuleResult(UNREADABLE)
    return make_result(document.dictionary_faults(document.header_pointer, found, KEY_VALUE))


def value(document: Document) -> RuleResult:
    """Check that extension values are String, Binary or Numeric; known ones have own rules."""
    return _each(document, _value_faults)


def number(document: Document) -> RuleResult:
    """Check that Long and Integer attributes of the extension header are whole and in range."""
    return _each(document, _number_faults)


def text(document: Document) -> RuleResult:
    """Check that the String attributes of the extension header are strings."""
    return _each(document, _text_faults)


def delivery_count(document: Document) -> RuleResult:
    """Check that the deliveryCount of the extension header is not negative."""
    found = document.attribute(names.DELIVERY_COUNT)
    if found is Gap.ABSENT:
        return RuleResult(UNSET)
    if isinstance(found, Gap) or misfit(found, Type.INTEGER) is not None:
        return RuleResult(UNREADABLE)
    if isinstance(found, int | Decimal) and found < 0:
        pointer = f"{document.header_pointer}/{names.DELIVERY_COUNT}"
        return make_result([Breach(NEGATIVE, pointer, "0 or more deliveries", literal(found))])
    return RuleResult(DESCRIBED)


def expiry(document: Document) -> RuleResult:
    """Check expireTime: it must lie before the birth time or after the due time of the message."""
    found = document.attribute(names.EXPIRE_TIME)
    if found is Gap.ABSENT:
        return RuleResult(UNSET)
    timing = _read_timing(document)
    if timing is None or timing.expires is None:
        return RuleResult(UNREADABLE)
    if timing.expiry is Expiry.UNDECIDED:
        pointer = f"{document.header_pointer}/{names.EXPIRE_TIME}"
        due = f"a time before bornTimestamp {timing.born} or after the due time {timing.due}"
        return make_result([Breach(BETWEEN, pointer, due, str(timing.expires))])
    return RuleResult(BEFORE_BIRTH if timing.expiry is Expiry.NEVER else AFTER_DUE)


def _read_timing(document: Document) -> Timing | None:
    """Return the times of the message; None if it has no valid bornTimestamp."""
    held, found = document.extension_header, below(document.header, names.BORN_TIMESTAMP)
    if isinstance(found, Gap) or not isinstance(held, dict):
        return None
    born = read_whole_number(found, Type.LONG)
    return None if born is None else read_timing(held, born)


def _each(document: Document, faults_of: FaultsOf) -> RuleResult:
    held = document.extension_header
    if held is Gap.ABSENT:
        return RuleResult(UNSET)
    if not isinstance(held, dict):
        return RuleResult(UNREADABLE)
    found = [
        fault
        for name, pointer, value_there in members(document.header_pointer, held)
        for fault in faults_of(name, pointer, value_there)
    ]
    return make_result(found, DESCRIBED if held else UNSET)


def _value_faults(name: str, pointer: str, value: JsonValue) -> Iterable[Breach]:
    # Many writers say null for "not set", which is milder than a value of a wrong type.
    if name in ATTRIBUTES and value is not None:
        return ()
    return no_values(pointer, value)


def _number_faults(name: str, pointer: str, value: JsonValue) -> Iterable[Breach]:
    return _type_faults(pointer, value, ATTRIBUTES.get(name), (Type.LONG, Type.INTEGER))


def _text_faults(name: str, pointer: str, value: JsonValue) -> Iterable[Breach]:
    return _type_faults(pointer, value, ATTRIBUTES.get(name), (Type.STRING,))


def _type_faults(
    pointer: str, value: JsonValue, wanted: Type | None, judged: Container[Type]
) -> Iterable[Breach]:
    """Yield the breach of a value that is not of its type, if the type is a judged one."""
    if wanted is None or wanted not in judged or value is None:
        return ()
    return misfits(pointer, value, wanted)
