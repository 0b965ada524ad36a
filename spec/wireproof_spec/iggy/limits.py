"""Limits, each with the server whose default it is.

Unless noted otherwise, that is the Iggy server at commit b07f23d. A limit is policy and belongs to
no wire shape, except for the lengths of names and of header keys and values, which servers check
while parsing.
"""

from wireproof_spec.iggy.generation import Generation

MAX_PAYLOADS_SIZE = 10 * 1024 * 1024
"""Bytes of all payloads in one request to send; one more ends the connection."""
TAGGED_MAX_PAYLOADS_SIZE = 10_000_000
"""The same in server 0.4.209, where one more is refused."""
MAX_HEADER_VALUES_SIZE = 100 * 1024
"""Bytes of all header values, not keys, in one request to send."""
TAGGED_MAX_HEADER_VALUES_SIZE = 100_000
"""The same in server 0.4.209."""
MAX_KEY_SIZE = 255
MAX_VALUE_SIZE = 255
"""Bytes of a header's key, and of its value; at least 1."""
MAX_MESSAGES_KEY_SIZE = 255

MAX_PARTITIONS = 100_000
"""Partitions of one request to create them; a topic may begin with none."""
MAX_NAME_SIZE = 255


def max_payloads_size(generation: Generation) -> int:
    """Return the maximum total size in bytes of the payloads in one request."""
    return MAX_PAYLOADS_SIZE if generation == "published" else TAGGED_MAX_PAYLOADS_SIZE


def max_header_values_size(generation: Generation) -> int:
    """Return the maximum total size in bytes of the header values in one request."""
    return MAX_HEADER_VALUES_SIZE if generation == "published" else TAGGED_MAX_HEADER_VALUES_SIZE
