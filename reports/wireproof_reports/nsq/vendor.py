"""The maker of an nsqd, recognised by its version."""

from collections.abc import Mapping

_MARKS = {"-HA.": "youzan nsqd", "-wireproof": "wireproof reference"}
"""What only this maker's versions have."""


def vendor(fingerprint: Mapping[str, str]) -> str:
    """Return the maker's name; ``nsqd`` if the version does not show it."""
    version = fingerprint.get("version", "")
    return next((name for mark, name in _MARKS.items() if mark in version), "nsqd")
