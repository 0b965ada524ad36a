"""Durations rounded down to one of 160 steps per factor of ten, so that they can be counted."""

from pyspark.sql import Column
from pyspark.sql import functions as F

DECADES = 12
"""Beyond 10^14 µs, three years, nothing more is rounded."""
WIDTHS = tuple(
    (below * 10**decade, width * 10**decade)
    for decade in range(DECADES)
    for below, width in ((200, 2), (500, 5), (1000, 10))
)
"""Below so many µs, durations are rounded down to multiples of so many; not at all below 100."""


def round_down(duration_us: Column) -> Column:
    """Return durations rounded down to one of 160 steps per factor of ten."""
    width = F.lit(1)
    for below, multiple in reversed(WIDTHS):
        width = F.when(duration_us < below, F.lit(multiple)).otherwise(width)
    width = F.when(duration_us < 100, F.lit(1)).otherwise(width)
    return duration_us - duration_us % width
