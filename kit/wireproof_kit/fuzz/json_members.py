"""Makes JSON documents in a frame smaller, corrects the lengths around them, and compares them."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

_WIDTHS: Final = (4, 2)
"""Bytes of a binary length in front of a document."""
_NEAR: Final = 16
"""How many bytes in front of a document a binary length may begin."""
_CONTENT_LENGTH: Final = re.compile(rb"(content-length: *)(\d+)", re.IGNORECASE)
_HEAD_ENDS: Final = b"\r\n\r\n"
_SMALL_NUMBERS: Final = (1, 2, 3, 4, 8, 10, 16, 64, 100, 128, 256, 1000, 1 << 15, 1 << 16, 1 << 31)

Members: TypeAlias = dict[str, object]


def find_members(data: bytes) -> Members:
    """Return the members of the first JSON object with members in the bytes; none without one."""
    found = _find_object(data)
    return found[2] if found is not None else {}


def has_members_like(data: bytes, wanted: Mapping[str, object]) -> bool:
    """Return True if the first JSON object has all wanted members, each with a like value.

    Like a number are those of its sign that are at least as far from 0; like a truth value is
    itself; like another value are those of its type.
    """
    if not all(name.encode() in data for name in wanted):
        return False  # to look for the names is quick
    members = find_members(data)
    return wanted.keys() <= members.keys() and all(
        _is_like(members[name], value) for name, value in wanted.items()
    )


def _is_like(value: object, wanted: object) -> bool:
    if type(value) is not type(wanted) or isinstance(value, bool):
        return value is wanted
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return value >= wanted >= 0 or value <= wanted < 0
    return True


def leave_out(data: bytes, names: Collection[str]) -> bytes:
    """Return the bytes without some members of their first JSON object; lengths stay right.

    The bytes stay as they are if the rest cannot be written in fewer bytes.
    """
    found = _find_object(data)
    if found is None:
        return data
    start, end, members = found
    rest = {name: value for name, value in members.items() if name not in names}
    text = json.dumps(rest, separators=(",", ":"), ensure_ascii=False)
    document = text.encode(errors="surrogatepass")
    return _exchange(data, start, end, document) if len(document) < end - start else data


def fewest_members(data: bytes, is_enough: Callable[[bytes], bool]) -> bytes:
    """Return the bytes without the members of their first JSON object that are not needed.

    What is left out is halved each time, and each half is tried once: two members that are needed
    are found among 18 by 16 tries.
    """
    size = len(find_members(data)) // 2
    while size:
        names = list(find_members(data))
        for at in range(0, len(names), size):
            fewer = leave_out(data, names[at : at + size])
            if fewer != data and is_enough(fewer):
                data = fewer
        size //= 2
    return data


def smaller_members(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with fewer members in their first JSON object, the most left out first.

    Then come those with smaller numbers. A length in front of the object, of two or four bytes or
    of an HTTP head, that was right stays right. Nothing is yielded if the bytes contain no JSON
    object with members.
    """
    found = _find_object(data)
    if found is None:
        return
    start, end, members = found
    for fewer in _fewer(members):
        document = json.dumps(fewer, separators=(",", ":")).encode()
        if len(document) <= end - start:
            yield _exchange(data, start, end, document)


def _find_object(data: bytes) -> tuple[int, int, Members] | None:
    """Return where the first JSON object with members begins and ends, and its members."""
    text = data.decode("latin-1")  # one character for each byte, so that offsets are the same
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
            if found:
                return start, end, json.loads(data[start:end])
        except (ValueError, RecursionError):
            pass
        start = text.find("{", start + 1)
    return None


def _fewer(members: Members) -> Iterator[Members]:
    """Yield the members without halves of them, without ever smaller parts, without inner ones.

    At last they have smaller numbers.
    """
    names = list(members)
    parts: list[Sequence[str]] = []
    size = len(names) // 2
    while size > 1:
        parts += [names[at : at + size] for at in range(0, len(names), size)]
        size //= 2
    for left_out in (*parts, *([name] for name in names)):
        yield {name: value for name, value in members.items() if name not in left_out}
    for name, value in members.items():
        if isinstance(value, dict):
            for inner in _fewer(cast(Members, value)):
                yield {**members, name: inner}
        elif isinstance(value, int) and not isinstance(value, bool):
            sign = -1 if value < 0 else 1
            yield from ({**members, name: sign * n} for n in _SMALL_NUMBERS if n < abs(value))


def _exchange(data: bytes, start: int, end: int, document: bytes) -> bytes:
    """Return the bytes with another document, and with the lengths that measure it corrected."""
    less = end - start - len(document)
    head = bytearray(data[:start])
    for width in _WIDTHS:
        for at in range(max(0, start - _NEAR), start - width + 1):
            value = int.from_bytes(data[at : at + width])
            if value in (end - start, len(data) - at - width):
                head[at : at + width] = (value - less).to_bytes(width)
    body_at = data.find(_HEAD_ENDS) + len(_HEAD_ENDS)
    whole = bytes(head)
    if len(_HEAD_ENDS) <= body_at <= start:
        told = b"%d" % (len(data) - body_at)
        whole = _CONTENT_LENGTH.sub(
            lambda found: found[1] + b"%d" % (int(told) - less) if found[2] == told else found[0],
            whole,
            count=1,
        )
    return whole + document + data[end:]
