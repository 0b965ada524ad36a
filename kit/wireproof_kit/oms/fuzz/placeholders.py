"""What stands in cases for names and bodies, which each run of cases replaces by its own."""

from collections.abc import Mapping
from typing import Final

from wireproof_spec.driver.lines import in_base64

DESTINATION: Final = "wp_fuzz_destination"
TRANSACTION: Final = "wp_fuzz_transaction"
_BODY: Final = b"wp-fuzz-body%09d"
BODY: Final = in_base64(_BODY % 0)


def body(number: int) -> str:
    """Return the body with a number, as base64."""
    return in_base64(_BODY % number)


def fill(text: bytes, values: Mapping[str, str]) -> bytes:
    """Return the text of a case with values for its placeholders."""
    for name, value in values.items():
        text = text.replace(name.encode(), value.encode())
    return text
