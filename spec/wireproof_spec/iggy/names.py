"""Names: the JSON fields of a message, and the valid names of streams and topics."""

import re

MESSAGE_FIELDS = ("offset", "state", "timestamp", "id", "checksum", "headers", "payload")
"""The fields of a message in JSON, in the order of the published example."""

NAME_BOUNDS = (1, 255)
"""Bytes of the name of a stream or a topic."""

_NAME = re.compile(r"[\w.\-\s]+")  # iggy/src/utils/text.rs


def is_valid_name(name: str) -> bool:
    """Return True if the server accepts this name for a stream or topic."""
    lowest, highest = NAME_BOUNDS
    return lowest <= len(name.encode()) <= highest and _NAME.fullmatch(name) is not None


def stored_name(name: str) -> str:
    """Return a stream's or topic's name as the server stores it: lower case, dots for spaces."""
    return ".".join(name.lower().split())
