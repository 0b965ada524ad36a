"""The fifteen kinds of header values: codes, names, widths, and how bytes are decoded.

Numbers are little endian, signed ones in two's complement. Servers store any bytes with any kind;
their client libraries, and the functions here, check a value against its kind.
"""

import struct
from typing import TypeAlias, TypeVar

from wireproof_spec.wire_error import WireError
from wireproof_spec.wording import count_bytes, show_value

HeaderContent: TypeAlias = "bytes | str | bool | int | float"
T = TypeVar("T")

RAW = 1
STRING = 2
BOOL = 3
INT8 = 4
INT16 = 5
INT32 = 6
INT64 = 7
INT128 = 8
UINT8 = 9
UINT16 = 10
UINT32 = 11
UINT64 = 12
UINT128 = 13
FLOAT32 = 14
FLOAT64 = 15

HEADER_KINDS = {
    RAW: "raw",
    STRING: "string",
    BOOL: "bool",
    INT8: "int8",
    INT16: "int16",
    INT32: "int32",
    INT64: "int64",
    INT128: "int128",
    UINT8: "uint8",
    UINT16: "uint16",
    UINT32: "uint32",
    UINT64: "uint64",
    UINT128: "uint128",
    FLOAT32: "float32",
    FLOAT64: "float64",
}
"""Codes of the binary transport, names of JSON."""

_SIGNED = {INT8: 1, INT16: 2, INT32: 4, INT64: 8, INT128: 16}
_UNSIGNED = {UINT8: 1, UINT16: 2, UINT32: 4, UINT64: 8, UINT128: 16}
_FLOATS = {FLOAT32: "<f", FLOAT64: "<d"}

KIND_WIDTHS = {BOOL: 1, **_SIGNED, **_UNSIGNED, FLOAT32: 4, FLOAT64: 8}
"""Bytes that a value of a kind takes; `raw` and `string` take 1 to 255."""

_CODES = {name: code for code, name in HEADER_KINDS.items()}
_CLAUSE = "iggy.headers.kinds"


def kind_code(name: str) -> int | None:
    """Return the code of a header kind, or None for an unknown name."""
    return _CODES.get(name)


def header_bytes(kind: int, content: HeaderContent) -> bytes:
    """Encode the value of a message header of this kind.

    Raises:
        WireError: the kind is unknown, or cannot hold the value.
    """
    try:
        return _bytes(kind, content)
    except (TypeError, AttributeError, OverflowError, struct.error, UnicodeEncodeError):
        raise _refuse(f"a value of kind {_name(kind)}", show_value(content)) from None


def header_value(kind: int, data: bytes) -> HeaderContent:
    """Decode the value of a message header of this kind.

    Raises:
        WireError: the kind is unknown, or the bytes have the wrong length or are no valid bool
            or UTF-8.
    """
    width = KIND_WIDTHS.get(kind)
    if width is not None and len(data) != width:
        raise _refuse(f"{count_bytes(width)} of kind {_name(kind)}", str(len(data)))
    if kind == BOOL and data not in (b"\x00", b"\x01"):
        raise _refuse("0 or 1 of kind bool", show_value(data))
    try:
        return _value(kind, data)
    except UnicodeDecodeError:
        raise _refuse("UTF-8 of kind string", show_value(data)) from None


def _bytes(kind: int, content: HeaderContent) -> bytes:
    if kind == BOOL:
        return bytes([{False: 0, True: 1}[_exactly(bool, content)]])
    if kind in KIND_WIDTHS and kind not in _FLOATS:
        width, number = KIND_WIDTHS[kind], _exactly(int, content)
        return number.to_bytes(width, "little", signed=kind in _SIGNED)
    if kind in _FLOATS:
        return struct.pack(_FLOATS[kind], _exactly(float, content))
    if kind == STRING:
        return _exactly(str, content).encode()
    if kind == RAW:
        return bytes(_exactly(bytes, content))
    raise TypeError(kind)


def _value(kind: int, data: bytes) -> HeaderContent:
    if kind == BOOL:
        return data == b"\x01"
    if kind in _SIGNED or kind in _UNSIGNED:
        return int.from_bytes(data, "little", signed=kind in _SIGNED)
    if kind in _FLOATS:
        number: float = struct.unpack(_FLOATS[kind], data)[0]
        return number
    if kind == STRING:
        return data.decode()
    if kind == RAW:
        return data
    raise _refuse("a kind of 1 to 15", str(kind))


def _exactly(value_type: type[T], content: HeaderContent) -> T:
    if type(content) is not value_type:
        raise TypeError(content)
    return content


def _name(kind: int) -> str:
    return HEADER_KINDS.get(kind, str(kind))


def _refuse(expected: str, found: str) -> WireError:
    return WireError(clause=_CLAUSE, field="value", offset=0, expected=expected, found=found)
