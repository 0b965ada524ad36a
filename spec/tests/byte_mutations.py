"""Bytes changed a little: cut, lengthened, other numbers, one more or less."""

import random

EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return bytes with one change."""
    at = chance.randrange(len(data) + 1)
    match chance.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data + chance.randbytes(chance.randrange(1, 9))
        case 2:
            return data[:at] + chance.randbytes(1) + data[at + 1 :]
        case 3:
            size = chance.choice((1, 2, 4))
            number = (chance.choice(EXTREMES) & (1 << 8 * size) - 1).to_bytes(size, "big")
            number = number[:: chance.choice((1, -1))]
            return data[:at] + number + data[at + size :]
        case 4:
            return data[:at] + data[at + chance.randrange(1, 9) :]
        case _:
            step = bytes([(data[at] + chance.choice((-1, 1))) % 256]) if at < len(data) else b""
            return data[:at] + step + data[at + 1 :]
