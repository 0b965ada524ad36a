"""Who made an nsqd, as its version tells."""

from collections.abc import Mapping

_MARKS = {"-HA.": "youzan nsqd", "-wireproof": "wireproof reference"}
"""What only this maker's versions have."""


def vendor(fingerprint: Mapping[str, str]) -> str:
    """Return the maker's name; ``nsqd`` where the version has no mark."""
    version = fingerprint.get("version", "")
    return next((name for mark, name in _MARKS.items() if mark in version), "nsqd")
