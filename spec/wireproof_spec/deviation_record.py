"""The entry of a deviations file that a failure in a bundle is known by."""

import msgspec


class DeviationRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The entry of the user's deviations file that lists a failure as known.

    ``id`` is the entry's case id or prefix, ``expires`` its last day (ISO 8601). An ``expired``
    entry has no effect: the verdict stays ``fail``.
    """

    id: str
    expires: str
    expired: bool = False
