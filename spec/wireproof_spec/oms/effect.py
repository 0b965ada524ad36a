"""The effect of valid attributes in a conforming server: priority, due time, expiry."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from wireproof_spec.oms import names
from wireproof_spec.oms.names import LIMITS, Type
from wireproof_spec.oms.types import misfit
from wireproof_spec.strict_json import JsonValue

LATEST = LIMITS[Type.LONG][1]
"""Due times stop here; a sum that wrapped around would lie in the past."""


class Expiry(Enum):
    """The effect of expireTime; between birth and due time the text allows two readings."""

    NEVER = "never"
    UNDECIDED = "undecided"
    AT_ITS_TIME = "at-its-time"


@dataclass(frozen=True, slots=True)
class Timing:
    """When a message is born, due and discarded, in milliseconds since 1970.

    `expires` is None if expireTime is not set. A negative delay counts as none.
    """

    born: int
    due: int
    expires: int | None

    @property
    def expiry(self) -> Expiry:
        """The effect of the expireTime; a time before birth means never."""
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
    """Return the effective priority; a value outside 1 to 10 counts as not set."""
    priority = read_whole_number(header.get(names.PRIORITY), Type.INTEGER)
    if priority is None or not names.LOWEST_PRIORITY <= priority <= names.HIGHEST_PRIORITY:
        return names.DEFAULT_PRIORITY
    return priority


def read_whole_number(value: JsonValue, wanted: Type) -> int | None:
    """Return a value of type Long or Integer as an int, or None for any other value."""
    if not isinstance(value, int | Decimal) or misfit(value, wanted) is not None:
        return None
    return int(value)
