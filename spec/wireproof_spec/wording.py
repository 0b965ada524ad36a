"""How sizes and values are written in sentences, and texts escaped."""

from collections.abc import Callable, Sequence
from typing import cast


def count_bytes(size: int) -> str:
    """Return a number of bytes as text with its unit: ``1 byte``, ``2 bytes``."""
    return f"{size} byte" if size == 1 else f"{size} bytes"


def change_texts(value: object, change: Callable[[str], str]) -> object:
    """Return a JSON value in which every text, names included, is changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        pairs = cast(dict[object, object], value).items()
        return {change_texts(n, change): change_texts(member, change) for n, member in pairs}
    if isinstance(value, list | tuple):
        return [change_texts(item, change) for item in cast(Sequence[object], value)]
    return value


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
