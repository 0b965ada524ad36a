"""A few headers of each kind: the least value, the greatest, and some between."""

import struct

from wireproof_spec.iggy.header_kinds import (
    BOOL,
    FLOAT32,
    FLOAT64,
    HEADER_KINDS,
    KIND_WIDTHS,
    RAW,
    STRING,
    HeaderContent,
    header_bytes,
)
from wireproof_spec.iggy.headers import Header

_GREATEST_FLOAT32 = struct.unpack("<f", bytes.fromhex("ffff7f7f"))[0]
_VALUES: dict[int, list[HeaderContent]] = {
    RAW: [b"\x00", bytes(range(255))],
    STRING: ["v", "grün 消息", "v" * 255],
    BOOL: [False, True],
    FLOAT32: [0.0, -0.0, 1.5, -_GREATEST_FLOAT32, _GREATEST_FLOAT32, float("inf")],
    FLOAT64: [0.0, -0.0, 0.1, -1.7976931348623157e308, 5e-324, float("inf")],
}


def _numbers(kind: int) -> list[HeaderContent]:
    bits = 8 * KIND_WIDTHS[kind]
    if HEADER_KINDS[kind].startswith("uint"):
        return [0, 1, (1 << bits) // 3, (1 << bits) - 1]
    half = 1 << (bits - 1)
    return [-half, -1, 0, half // 3, half - 1]


EVERY_KIND: dict[str, list[Header]] = {
    name: [
        Header(f"{name} {number}", kind, header_bytes(kind, value))
        for number, value in enumerate(_VALUES.get(kind) or _numbers(kind))
    ]
    for kind, name in HEADER_KINDS.items()
}
