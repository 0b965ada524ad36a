"""Wilson's interval for a proportion, which is reliable for few trials and extreme shares."""

from pyspark.sql import Column
from pyspark.sql import functions as F

Z = 1.959963984540054
"""The normal distribution's two-sided 95 %."""


def bounds(hits: Column, trials: Column) -> tuple[Column, Column]:
    """Return the lower and upper bound for ``hits`` out of ``trials`` (at least one)."""
    share = hits / trials
    middle = share + Z * Z / (2 * trials)
    half = Z * F.sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    whole = 1 + Z * Z / trials
    return F.greatest((middle - half) / whole, F.lit(0.0)), F.least(
        (middle + half) / whole, F.lit(1.0)
    )
