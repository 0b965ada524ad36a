"""User headers: the fifteen kinds, unknown ones, and what the page on encodings excludes."""

import pytest

from wireproof_kit.case import case
from wireproof_kit.iggy.apache.batches import field_bytes, message
from wireproof_kit.iggy.apache.requests import Topic
from wireproof_kit.iggy.apache.server import ApacheServer
from wireproof_kit.observation import Observation
from wireproof_spec.iggy.header_kinds import BOOL, HEADER_KINDS, KIND_WIDTHS, RAW, STRING, UINT32
from wireproof_suites.iggy.apache.test_send import kept_or_refused

KEY = field_bytes(STRING, b"key")
VALUE = field_bytes(STRING, b"value")
EXCLUDED = {
    "key-kinds": {
        "uint32": field_bytes(UINT32, bytes(4)) + VALUE,
        "raw": field_bytes(RAW, b"key") + VALUE,
        "bool": field_bytes(BOOL, b"\x01") + VALUE,
    },
    "kind-zero": {
        "key": field_bytes(0, b"key") + VALUE,
        "value": KEY + field_bytes(0, b"value"),
    },
    "length": {
        "no-key": field_bytes(STRING, b"") + VALUE,
        "no-value": KEY + field_bytes(RAW, b""),
        "key-of-256": field_bytes(STRING, b"k" * 256) + VALUE,
        "value-of-256": KEY + field_bytes(RAW, b"v" * 256),
    },
    "exact": {
        "key-alone": KEY,
        "byte-behind": KEY + VALUE + b"\x00",
        "beyond": KEY + field_bytes(RAW, b"v", length=200),
    },
}
BOUNDS = {
    "key-of-1": field_bytes(STRING, b"k") + VALUE,
    "key-of-255": field_bytes(STRING, b"k" * 255) + VALUE,
    "value-of-1": KEY + field_bytes(RAW, b"\x00"),
    "value-of-255": KEY + field_bytes(RAW, b"\xff" * 255),
}
WIDTHS = {
    "uint32-of-3": KEY + field_bytes(UINT32, b"\x01\x02\x03"),
    "bool-7": KEY + field_bytes(BOOL, b"\x07"),
    "no-utf-8": KEY + field_bytes(STRING, b"\xff\xfe"),
}


def _of(rule: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("block", EXCLUDED[rule].values(), ids=EXCLUDED[rule])


def _kept(apache: ApacheServer, topic: Topic, block: bytes) -> Observation:
    return kept_or_refused(apache, topic, message(b"with headers", block=block))


@case("iggy/apache/headers/kinds", clause="iggy.apache.headers.kinds")
@pytest.mark.parametrize("kind", HEADER_KINDS, ids=HEADER_KINDS.values())
@pytest.mark.parametrize("byte", [0x01, 0xFF], ids=["small", "large"])
def test_kinds(apache: ApacheServer, apache_topic: Topic, kind: int, byte: int) -> Observation:
    """A header value of each kind is polled as it was sent."""
    filled = b"v" if kind == STRING else b"\x01" if kind == BOOL else bytes([byte])
    block = KEY + field_bytes(kind, filled * KIND_WIDTHS.get(kind, byte))
    return _kept(apache, apache_topic, block)


@case("iggy/apache/headers/unknown-kind", clause="iggy.apache.headers.unknown-kind")
@pytest.mark.parametrize("kind", [16, 100, 255])
def test_unknown_kind(apache: ApacheServer, apache_topic: Topic, kind: int) -> Observation:
    """A header value of a kind above 15 is polled as it was sent."""
    return _kept(apache, apache_topic, KEY + field_bytes(kind, b"value"))


@case("iggy/apache/headers/bounds", clause="iggy.apache.headers.bounds")
@pytest.mark.parametrize("block", BOUNDS.values(), ids=BOUNDS)
def test_bounds(apache: ApacheServer, apache_topic: Topic, block: bytes) -> Observation:
    """Keys and values of 1 and of 255 bytes are polled as they were sent."""
    return _kept(apache, apache_topic, block)


@case("iggy/apache/headers/key-kinds", clause="iggy.apache.headers.key-kinds")
@_of("key-kinds")
def test_key_kinds(apache: ApacheServer, apache_topic: Topic, block: bytes) -> Observation:
    """A key of another kind than string is refused, or polled as sent."""
    return _kept(apache, apache_topic, block)


@case("iggy/apache/headers/kind-zero", clause="iggy.apache.headers.kind-zero")
@_of("kind-zero")
def test_kind_zero(apache: ApacheServer, apache_topic: Topic, block: bytes) -> Observation:
    """A header of kind 0 is refused, or polled as sent."""
    return _kept(apache, apache_topic, block)


@case("iggy/apache/headers/length", clause="iggy.apache.headers.length")
@_of("length")
def test_length(apache: ApacheServer, apache_topic: Topic, block: bytes) -> Observation:
    """A header whose key or value has 0 or 256 bytes is refused, or polled as sent."""
    return _kept(apache, apache_topic, block)


@case("iggy/apache/headers/exact", clause="iggy.apache.headers.exact")
@_of("exact")
def test_exact(apache: ApacheServer, apache_topic: Topic, block: bytes) -> Observation:
    """Headers that end after a key, or have bytes behind the last field, are refused or kept."""
    return _kept(apache, apache_topic, block)


@case("iggy/apache/headers/widths", clause="iggy.apache.headers.widths")
@pytest.mark.parametrize("block", WIDTHS.values(), ids=WIDTHS)
def test_widths(apache: ApacheServer, apache_topic: Topic, block: bytes) -> Observation:
    """A value of another width than that of its kind is kept, or refused."""
    return _kept(apache, apache_topic, block)


@case("iggy/apache/headers/key-twice", clause="iggy.apache.headers.key-twice")
def test_key_twice(apache: ApacheServer, apache_topic: Topic) -> Observation:
    """A block with the same key twice is kept, or refused."""
    return _kept(apache, apache_topic, KEY + VALUE + KEY + field_bytes(STRING, b"other"))
