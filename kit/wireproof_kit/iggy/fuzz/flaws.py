"""What is wrong in the requests of a case, in the same words wherever it is the same."""

import re
from collections.abc import Iterator
from typing import Final

from wireproof_kit.fuzz.case import ByteByByte, Case, Slow, SplitAt, Step
from wireproof_spec.wire_error import WireError

LENGTH_BELOW_FOUR: Final = "a length below 4"
UNKNOWN_CODE: Final = "an unknown command code"
CUT_LENGTH: Final = "the end inside a length"
CUT_FRAME: Final = "the end inside a frame"
NEGATIVE: Final = 1 << 31
"""From here on, a server that reads a length as a signed number finds it negative."""
_HEAD_SIZE: Final = 8
_DIGITS = re.compile(r"\d+")


def flaw_of_payload(code: int, error: WireError) -> str:
    """Return the flaw of a payload that cannot be decoded: the field, and what it should be.

    Numbers are left out, since lengths and indexes differ between cases with the same flaw.
    """
    text = _DIGITS.sub("N", f"{error.field}: expected {error.expected}, found {error.found}")
    return f"command {code}: {text}"


def flaw_of_cut_frame(length: int) -> str:
    """Return the flaw of a frame that ends before its length; a negative length has its own."""
    return f"{CUT_FRAME}: a length of 2**31 or more" if length >= NEGATIVE else CUT_FRAME


def divisions(case: Case) -> Iterator[str]:
    """Yield how the writes divide the frames of a case: inside a length or code, or behind it."""
    places = [place for step in case.steps for place in _places(step)]
    if places:
        yield "a divided head" if min(places) < _HEAD_SIZE else "a divided payload"


def _places(step: Step) -> tuple[int, ...]:
    style = step.style
    if isinstance(style, ByteByByte):
        return (1,)
    return style.offsets if isinstance(style, (SplitAt, Slow)) else ()
