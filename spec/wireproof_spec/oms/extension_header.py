"""Rules of the extension header: one dictionary, attributes of their types."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from wireproof_spec.oms import names
from wireproof_spec.oms.document import Document, Gap, below
from wireproof_spec.oms.names import ATTRIBUTES, LIMITS, Kind, Type
from wireproof_spec.oms.sight import DESCRIBED, UNREADABLE, UNSET, Fault, Sight, seen
from wireproof_spec.oms.types import (
    DICTIONARY,
    KEY_VALUE,
    LIST,
    NULL,
    NUMBER,
    kind_of,
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
    """What expireTime comes to; between birth and due time the text allows two readings."""

    NEVER = "never"
    UNDECIDED = "undecided"
    AT_ITS_TIME = "at-its-time"


@dataclass(frozen=True, slots=True)
class Timing:
    """When a message is born, due and discarded, in milliseconds since 1970.

    `expires` is None where no expireTime is set. A negative delay is over at birth.
    """

    born: int
    due: int
    expires: int | None

    @property
    def expiry(self) -> Expiry:
        """What the expireTime comes to: earlier than birth means never."""
        if self.expires is None or self.expires < self.born:
            return Expiry.NEVER
        later = self.expires > self.due
        return Expiry.AT_ITS_TIME if later else Expiry.UNDECIDED


def timing(header: Mapping[str, JsonValue], born: int) -> Timing:
    """Return the times of a message; attributes that are no Long count as not set."""
    delay = whole(header.get(names.DELAY_TIME), Type.LONG) or 0
    due = min(born + max(delay, 0), LATEST)
    return Timing(born, due, whole(header.get(names.EXPIRE_TIME), Type.LONG))


def effective_priority(header: Mapping[str, JsonValue]) -> int:
    """Return the priority that counts: one outside 1 to 10 is ignored, as if it were not set."""
    priority = whole(header.get(names.PRIORITY), Type.INTEGER)
    if priority is None or not names.LOWEST_PRIORITY <= priority <= names.HIGHEST_PRIORITY:
        return names.DEFAULT_PRIORITY
    return priority


def whole(value: JsonValue, wanted: Type) -> int | None:
    """Return a value of type Long or Integer as an int, or None for any other value."""
    if not isinstance(value, int | Decimal) or misfit(value, wanted) is not None:
        return None
    return int(value)


NEGATIVE = "negative"
BEFORE_BIRTH = "before-birth"
BETWEEN = "between-birth-and-due-time"
AFTER_DUE = "after-due-time"

FaultsOf = Callable[[str, str, JsonValue], Iterable[Fault]]
"""Returns the faults of one attribute, by its name, pointer and value."""

_NO_VALUE_AT_ALL = (NULL, LIST, DICTIONARY)
"""What no attribute of any type may be; the rule on values tells of it, not that on types."""


def dictionary(document: Document) -> Sight:
    """See whether the extension header is one dictionary."""
    found = document.extension_header
    if found is Gap.ABSENT:
        return Sight(UNSET)
    if found is Gap.LOST and document.kind is Kind.MESSAGE:
        return Sight(UNREADABLE)
    return seen(document.dictionary_faults(document.header_pointer, found, KEY_VALUE))


def value(document: Document) -> Sight:
    """See whether every value is String, Binary or Numeric."""
    return _each(document, _value_faults)


def number(document: Document) -> Sight:
    """See whether Long and Integer attributes are whole numbers within their ranges."""
    return _each(document, _number_faults)


def text(document: Document) -> Sight:
    """See whether String attributes are strings."""
    return _each(document, _text_faults)


def delivery_count(document: Document) -> Sight:
    """See whether a delivery count is negative."""
    found = document.attribute(names.DELIVERY_COUNT)
    if found is Gap.ABSENT:
        return Sight(UNSET)
    if isinstance(found, Gap) or misfit(found, Type.INTEGER) is not None:
        return Sight(UNREADABLE)
    if isinstance(found, int | Decimal) and found < 0:
        pointer = f"{document.header_pointer}/{names.DELIVERY_COUNT}"
        return seen([Fault(NEGATIVE, pointer, "0 or more deliveries", literal(found))])
    return Sight(DESCRIBED)


def expiry(document: Document) -> Sight:
    """See where expireTime lies: before birth, after the due time, or between the two."""
    found = document.attribute(names.EXPIRE_TIME)
    if found is Gap.ABSENT:
        return Sight(UNSET)
    told = _timing(document)
    if told is None or told.expires is None:
        return Sight(UNREADABLE)
    if told.expiry is Expiry.UNDECIDED:
        pointer = f"{document.header_pointer}/{names.EXPIRE_TIME}"
        due = f"a time before bornTimestamp {told.born} or after the due time {told.due}"
        return seen([Fault(BETWEEN, pointer, due, str(told.expires))])
    return Sight(BEFORE_BIRTH if told.expiry is Expiry.NEVER else AFTER_DUE)


def _timing(document: Document) -> Timing | None:
    """Return when the message is due and expires; None where it does not say when it was born."""
    held, found = document.extension_header, below(document.header, names.BORN_TIMESTAMP)
    if isinstance(found, Gap) or not isinstance(held, dict):
        return None
    born = whole(found, Type.LONG)
    return None if born is None else timing(held, born)


def _each(document: Document, faults_of: FaultsOf) -> Sight:
    held = document.extension_header
    if held is Gap.ABSENT:
        return Sight(UNSET)
    if not isinstance(held, dict):
        return Sight(UNREADABLE)
    found = [
        fault
        for name, pointer, value_there in members(document.header_pointer, held)
        for fault in faults_of(name, pointer, value_there)
    ]
    return seen(found, DESCRIBED if held else UNSET)


def _value_faults(name: str, pointer: str, value: JsonValue) -> Iterable[Fault]:
    # A boolean or NaN where a number is due breaks the rule on numbers.
    if _is_numeric(name) and kind_of(value) not in _NO_VALUE_AT_ALL:
        return ()
    return no_values(pointer, value)


def _number_faults(name: str, pointer: str, value: JsonValue) -> Iterable[Fault]:
    if not _is_numeric(name) or kind_of(value) in _NO_VALUE_AT_ALL:
        return ()
    return misfits(pointer, value, ATTRIBUTES[name])


def _text_faults(name: str, pointer: str, value: JsonValue) -> Iterable[Fault]:
    is_text = ATTRIBUTES.get(name) is Type.STRING
    return misfits(pointer, value, Type.STRING) if is_text and kind_of(value) == NUMBER else ()


def _is_numeric(name: str) -> bool:
    return ATTRIBUTES.get(name) in (Type.LONG, Type.INTEGER)
