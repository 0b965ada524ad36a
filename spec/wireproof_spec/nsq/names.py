"""The words of the protocol: magic, responses, commands, header names, and name rules."""

import re

MAGIC = b"  V2"

OK = b"OK"
HEARTBEAT = b"_heartbeat_"
CLOSE_WAIT = b"CLOSE_WAIT"

IDENTIFY = b"IDENTIFY"
AUTH = b"AUTH"
SUB = b"SUB"
SUB_ORDER = b"SUB_ORDER"
"""The published spelling; every real client and broker says SUB_ORDERED."""
SUB_ORDERED = b"SUB_ORDERED"
SUB_ADVANCED = b"SUB_ADVANCED"
PUB = b"PUB"
PUB_TRACE = b"PUB_TRACE"
PUB_EXT = b"PUB_EXT"
MPUB = b"MPUB"
MPUB_TRACE = b"MPUB_TRACE"
MPUB_EXT = b"MPUB_EXT"
RDY = b"RDY"
FIN = b"FIN"
REQ = b"REQ"
TOUCH = b"TOUCH"
CLS = b"CLS"
NOP = b"NOP"
INTERNAL_CREATE_TOPIC = b"INTERNAL_CREATE_TOPIC"

INTERNAL_PREFIX = "##"
CLIENT_DISPATCH_TAG = "##client_dispatch_tag"
TRACE_ID = "##trace_id"

EXTEND_SUPPORT = "extend_support"
DESIRED_TAG = "desired_tag"

X_NSQEXT = "X-NSQEXT-"
V1_ACCEPT = "application/vnd.nsq; version=1.0"
NSQ_CONTENT_TYPE = "X-NSQ-Content-Type"
V1_CONTENT_TYPE = "nsq; version=1.0"

EXT_VERSION_NONE = 0
EXT_VERSION_TAG = 2
"""The first form of extend data, a bare tag; today's broker never writes it."""
EXT_VERSION_JSON = 4

EXT_INDICATOR = 0xA
"""The high 4 bits of attempts on disk, on a topic with the extend feature."""

_NAME = re.compile(r"[.a-zA-Z0-9_-]+(#ephemeral)?")
_NAME_LENGTH = 64  # youzan nsqd and the original: internal/protocol/names.go

# The published class `[0-9a-zA-Z_-#]` is misprinted (a range from _ down to #); `-` is meant.
_HEADER_NAME = re.compile(r"[0-9a-zA-Z_#-]+")


def is_valid_name(text: str) -> bool:
    """Return True if a topic or channel may have this name: 1 to 64 bytes with `#ephemeral`."""
    return len(text) <= _NAME_LENGTH and _NAME.fullmatch(text) is not None


def is_header_name(text: str) -> bool:
    """Return True if a JSON header may contain this name."""
    return _HEADER_NAME.fullmatch(text) is not None
