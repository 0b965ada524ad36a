"""The times that a message of a run may have."""

from typing import Final

FIRST_S: Final = 978_307_200
LAST_S: Final = 4_102_444_800
"""The years 2001 and 2100, in seconds since 1970."""
