"""The checksum of a message: the CRC-32 of its payload only."""

import zlib

POLYNOMIAL = 0xEDB88320
"""IEEE 802.3, reflected; the register starts as and is at last xored with 0xFFFFFFFF. The text
says `CRC-32` only; its two examples, and the peer's crate crc32fast, are this one."""


def payload_checksum(payload: bytes) -> int:
    """Return the CRC-32 of a message's payload, as servers store it; 0 for an empty payload.

    Clause: iggy.checksum.polynomial
    """
    return zlib.crc32(payload)
