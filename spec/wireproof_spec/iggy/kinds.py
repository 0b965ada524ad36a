"""The enumerations in requests and responses, with their names in JSON.

They are apart from the shapes that contain them, for code that needs only the numbers.
"""

BALANCED = 1
PARTITION_ID = 2
MESSAGES_KEY = 3

PARTITIONING_NAMES = {
    BALANCED: "balanced",
    PARTITION_ID: "partition_id",
    MESSAGES_KEY: "messages_key",
}
"""How a request to send says where to; codes of the binary transport, names of JSON."""

CONSUMER_KIND = 1
GROUP_KIND = 2

OFFSET = 1
TIMESTAMP = 2
FIRST = 3
LAST = 4
NEXT = 5

STRATEGIES = {
    OFFSET: "offset",
    TIMESTAMP: "timestamp",
    FIRST: "first",
    LAST: "last",
    NEXT: "next",
}
"""Where a poll begins; codes of the binary transport, names of JSON."""

AUTO_COMMIT = 1
"""The one byte that asks for it; every other means no."""

TCP = 1
QUIC = 2
