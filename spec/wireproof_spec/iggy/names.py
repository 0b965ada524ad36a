"""Names: the fields of a message in JSON, and what streams and topics may be called."""

import re

MESSAGE_FIELDS = ("offset", "state", "timestamp", "id", "checksum", "headers", "payload")
"""The fields of a message in JSON, in the order of the published example."""

NAME_BOUNDS = (1, 255)
"""Bytes of the name of a stream or a topic."""

_NAME = re.compile(r"[\w.\-\s]+")  # iggy/src/utils/text.rs


def is_valid_name(name: str) -> bool:
    """Return whether a stream or a topic may be called so, before the server changes the name."""
    lowest, highest = NAME_BOUNDS
    return lowest <= len(name.encode()) <= highest and _NAME.fullmatch(name) is not None


def stored_name(name: str) -> str:
    """Return the name that the server keeps and is asked for: lower case, dots for blanks."""
    return ".".join(name.lower().split())
