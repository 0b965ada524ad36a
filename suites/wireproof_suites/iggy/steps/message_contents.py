"""Messages that cases send: payloads, headers and ids worth trying."""

import struct

from wireproof_spec.decoding import encode
from wireproof_spec.iggy.bodies.send_messages import SentMessage
from wireproof_spec.iggy.header_kinds import BOOL, RAW, STRING, UINT64, header_bytes
from wireproof_spec.iggy.headers import Header
from wireproof_spec.iggy.message import MESSAGE, Message

EVERY_BYTE = bytes(range(256))
PAYLOAD = b"orders_data"
DISTINCT_ID = int.from_bytes(bytes(range(0x10, 0x20)), "little")
"""An id whose bytes all differ."""

PUBLISHED_PAYLOADS: tuple[bytes, ...] = (b"orders_data_2", b"orders_data_3")
PUBLISHED_CHECKSUMS = (2144931076, 148782482)
PUBLISHED_IDS = (
    232071677777564499402827199894559175028,
    44069423551493178892268378627901876657,
)
PUBLISHED_HEADERS = (
    Header("key_3", UINT64, header_bytes(UINT64, 123456)),
    Header("key 1", STRING, b"value1"),
    Header("key-2", BOOL, b"\x01"),
)
"""The published example: two payloads, their checksums and ids, the headers of the second."""

HEADER = Header("name", STRING, b"value")
THREE_HEADERS = (HEADER, Header("raw", RAW, b"\x00\xff"), Header("number", UINT64, bytes(8)))
FIFTEEN_HEADERS = tuple(Header(f"key-{n}", RAW, bytes([n] * n)) for n in range(1, 16))

LOOKS_LIKE_A_MESSAGE = encode(MESSAGE, Message(7, 20, 1, 2, 3, (HEADER,), PAYLOAD))

PAYLOADS = {
    "one-byte": b"a",
    "zero-byte": b"\x00",
    "text": PAYLOAD,
    "every-byte": EVERY_BYTE,
    "looks-like-a-message": LOOKS_LIKE_A_MESSAGE,
    "looks-like-a-poll": struct.pack("<I", 1) + LOOKS_LIKE_A_MESSAGE,
    "zeros": bytes(300),
    "ones": b"\xff" * 300,
    "65536-bytes": EVERY_BYTE * 256,
}

HEADER_SETS: dict[str, tuple[Header, ...]] = {
    "no-headers": (),
    "one-header": (HEADER,),
    "three-headers": THREE_HEADERS,
    "fifteen-headers": FIFTEEN_HEADERS,
}

BOUNDS = {
    "key-of-1": Header("k", RAW, b"value"),
    "key-of-255": Header("k" * 255, RAW, b"value"),
    "value-of-1": Header("key", RAW, b"\x00"),
    "value-of-255": Header("key", RAW, b"\xff" * 255),
    "both-of-1": Header("k", STRING, b"v"),
    "both-of-255": Header("k" * 255, STRING, b"v" * 255),
}
KEYS = {
    "upper-case": "KEY",
    "mixed-case": "kEy",
    "blank": "key 1",
    "blank-at-the-end": "key ",
    "only-a-blank": " ",
    "beyond-ascii": "schlüssel-键",
    "outside-the-basic-plane": "😀",
    "quotes": 'a"b\\c',
    "nul": "a\x00b",
    "line-feed": "a\nb",
}
WIDTHS = {
    "uint64-of-3": Header("key", UINT64, b"\x01\x02\x03"),
    "uint64-of-9": Header("key", UINT64, bytes(range(9))),
    "bool-of-7": Header("key", BOOL, b"\x01" * 7),
    "bool-seven": Header("key", BOOL, b"\x07"),
}
"""Values of other widths than those of their kinds: a server may refuse them."""


def message(payload: bytes = PAYLOAD, *headers: Header, id: int = 0) -> SentMessage:
    """Return a message to send; for id 0 the server makes an id."""
    return SentMessage(id, headers, payload)


def make_numbered(count: int, *, first: int = 1) -> tuple[SentMessage, ...]:
    """Return messages with different ids and different payloads."""
    return tuple(message(b"message %d" % n, id=n) for n in range(first, first + count))


def make_payload(length: int) -> bytes:
    """Return a payload of this length in which a byte repeats after 251 bytes at the earliest."""
    return (bytes(range(1, 252)) * (length // 251 + 1))[:length]
