"""How sizes and values are written in sentences."""


def count_bytes(size: int) -> str:
    """Return a number of bytes as text with its unit: ``1 byte``, ``2 bytes``."""
    return f"{size} byte" if size == 1 else f"{size} bytes"


def show_value(value: object, *, width: int = 48) -> str:
    """Return a value as short text: bytes as text if printable, else as hex digits."""
    half = width // 2
    if isinstance(value, bytes):
        ends = value if len(value) <= width else value[:width] + value[-width:]
        printable = ends.isascii() and ends.decode("ascii").isprintable()
        text = f'"{ends.decode("ascii")}"' if printable else f"0x{ends.hex()}"
    else:
        text = repr(value)
    return text if len(text) <= width else f"{text[:half]}…{text[-half:]}"
