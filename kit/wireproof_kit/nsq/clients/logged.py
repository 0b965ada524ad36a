"""What a client has written to its log, or told its user as an error."""

import json
import re

from wireproof_kit.clients.events import Wrote
from wireproof_kit.clients.observe import list_told
from wireproof_kit.clients.story import Story

_SIGN, _MODULUS = 1 << 63, 1 << 64


def is_mentioned(story: Story, text: str) -> bool:
    """Return True if the client wrote this text to its log, or into an error for its user.

    A number that is part of a longer one is not mentioned: a timestamp may hold any id.
    """
    return is_logged(story, rf"(?<!\d){text}(?!\d)" if text.isdecimal() else re.escape(text))


def is_logged(story: Story, pattern: str) -> bool:
    """Return True if a regular expression fits the client's log, or an error for its user."""
    written = b"".join(event.data for event in story.of(Wrote)).decode("utf-8", "replace")
    told = [
        json.dumps(event.event.fields)
        for event in (*list_told(story, "log"), *list_told(story, "error"))
    ]
    return any(re.search(pattern, each, re.IGNORECASE) for each in (written, *told))


def is_number_logged(story: Story, number: int) -> bool:
    """Return True if the client logged a number in decimal or hex digits: the text leaves it open.

    In hex digits an id of 64 bits may stand beside another one, without anything between them. A
    language without unsigned integers shows a number with bit 63 set as a negative one.
    """
    decimal = str(number) if number < _SIGN else rf"{number}|-{_MODULUS - number}"
    hexadecimal = rf"{number:016x}|(?<![0-9a-f])0*{number:x}(?![0-9a-f])"
    return is_logged(story, rf"(?<!\d)({decimal})(?!\d)|{hexadecimal}")
