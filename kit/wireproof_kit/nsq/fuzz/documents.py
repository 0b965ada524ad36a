"""Classifies JSON sent by clients by how every broker must treat it."""

import json
import re
from collections.abc import Container, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import cast

from wireproof_spec.nsq import limits
from wireproof_spec.nsq.names import (
    CLIENT_DISPATCH_TAG,
    INTERNAL_PREFIX,
    TRACE_ID,
    is_header_name,
)

_TRACE_LIMIT = 1 << 64
_PLAIN = re.compile("0|[1-9][0-9]{0,19}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SHORT = 512
"""The most bytes of a header whose class is remembered, since many cases have it."""


class Header(Enum):
    """The classes of a JSON header without a trace id: valid, or read differently by brokers."""

    SOUND = auto()
    DOUBTFUL = auto()


class Identity(Enum):
    """The classes of IDENTIFY data; OPAQUE means that the stream is compressed or encrypted."""

    PLAIN = auto()
    EXTENDED = auto()
    DOUBTFUL = auto()
    OPAQUE = auto()


_CHANGING = ("deflate", "snappy", "tls_v1")
_FREE = frozenset({"client_id", "hostname", "short_id", "long_id", "user_agent"})
_RANGES: Mapping[str, Container[int]] = {
    "heartbeat_interval": range(
        limits.MIN_HEARTBEAT_INTERVAL_MS, limits.MAX_HEARTBEAT_INTERVAL_MS + 1
    ),
    "msg_timeout": range(limits.MIN_MSG_TIMEOUT_MS, limits.MSG_TIMEOUT_MS + 1),
    "output_buffer_size": {limits.DISABLED},
    "output_buffer_timeout": {limits.DISABLED},
}
"""Values that every broker grants; the greatest valid ones depend on its configuration."""
_SWITCHES = frozenset({"feature_negotiation", "extend_support"})


def read_header(data: bytes) -> Header | int:
    """Return the class of a JSON header, or the trace id that it contains."""
    return _read_short(data) if len(data) <= _SHORT else _read(data)


def _read(data: bytes) -> Header | int:
    pairs = _pairs(data)
    if pairs is None or len(dict(pairs)) != len(pairs) or not data.startswith(b"{"):
        return Header.DOUBTFUL
    if not all(_is_sound(name, value) for name, value in pairs):
        return Header.DOUBTFUL
    trace = dict(pairs).get(TRACE_ID)
    return Header.SOUND if trace is None else int(str(trace))


_read_short = lru_cache(maxsize=256)(_read)


def canonical_header(data: bytes) -> bytes:
    """Return equal bytes for all spellings of a JSON header that a broker may deliver.

    A broker may write the header anew, keep numbers as 64-bit floats, and leave out names that
    begin with ##. What is no JSON object, or repeats a name, has one spelling.
    """
    return _canonical_short(data) if len(data) <= _SHORT else _canonical(data)


def _canonical(data: bytes) -> bytes:
    pairs = _pairs(data)
    if pairs is None or len(dict(pairs)) != len(pairs):
        return data
    kept = {
        # Adding 0 makes -0 the 0 that who reads it as an integer writes.
        name: float(str(value)) + 0.0 if type(value) in (int, float) else value
        for name, value in pairs
        if not name.startswith(INTERNAL_PREFIX)
    }
    return json.dumps(kept, sort_keys=True).encode()


_canonical_short = lru_cache(maxsize=256)(_canonical)


def _is_sound(name: str, value: object) -> bool:
    if not isinstance(value, str) or not is_header_name(name) or not _is_text(value):
        return False
    if name == TRACE_ID:
        # Leading zeros are digits too, but a broker may mind them.
        return _PLAIN.fullmatch(value) is not None and int(value) < _TRACE_LIMIT
    if name == CLIENT_DISPATCH_TAG:
        return 0 < len(value) <= limits.MAX_DESIRED_TAG_SIZE and is_header_name(value)
    return not name.startswith(INTERNAL_PREFIX)


def _is_text(value: str) -> bool:
    return value.isascii() or _SURROGATE.search(value) is None


def _pairs(data: bytes) -> list[tuple[str, object]] | None:
    """Return the members of a JSON object; None when readers may disagree about them."""
    try:
        text = data.decode()
        # Beyond what is called deep anywhere, without asking the parser to go there.
        if data.count(b"[") + data.count(b"{") > 1:
            return None
        pairs: object = _PAIRS.decode(text)
    except ValueError:
        return None
    return cast(list[tuple[str, object]], pairs) if isinstance(pairs, list) else None


_PAIRS = json.JSONDecoder(object_pairs_hook=lambda pairs: pairs, strict=True)


def may_change_the_stream(data: bytes) -> bool:
    """Return True if the bytes may ask the broker for compression or TLS."""
    lowered = data.lower()
    return any(name.encode() in lowered for name in _CHANGING) or b"\\u" in lowered


def read_identity(data: bytes) -> Identity:
    """Return the class of the JSON data of IDENTIFY."""
    if may_change_the_stream(data):
        return Identity.OPAQUE
    pairs = _pairs(data)
    if pairs is None or len(dict(pairs)) != len(pairs) or not data.startswith(b"{"):
        return Identity.DOUBTFUL
    for name, value in pairs:
        if name in _SWITCHES and isinstance(value, bool):
            continue
        if name in _RANGES and _is_granted(name, value):
            continue
        if name not in _FREE or not isinstance(value, str) or not _is_text(value):
            return Identity.DOUBTFUL
    return Identity.EXTENDED if dict(pairs).get("extend_support") is True else Identity.PLAIN


def _is_granted(name: str, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in _RANGES[name]
