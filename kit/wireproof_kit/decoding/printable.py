"""Text from the wire made safe for a terminal: no control sequences, known width."""

import unicodedata

ELLIPSIS = "…"
LONGEST = 4000


def printable(text: str) -> str:
    """Return the text with every unprintable character written as an escape.

    The middle of a text over 4,000 characters is left out.
    """
    if len(text) > LONGEST:
        text = text[: LONGEST // 2] + ELLIPSIS + text[-LONGEST // 2 :]
    return escape_unprintable(text)


def escape_unprintable(text: str) -> str:
    """Return the whole text with every control, bidirectional or unprintable character escaped."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _escape(sign) for sign in text)


def _escape(sign: str) -> str:
    return sign.encode("unicode_escape", "backslashreplace").decode("ascii")


def width(text: str) -> int:
    """Return the number of terminal columns that a text occupies."""
    if text.isascii():
        return len(text)
    return sum(_sign_width(sign) for sign in text)


def _sign_width(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def pad(text: str, columns: int) -> str:
    """Return the text padded with spaces to the given number of columns."""
    return text + " " * (columns - width(text))


def clip(text: str, columns: int) -> str:
    """Return the text shortened in its middle to at most the given number of columns."""
    if len(text) > 4 * columns:
        text = text[: 2 * columns] + ELLIPSIS + text[-2 * columns :]
    if width(text) <= columns:
        return text
    room = columns - 1
    head = _fit_prefix(text, room - room // 3)
    tail = _fit_prefix(text[::-1], room - width(head))[::-1]
    return head + ELLIPSIS + tail


def wrap_text(text: str, *, columns: int, rows: int) -> list[str]:
    """Return a text as at most ``rows`` lines of ``columns``, broken after spaces if possible.

    If the text is longer, its excess is left out of the middle of the last line.
    """
    lines: list[str] = []
    while text and len(lines) < rows - 1:
        line = _row(text, columns)
        lines.append(line.rstrip(" "))
        text = text[len(line) :]
    return [*lines, clip(text, columns)] if text else lines


def _row(text: str, columns: int) -> str:
    line = _fit_prefix(text, columns)
    space = line.rfind(" ") + 1
    return line[:space] if len(line) < len(text) and space > columns // 2 else line


def _fit_prefix(text: str, columns: int) -> str:
    """Return the longest prefix of the text that fits in the given number of columns."""
    if text.isascii():
        return text[:columns]
    taken = 0
    for index, sign in enumerate(text):
        taken += _sign_width(sign)
        if taken > columns:
            return text[:index]
    return text
