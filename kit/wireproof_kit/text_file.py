"""Text files that people write, read whole: settings, deviations, findings of a corpus."""

import tomllib
from pathlib import Path
from typing import Final

from wireproof_kit.errors import UsageFault

MOST_BYTES: Final = 16 << 20
"""A file of this kind that holds more is a mistake, such as a device: it would fill the memory."""
MOST_DOTS: Final = 10**7
"""The dots of each line, squared: so many entries a TOML parser keeps, were they all of keys."""


def read_bytes(path: Path, what: str) -> bytes:
    """Return the content of a file; ``what`` names its kind, for messages.

    Raises:
        UsageFault: the file cannot be read, or has more than `MOST_BYTES`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageFault(f"{what} {path}: cannot be read ({error.strerror})") from error
    if len(data) > MOST_BYTES:
        raise UsageFault(f"{what} {path}: expected at most {MOST_BYTES >> 20} MiB; found more")
    return data


def read_text(path: Path, what: str) -> str:
    """Return the text of a file in UTF-8, without the byte order mark that some editors write.

    Raises:
        UsageFault: the file cannot be read, is too large, or is not UTF-8.
    """
    try:
        return read_bytes(path, what).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageFault(f"{what} {path}: expected UTF-8; {error}") from error


def parse_toml(text: str, path: Path, what: str) -> dict[str, object]:
    """Return the document that a text is in TOML; ``path`` and ``what`` are for messages.

    Raises:
        UsageFault: it is no TOML, or a line has thousands of dots.
    """
    # The parser of Python keeps every beginning of a dotted key, and a key has one line.
    if sum(line.count(".") ** 2 for line in text.split("\n")) > MOST_DOTS:
        raise UsageFault(f"{what} {path}: a line has too many dots for a TOML file; split it")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # no TOML, or a number of thousands of digits
        raise UsageFault(f"{what} {path}: cannot be read as TOML: {error}") from error
    except RecursionError:
        raise UsageFault(f"{what} {path}: cannot be read as TOML: nested too deeply") from None
