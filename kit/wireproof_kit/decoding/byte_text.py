r"""Bytes written as text: hex digits, dumps of xxd and ``hexdump -C``, escapes such as \x4f."""

import re
from collections.abc import Callable, Iterator

from wireproof_kit.errors import UsageFault

MARK = b"\xef\xbb\xbf"
"""The byte order mark with which some editors begin a file in UTF-8."""
_BLANKS = re.compile(r"0[xX]|[\s:,]")
_DIGITS = re.compile(r"(?:0[xX]|[0-9a-fA-F\s:,])*")
_OFFSET = r"(?P<offset>[0-9a-fA-F]{6,16})"
_ROWS = (
    re.compile(_OFFSET + r":(?P<digits>(?: [0-9a-fA-F]{2,32})*)(?:  .*)?"),
    re.compile(_OFFSET + r"(?P<digits>(?: {1,2}[0-9a-fA-F]{2})*)(?: +\|.*)?"),
)
"""A row of xxd, where two spaces end the digits, and one of hexdump, which ends in ``|text|``."""
_COLUMN = re.compile(r"[0-9a-fA-F]{6,16}(?::|  [0-9a-fA-F]{2} )")
"""How the first row of a dump begins, by which it is told from hex digits."""
_ESCAPES = {
    "\\": b"\\",
    "'": b"'",
    '"': b'"',
    "a": b"\a",
    "b": b"\b",
    "f": b"\f",
    "n": b"\n",
    "r": b"\r",
    "t": b"\t",
    "v": b"\v",
}
_ESCAPE = re.compile(r"\\(?:x(?P<hex>[0-9a-fA-F]{2})|(?P<octal>[0-7]{1,3})|(?P<sign>.))|[^\\]")
_LITERAL = re.compile(r"""\s*(?:b|\$)?(?P<quote>['"])(?P<inner>.*)(?P=quote)\s*\Z""", re.DOTALL)
_ESCAPED = re.compile(r"""\s*(?:(?:b|\$)?['"])?(?:[ -\[\]-~]|\\[a-wyz\\'"]){0,64}\\[x0-7]""")
"""How a text with escapes begins: a quote if it has one, and an escape before long."""


def find_form(head: bytes) -> str | None:
    """Return in which form the text that begins with these bytes holds bytes; None if in none.

    The forms are ``dump``, ``hex`` and ``escapes``.
    """
    try:
        text = head.removeprefix(MARK).decode("ascii")
    except UnicodeDecodeError:
        return None
    if not text.strip():
        return None
    if _COLUMN.match(text.lstrip()):
        return "dump"
    if _DIGITS.fullmatch(text):
        return "hex"
    return "escapes" if _ESCAPED.match(text) else None


def read_text(data: bytes, form: str, name: str) -> bytes:
    """Return the bytes that a text holds in a form; ``name`` is where the text is from.

    Raises:
        UsageFault: the text is not wholly in that form.
    """
    text = data.removeprefix(MARK).decode("utf-8", "replace")
    return _READERS[form](text, name)


def read_hex(text: str, name: str) -> bytes:
    """Return the bytes of hex digits, with spaces, commas, colons and 0x anywhere between them.

    Raises:
        UsageFault: there is another character, or an odd number of digits.
    """
    digits = _BLANKS.sub("", text)
    if odd := re.search(r"[^0-9a-fA-F]", digits):
        raise UsageFault(f"{name}: expected hex digits, found {odd[0]!r}; --raw decodes the text")
    if len(digits) % 2:
        raise UsageFault(
            f"{name}: an odd number of hex digits ({len(digits)}): half a byte is missing"
        )
    return bytes.fromhex(digits)


def _read_dump(text: str, name: str) -> bytes:
    found, row = bytearray(), b""
    repeated = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() == "*":
            repeated = True
        elif line.strip():
            before = row
            offset, row = _row(line.strip(), f"{name}, line {number}")
            if repeated and before:
                found += before * ((offset - len(found)) // len(before))
            if offset != len(found):
                why = "lines of the dump are missing before it"
                if offset < len(found):
                    why = "are these two dumps? give one at a time"
                told = f"expected offset {len(found):#x}, found {offset:#x}"
                raise UsageFault(f"{name}, line {number}: {told}; {why}")
            repeated = False
            found += row
    return bytes(found)


def _row(line: str, where: str) -> tuple[int, bytes]:
    row = next(filter(None, (form.fullmatch(line) for form in _ROWS)), None)
    digits = re.sub(r"\s", "", row["digits"]) if row else ""
    if row is None or len(digits) % 2:
        raise UsageFault(
            f"{where}: expected an offset and hex digits, as of xxd or hexdump -C, "
            f"found {line[:24]!r}; --raw decodes the text"
        )
    return int(row["offset"], 16), bytes.fromhex(digits)


def _read_escapes(text: str, name: str) -> bytes:
    literal = _LITERAL.match(text)
    inner = literal["inner"] if literal else text.strip()
    return b"".join(_unescape(inner, name))


def _unescape(text: str, name: str) -> Iterator[bytes]:
    at = 0
    while at < len(text):
        found = _ESCAPE.match(text, at)
        if found is None or (found["sign"] and found["sign"] not in _ESCAPES):
            raise UsageFault(
                f"{name}: expected \\x and two hex digits at character {at}, "
                f"found {text[at : at + 4]!r}; --raw decodes the text"
            )
        if found["hex"]:
            yield bytes.fromhex(found["hex"])
        elif found["octal"]:
            yield bytes([int(found["octal"], 8) & 0xFF])
        elif found["sign"]:
            yield _ESCAPES[found["sign"]]
        else:
            yield found[0].encode()
        at = found.end()


_READERS: dict[str, Callable[[str, str], bytes]] = {
    "dump": _read_dump,
    "hex": read_hex,
    "escapes": _read_escapes,
}
