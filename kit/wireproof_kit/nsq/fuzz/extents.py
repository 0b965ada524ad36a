"""The length of a request as its own bytes declare it, and what the request may modify."""

import json
import re
from functools import lru_cache

from wireproof_kit.nsq.fuzz.names import CASES_PREFIX, SCRATCH
from wireproof_spec.decoding import decode, extent
from wireproof_spec.nsq import limits, names
from wireproof_spec.nsq.acknowledge import MESSAGE_ID_SIZE
from wireproof_spec.nsq.command_reader import BODIES
from wireproof_spec.nsq.publish import MpubExtBody
from wireproof_spec.wire_error import WireError

_ACKNOWLEDGEMENT = re.compile(rb"(?:FIN|REQ|TOUCH) ")
_TRANSFORMING = re.compile(rb"tls_v1|deflate|snappy", re.IGNORECASE)
_CREATES = re.compile(rb"INTERNAL_CREATE_TOPIC\s+" + CASES_PREFIX.encode() + rb"\w+\s")
_ADMINISTERING = ("POST /topic/", "POST /channel/")
_TOPICS = re.compile(rb"topic(?:=|%3d)([^& ]*)", re.IGNORECASE)
_BATCHES = frozenset((names.MPUB, names.MPUB_TRACE, names.MPUB_EXT))


def is_delimited(kind: str, data: bytes) -> bool:
    """Return True if the bytes are exactly one complete request of this kind.

    Each message of a batch must be complete, as brokers read a batch message by message. False for
    an IDENTIFY that asks for compression or TLS: no plain request may follow it.
    """
    if kind == "magic":
        return data == names.MAGIC
    if kind.partition(" ")[2]:
        return False  # HTTP: a connection each
    end = _line_end(data)
    if end is None:
        return False
    line = data[:end]
    name = line.rstrip(b"\r\n").partition(b" ")[0]
    if name not in BODIES:
        return end == len(data)
    return _is_body(name, data[end:])


def is_hazardous(kind: str, data: bytes) -> bool:
    """Return True if a request may create or change a topic that is not the kit's."""
    if kind.startswith(_ADMINISTERING):
        return any(not name.startswith(SCRATCH.encode()) for name in _TOPICS.findall(data))
    return names.INTERNAL_CREATE_TOPIC in data and _CREATES.match(data) is None


def _line_end(data: bytes) -> int | None:
    raw = _ACKNOWLEDGEMENT.match(data)
    end = data.find(b"\n", raw.end() + MESSAGE_ID_SIZE if raw else 0) + 1
    return end if 0 < end <= limits.MAX_LINE_SIZE else None


def _is_body(name: bytes, body: bytes) -> bool:
    schema = BODIES[name]
    try:
        if _extent(name, body[:4]) != len(body):
            return False
        if name in _BATCHES:
            return _is_read_to_its_end(decode(schema, body))
    except WireError:
        return False
    return name != names.IDENTIFY or _TRANSFORMING.search(body) is None


@lru_cache(maxsize=4096)
def _extent(name: bytes, head: bytes) -> int | None:
    """Return the size that the first bytes of a body declare; None if they declare none."""
    try:
        return extent(BODIES[name], head)
    except WireError:
        return None


def _is_read_to_its_end(batch: object) -> bool:
    """Return True if no header lets a broker stop reading in the middle of a batch."""
    if not isinstance(batch, MpubExtBody):
        return True
    try:
        for message in batch.messages:
            if message.json_header:
                json.loads(message.json_header)
    except (ValueError, RecursionError):
        return False
    return True
