"""The times that a message of a run may have."""

from typing import Final

FIRST_S: Final = 978_307_200
LAST_S: Final = 4_102_444_800
"""The years 2001 and 2100, in seconds since 1970."""

UNITS: Final = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "nanoseconds": 10**9}
"""How many of each unit a second has."""


def name_unit(time: int) -> str:
    """Return the unit in which a number is a time that a message may have, or ``other``."""
    fitting = (unit for unit, per_s in UNITS.items() if FIRST_S * per_s <= time < LAST_S * per_s)
    return next(fitting, "other")
