"""Limits, each with the broker whose default it is.

Unless noted otherwise, that is youzan nsqd, commit b16e68e (reported version 0.3.7-HA.1.13.0). A
limit is policy and belongs to no wire shape; a broker may set others.
"""

MAX_MSG_SIZE = 1024 * 1024
"""Bytes; `-max-msg-size`: the size field of PUB and its kin, and of each message of an MPUB."""
MAX_BODY_SIZE = 5 * 1024 * 1024
"""Bytes; `-max-body-size`: the size field of IDENTIFY, AUTH, MPUB and its kin."""
MAX_LINE_SIZE = 4096
"""Bytes of a command line, its LF included; the read buffer of nsqd, original and youzan."""

MAX_NAME_SIZE = 64
"""Bytes of a topic or channel name, `#ephemeral` included."""
MAX_PARTITION = 1023
"""`INTERNAL_CREATE_TOPIC`; nsqlookupd creates at most 254 partitions of a topic."""
MAX_PARTITIONS_CREATED = 254

MAX_JSON_HEADER_SIZE = 65533
"""Bytes over TCP: 2 + 65534 no longer fits the broker's 16-bit sum, and it dies."""
MAX_JSON_HEADER_SIZE_HTTP = 65534
MAX_JSON_DEPTH = 300
"""Levels of nesting; valyala/fastjson, the parser of the broker."""
MAX_DESIRED_TAG_SIZE = 100

MAX_RDY_COUNT = 2500
MAX_ATTEMPTS = 4000
"""The counter stays there; on disk a greater field means that the high 4 bits are an indicator."""
MAX_REQ_TIMEOUT_MS = 3 * 24 * 60 * 60 * 1000
"""A greater delay is cut down to it."""

MSG_TIMEOUT_MS = 60_000
MIN_MSG_TIMEOUT_MS = 1000
MAX_MSG_TIMEOUT_MS = 900_000

HEARTBEAT_INTERVAL_MS = 30_000
MIN_HEARTBEAT_INTERVAL_MS = 1000
MAX_HEARTBEAT_INTERVAL_MS = 60_000
HEARTBEATS_MISSED = 3
"""A client that is silent for so many intervals is cut off."""

DISABLED = -1
"""Asks for no heartbeats, or for no buffering of what is sent."""
OUTPUT_BUFFER_SIZE = 100
MIN_OUTPUT_BUFFER_SIZE = 64
MAX_OUTPUT_BUFFER_SIZE = 64 * 1024
"""A greater one is cut down to it."""
OUTPUT_BUFFER_TIMEOUT_MS = 50
LEAST_OUTPUT_BUFFER_TIMEOUT_MS = 10
"""A smaller one, from 1 on, is raised to it."""
MAX_OUTPUT_BUFFER_TIMEOUT_MS = 1000

MAX_SAMPLE_RATE = 99
MAX_DEFLATE_LEVEL = 6

MAX_BYTES_PER_FILE = 100 * 1024 * 1024
"""`-max-bytes-per-file`: a queue file is closed when it has reached that size."""


def max_mpub_count(max_body_size: int) -> int:
    """Return how many messages fit in an MPUB: each has a 4-byte size and at least 1 byte."""
    return (max_body_size - 4) // 5
